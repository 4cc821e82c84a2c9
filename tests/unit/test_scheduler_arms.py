"""A scheduler of somebody's own as an arm: of a study, in tables, a bundle, and a comparison."""

import json
import math
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import synthetic
from elevatorlab.elevators.check.cases import CASES
from elevatorlab.elevators.check.in_guest.cases.orders import WAITS_AT_MOST_S
from elevatorlab.elevators.compare import comparison, measures, page
from elevatorlab.elevators.compare import trials as of_comparison
from elevatorlab.plugins import scheduler_folders, studies
from elevatorlab.plugins.schedulers import OTHER_COLOURS, SCHEDULERS, colour_of, label_of
from elevatorlab.results import scheduler_sources, tidying
from elevatorlab.running import expansion
from elevatorlab.studies import vm_vs_container
from elevatorlab.studies.vm_vs_container.published import times
from scheduler_copy import folder  # noqa: F401  (fixture)


@pytest.mark.parametrize("name", studies.STUDIES.names())
def test_it_is_one_more_arm_of_any_study(name, folder):
    study = studies.get(name)
    usual = expansion.parameters(study, "smoke").schedulers
    given = expansion.parameters(study, "smoke", more_schedulers=[folder])
    assert given.schedulers == (*usual, "one-list")
    arms = {trial.scheduler.name for trial in study.trials(given)}
    assert "one-list" in arms
    named = expansion.parameters(study, "smoke", {"schedulers": f"none,{folder}"})
    assert named.schedulers == ("none", "one-list")


def test_study_1_leaves_it_out_of_the_virtual_machine_and_says_so(folder, tmp_path):
    """The inner machine has no module of it: the trials would fail one by one."""
    scheduler_folders.register(folder)
    trials = synthetic.guest_trials("smoke", schedulers=["bfq", "sbq", "one-list"])
    inside = [trial for trial in trials if trial.labels["arm"] == "vm"]
    assert {one.groups[0].virtual_machine.scheduler.name for one in inside} == {"bfq"}
    outside = {trial.scheduler.name for trial in trials if trial.labels["arm"] == "container"}
    assert outside == {"bfq", "sbq", "one-list"}
    synthetic.write_guest_results(tmp_path, trials)
    table = tidying.tidy(tmp_path, vm_vs_container)
    reason = "so these did not run in it: one list, SBQ."
    caption, _ = vm_vs_container.overview_table(table)
    assert reason in caption
    assert reason in vm_vs_container.figures(times(), table)["times-sbq"].details
    caption, _ = vm_vs_container.overview_table(table[table["arm"] != "vm"])
    assert reason not in caption


def test_a_folder_without_a_slash_is_no_name(folder, monkeypatch, error_of):
    monkeypatch.chdir(folder.parent)
    asked = {"schedulers": "none,one-list"}
    said = error_of(expansion.parameters, studies.get("stream_batching"), "smoke", asked)
    assert said.endswith("Write ./one-list, or give --scheduler one-list")


def test_a_study_without_schedulers_takes_none(folder, error_of):
    class Other:
        NAME = "other"
        PRESETS = {"smoke": {}}
        Parameters = type("Parameters", (), {"model_fields": {}})

    said = error_of(expansion.parameters, Other, "smoke", more_schedulers=[folder])
    assert said == "other has no parameter 'schedulers', so it takes none of yours"


def test_results_keep_the_sources(folder, tmp_path, make_trial):
    record, results = scheduler_folders.register(folder), tmp_path / "results"
    trial = make_trial(scheduler={"name": "one-list"})
    scheduler_sources.keep(results, [trial, make_trial()])
    assert scheduler_sources.current(results) == {"one-list-iosched": record.folder.digest}
    SCHEDULERS.unregister("one-list")
    scheduler_sources.register(results)
    found = SCHEDULERS.get("one-list")
    assert found.folder.digest == record.folder.digest
    assert (label_of("one-list"), colour_of("one-list")) == ("one list", "#117733")


def test_stored_results_give_the_same_colours_each_time(folder, tmp_path, make_trial):
    """Whatever was registered first when they ran: what nobody gave is not kept."""
    names = ("zeta", "alpha")
    for name in names:
        place = shutil.copytree(folder, tmp_path / name)
        (place / "scheduler.json").write_text(f'{{"name": "{name}", "module": "{name}"}}')
        scheduler_folders.register(place)
        scheduler_sources.keep(tmp_path / "results", [make_trial(scheduler={"name": name})])
    found = []
    for _ in range(2):
        for name in names:
            SCHEDULERS.unregister(name)
        scheduler_sources.register(tmp_path / "results")
        found.append({name: colour_of(name) for name in names})
    for name in names:
        SCHEDULERS.unregister(name)
    assert found[0] == found[1] == {"alpha": OTHER_COLOURS[0], "zeta": OTHER_COLOURS[1]}


def test_sources_that_were_changed_are_refused(folder, tmp_path, make_trial, error_of):
    record = scheduler_folders.register(folder)
    scheduler_sources.keep(tmp_path, [make_trial(scheduler={"name": "one-list"})])
    kept = tmp_path / "schedulers" / "one-list-iosched" / record.folder.digest
    (kept / "one-list.h").write_text("/* another */\n")
    said = error_of(scheduler_sources.register, tmp_path)
    assert said.startswith(f"{kept}: expected the sources of this digest; found others")


