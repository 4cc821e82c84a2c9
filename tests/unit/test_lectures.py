"""The lectures run as they are given, and say the same when they are given again."""

import json
import re

import pandas as pd
from matplotlib.figure import Figure

import stored
from elevatorlab.agent.observe.sampler import COLUMNS
from elevatorlab.lectures import (
    batching,
    elevator,
    experiments,
    queues,
    sharing,
    sliders,
    tables,
    writers,
)
from elevatorlab.paths import PROJECT
from lecture_slides import LECTURE, read

TEACHING = (PROJECT / "docs" / "teaching.md").read_text()

MARKS = 15


def text(notebook):
    cells = read(notebook).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@LECTURE
def test_a_lecture_has_goals_and_a_prediction_before_each_run(lecture):
    cells = read(lecture).cells
    assert "After this lecture you can" in cells[0].source
    predicted = False
    for cell in cells:
        predicted = predicted or "**Predict" in cell.source
        if cell.cell_type == "code" and "experiments.run(" in cell.source:
            assert predicted, cell.source
            predicted = False


@LECTURE
def test_every_exercise_has_marks_a_solution_and_a_line_for_the_teacher(lecture):
    exercises = re.findall(r"^(\d)\. \*\((\d) marks", text(lecture), re.MULTILINE)
    assert sum(int(marks) for _, marks in exercises) == MARKS
    solved = re.findall(r"^## (\d)\.", text(lecture.parent / "solutions" / lecture.name), re.M)
    assert solved == [number for number, _ in exercises]
    number = int(lecture.name[:2])
    section = re.search(rf"^## {number}\..*?Marks: (.*?)(?=^## |\Z)", TEACHING, re.M | re.S)
    assert re.findall(r"(?:^|\s)(\d):", section[1]) == solved


def test_every_trial_of_a_lecture_is_valid_and_has_its_own_hash():
    trials = [
        *elevator.orders().values(),
        *elevator.merges().values(),
        *elevator.deadlines().values(),
        *elevator.writes_starved().values(),
        *writers.cats("warm").values(),
        *writers.cats("dropped").values(),
        queues.closed(),
        queues.opened(),
        sharing.cost(),
        sharing.regulation(True),
        sharing.regulation(False),
    ]
    assert len({trial.hash for trial in trials}) == len(trials)


def test_what_has_run_is_not_run_again(tmp_path, monkeypatch):
    class Testbed:
        name = "deterministic"

        def __init__(self, say):
            pass

        def folder_name(self):
            return self.name

    monkeypatch.setattr(experiments, "DeterministicTestbed", Testbed)
    trial = elevator.orders(("none",))["none"]
    folder = tmp_path / "deterministic" / trial.hash
    folder.mkdir(parents=True)
    content = stored.result({one.name: stored.fio_read() for one in trial.workloads})
    (folder / "result.json").write_text(json.dumps(content))
    (folder / "provenance.json").write_text("{}")
    ran = experiments.run({"none": trial}, tmp_path)
    assert ran["none"].result == content


def test_a_slider_redraws_its_picture(monkeypatch):
    shown, asked = [], []

    class Handle:
        def update(self, picture):
            shown.append(picture)

    def display(what, display_id=None, raw=False):
        shown.append(what)
        return Handle()

    made = []
    monkeypatch.setattr(sliders, "display", display)
    monkeypatch.setattr(sliders.ipywidgets, "VBox", lambda box: made.extend(box) or Box(box))

    def draw(height):
        asked.append(height)
        return Figure(figsize=(1, 1))

    sliders.explore(draw, height=(0, 10, 1, 4))
    made[0].value = 7
    assert asked == [4, 7]
    assert shown[1]["text/plain"] == "Sliders, in a notebook that runs: height from 0 to 10."


class Box:
    model_id = "box"

    def __init__(self, _):
        pass


class Traced:
    """A trial's requests, two of each kind."""

    def __init__(self, inserted_s):
        sectors = [0, 0, 10**6, 10**6]
        times = {"inserted_s": inserted_s, "issued_s": 1.0, "completed_s": 1.002}
        self.requests = pd.DataFrame({"sector": sectors, **times})


def test_a_wait_that_there_is_none_of_is_no_number_and_the_table_says_why(monkeypatch):
    """A scheduler holds requests; under none all of their time is between issue and end."""
    ran = {"none": Traced(float("nan")), "500 ms": Traced(0.9)}
    waits = elevator.wait_table(ran, elevator.by_place)
    assert waits["mean wait (ms)"].dropna().tolist() == [100.0, 100.0]
    assert waits["issue to end (ms)"].tolist() == [2.0] * 4
    shown = []
    monkeypatch.setattr(tables, "display", shown.append)
    tables.show(waits, elevator.NO_WAIT)
    table, note = shown
    assert table.loc["none", "longest wait (ms)"].tolist() == [tables.EMPTY] * 2
    assert not table.isna().any(axis=None) and "NaN" not in table.to_html()
    assert note.data == f"{tables.EMPTY}: {elevator.NO_WAIT}"
    shown.clear()
    tables.show(waits.loc[["500 ms"]], elevator.NO_WAIT)
    assert len(shown) == 1


@LECTURE
def test_no_lecture_shows_a_table_of_points_or_waits_with_nan(lecture):
    """They have cells that cannot have a number, so they go through `tables.show`."""
    for cell in read(lecture).cells:
        if cell.cell_type == "code" and re.search(r"(point|wait)_table\(", cell.source):
            assert cell.source.splitlines()[-1].startswith("tables.show("), cell.source
    assert batching.NO_BATCH.endswith(".") and elevator.NO_WAIT.endswith(".")


def test_fairness_is_as_jain_defines_it():
    assert sharing.jain([5, 5, 5]) == 1
    assert sharing.jain([1, 0, 0, 0]) == 0.25


def test_a_phase_is_read_from_its_own_time_only(tmp_path):
    trial = queues.closed(writers=(1, 2))
    series = [{"time_s": 1, "requests": 60, "latency_mean_us": 10_000}] * 3
    content = stored.result({"writers": stored.paced_writes(series)})
    (tmp_path / "result.json").write_text(json.dumps(content))
    header = ",".join(COLUMNS) + "\n"
    rows = [
        f"{0.2 * n:.1f},device,0,60,0,240,,10,{1 if 0.2 * n <= queues.PHASE_S else 3},0.5"
        for n in range(61)
    ]
    (tmp_path / "samples.csv").write_text(header + "\n".join(rows) + "\n")
    table = queues.phase_table(experiments.FinishedTrial(trial, tmp_path))
    assert list(table.index) == [1, 2]
    assert list(table["queue_length"]) == [1, 3]
    assert list(table["iops"]) == [60 / queues.PHASE_S] * 2