def test_versions_are_not_pooled(folder, tmp_path, make_trial):
    trials = []
    for text in ("/* one */\n", "/* two */\n"):
        (folder / "one-list.h").write_text(text)
        scheduler_folders.register(folder)
        trials.append(make_trial(scheduler={"name": "one-list"}))
        scheduler_sources.keep(tmp_path, trials[-1:])
    old, new = (json.loads(trial.canonical_json()) for trial in trials)
    digests = scheduler_sources.current(tmp_path)
    assert scheduler_sources.is_current(new, digests) and not scheduler_sources.is_current(
        old, digests
    )
    assert scheduler_sources.is_current(json.loads(make_trial().canonical_json()), digests)
    (folder / "one-list.h").write_text("/* one */\n")
    scheduler_folders.register(folder)
    scheduler_sources.keep(tmp_path, trials[:1])
    assert scheduler_sources.is_current(old, scheduler_sources.current(tmp_path))


LATENCY_NS = {
    **{"50.000000": 2000.0, "95.000000": 5000.0, "99.000000": 7000.0},
    **{"99.900000": 8000.0, "100.000000": 9000.0},
}


def answers(question, **workloads):
    """Return what a trial of a question answers, by quantity."""
    result = SimpleNamespace(as_given=lambda: {"workloads": workloads})
    found = dict(
        measures.of_trial(SimpleNamespace(result=result, trial={"labels": {"question": question}}))
    )
    assert set(found) <= set(measures.QUANTITIES)
    return found


@pytest.mark.parametrize("question", ["bulk", "writer"])
@pytest.mark.parametrize(
    "reads, borne",
    [(58, ""), (59, "p95"), (298, "p95"), (299, "p95 p99"), (2995, "p95 p99 p99_9")],
)
def test_a_percentile_is_shown_where_the_reads_are_enough_for_it(question, reads, borne):
    reader = {"read": {"requests": reads, "latency_percentile_ns": LATENCY_NS}}
    found = answers(question, reader=reader, bulk={"read": {"kib_s": 2048}})
    in_us = {"median": 2, "p95": 5, "p99": 7, "p99_9": 8, "longest": 9}
    shown = {name for name in in_us if not math.isnan(found[f"{question}_{name}"])}
    assert shown == {"median", "longest", *borne.split()}
    assert all(found[f"{question}_{name}"] == in_us[name] for name in shown)
    assert found[f"{question}_reads"] == reads


def test_starvation_is_the_longest_wait_of_reads_and_writes_over_the_bound():
    short = {"latency_percentile_ns": {"100.000000": 1e9}}
    long = {"latency_percentile_ns": {"100.000000": 5e9}}
    for programs in {"read": short, "write": long}, {"read": long, "write": short}:
        assert answers("starvation", programs=programs) == {"starvation": 5 / WAITS_AT_MOST_S}
    (load,) = of_comparison.QUESTIONS["starvation"]["workloads"]
    assert pd.Timedelta(load["options"]["runtime"]).total_seconds() > WAITS_AT_MOST_S


def made_up(schedulers, **values):
    """Return a comparison in which each answer is 1, but for the given ones of the last."""
    rows = [
        (name, one, repetition, values.get(name, 1.0) if one == schedulers[-1] else 1.0)
        for name in measures.QUANTITIES
        for one in schedulers
        for repetition in (1, 2)
    ]
    return pd.DataFrame(rows, columns=["quantity", "scheduler", "repetition", "value"])


def cells_of(text, quantity):
    """Return the numbers of a quantity in the page's table."""
    row = text.split(f'<th scope="row">{measures.QUANTITIES[quantity].text}</th>')[1]
    cells = re.findall(r"<td>(.*?)</td>", row.split("</tr>")[0])
    return [re.sub("</?b>", "", cell) for cell in cells[2:]]


PAIR = ("none", "sstf")
MEASURED = made_up(PAIR, bulk_p99_9=math.nan, starvation=1.5)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Return the page of a comparison."""
    return page.write(MEASURED, PAIR, tmp_path_factory.mktemp("page") / "page.html").read_text()


def test_a_dash_stands_for_what_was_not_measured_often_enough(text):
    assert cells_of(text, "bulk_p99_9") == ["1", "–"]
    assert cells_of(text, "writer_p99_9") == ["1", "1"]
    assert cells_of(text, "starvation") == ["1", "1.5"]
    (row,) = [
        one
        for one in measures.as_json(MEASURED, PAIR)
        if (one["quantity"], one["scheduler"]) == ("bulk_p99_9", "sstf")
    ]
    assert (row["mean"], row["low"], row["repetitions"]) == (None, None, 0)
    measured = MEASURED.copy()
    once = measured["quantity"].eq("bulk_p99") & measured["repetition"].eq(1)
    measured.loc[once & measured["scheduler"].eq("sstf"), "value"] = math.nan
    assert measures.interval(measured, "bulk_p99", "sstf") is None


def test_the_numbers_in_the_page_s_words_are_those_that_decide(text):
    assert "59 for the 95th, 299 for the 99th, and 2995 for the 99.9th" in text
    assert "in 4 s beside bulk reads" in text
    questions = (of_comparison.QUESTIONS[name] for name in ("bulk", "writer", "order"))
    runtimes = {one["options"]["runtime"] for asked in questions for one in asked["workloads"]}
    assert {pd.Timedelta(runtime).total_seconds() for runtime in runtimes} == {4}
    assert "waits for more than 6&nbsp;s while more than 1000 later requests are served" in text
    case = re.search(r"elevatorlab scheduler check FOLDER --case (\w+)", text)[1]
    assert case in [one.name for one in CASES]


def test_every_question_is_asked_of_every_scheduler(folder):
    scheduler_folders.register(folder)
    asked = comparison.prepare("one-list", Path("nowhere")).share.trials
    arms = (*of_comparison.BESIDE, "one-list")
    assert len(asked) == len(arms) * len(of_comparison.QUESTIONS) * of_comparison.REPETITIONS
    assert len({trial.hash for trial in asked}) == len(asked)
