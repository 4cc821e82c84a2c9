"""The lectures: slides that fetch nothing from a network, and the disk with an arm of lecture 1."""

import io
import re

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

import browser
from elevatorlab.lectures import arm
from elevatorlab.lectures.experiments import FinishedTrial
from elevatorlab.lectures.sliders import WIDGET
from elevatorlab.trial.drives import drive
from helpers import resources
from lecture_slides import LECTURE, LECTURES, build, notes, read, rule  # noqa: F401  (fixtures)

#: One pixel, and a film of one frame.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="

GIF = "R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs="


@LECTURE
def test_a_page_has_all_slides_and_notes_and_fetches_nothing(lecture, build, tmp_path):
    build.copy_reveal(tmp_path / "reveal.js")
    build.write(read(lecture), lecture.stem, tmp_path)
    page = (tmp_path / f"{lecture.stem}.html").read_text()
    predictions = sum(cell.source.count("**Predict") for cell in read(lecture).cells)
    assert page.count('<div class="fragment"') > predictions
    assert page.count('<aside class="notes">') > 3
    assert "reveal.js/dist/reveal.js" in resources(page)
    for file in (tmp_path / f"{lecture.stem}.html", *tmp_path.rglob("*.css")):
        asked = [one for one in resources(file.read_text()) if not one.startswith("data:")]
        assert [
            one for one in asked if not (file.parent / re.split("[?#]", one)[0]).is_file()
        ] == []


def shown_lecture():
    """Return a lecture that has run: a picture, a film, sliders, and a prediction of each kind."""
    data = ({"image/png": PNG}, {"image/gif": GIF, "text/plain": "<Image>"})
    sliders = {"text/plain": "Sliders, in a notebook that runs", WIDGET: {"model_id": "box"}}
    outputs = [new_output("display_data", data=one) for one in (*data, sliders)]
    cells = [
        new_markdown_cell("# Lecture 1: what an elevator does"),
        new_markdown_cell("## 1. A life\n\n**Predict:** how long?"),
        new_code_cell("run()", outputs=outputs),
    ]
    return new_notebook(cells=cells)


@pytest.mark.browser
def test_slides_work_without_a_network(build, tmp_path):
    build.copy_reveal(tmp_path / "reveal.js")
    build.write(shown_lecture(), "01-shown", tmp_path)
    with browser.chromium() as running, browser.opened(running, tmp_path / "01-shown.html") as page:
        page.context.set_default_timeout(300_000)  # on a busy machine, too
        page.wait_for_function("Reveal.isReady()")
        shown = page.locator("section.present > section.present")
        page.keyboard.press("Space")
        shown.get_by_text("1. A life").wait_for()
        assert "Predict" not in shown.inner_text()
        page.keyboard.press("Space")
        shown.get_by_text("Predict:").wait_for()
        assert "Sliders" not in shown.inner_text()
        page.keyboard.press("Space")
        shown.get_by_text("Sliders, in a notebook").wait_for()
        drawn = page.evaluate(
            "[...document.querySelectorAll('.present .present img')].map(one => one.naturalWidth)"
        )
        assert drawn == [1, 1]
        with page.expect_popup() as speaker:
            page.keyboard.press("s")
        speaker.value.get_by_text("Which tracepoint is the disk's?").wait_for()


def test_a_lecture_is_run_for_its_slides(build, tmp_path):
    """A part of lecture 3 that needs no machine."""
    cells = read(LECTURES[2]).cells
    wanted = [cell for cell in cells if re.match("from|sliders.explore", cell.source)]
    nbformat.write(new_notebook(cells=wanted), tmp_path / "part.ipynb")
    lecture = build.executed(tmp_path / "part.ipynb")
    shown = [list(output.data) for cell in lecture.cells for output in cell.outputs]
    assert sum("image/svg+xml" in one for one in shown) == len(wanted) - 1 > 1
    assert "widgets" not in lecture.metadata


COLUMNS = "time_s operation sector bytes hit overhead_us waited_us seek_us rotation_us media_us"
ROWS = [
    (0.0, "R", 0, 4096, 0, 100, 0, 0, 2000, 400, 0, 0, 0),
    (0.01, "R", 9000, 4096, 0, 100, 50, 5000, 1000, 400, 0, 0, 300),
    (0.02, "R", 20, 4096, 0, 100, 0, 4000, 3000, 400, 0, 300, 0),
]


@pytest.fixture
def ran(tmp_path):
    columns = [*COLUMNS.split(), "bus_us", "from_cylinder", "cylinder"]
    pd.DataFrame(ROWS, columns=columns).to_csv(tmp_path / "arm.csv", index=False)
    trials = arm.who_sorts()
    return {name: FinishedTrial(trial, tmp_path) for name, trial in trials.items()}


def test_the_table_says_where_the_time_went(ran):
    row = arm.work_table(ran).loc["the elevator"]
    assert row["requests/s"] == pytest.approx(100) and row["cylinders"] == 200
    assert row["seek (ms)"] == 3 and row["wait for the platter (ms)"] == 2
    assert row["transfer (ms)"] == pytest.approx(0.4)


def test_the_picture_has_three_lines_a_request_one_behind_the_other(ran):
    figure = arm.draw_arm({"fifo": ran["nobody"]})
    (panel,) = figure.axes
    drawn = [line for line in panel.lines if len(line.get_xdata())]
    ways = [list(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in drawn]
    seek, wait, transfer = ways[1], ways[4], ways[7]
    assert seek == [pytest.approx((10.15, 0)), pytest.approx((15.15, 300))]
    assert wait == [pytest.approx((15.15, 300)), pytest.approx((16.15, 300))]
    assert transfer[-1] == pytest.approx((16.55, 300))


def test_the_film_has_a_frame_for_each_request_and_the_same_bytes_again(ran):
    film = arm.animate(ran["nobody"], "fifo")
    assert Image.open(io.BytesIO(film)).n_frames == len(ROWS)
    assert arm.animate(ran["nobody"], "fifo") == film


def test_only_the_drive_that_sorts_has_a_queue():
    trials = arm.who_sorts()
    depths = {name: trial.device.drive.queue.depth for name, trial in trials.items()}
    assert depths == {"nobody": 1, "the elevator": 1, "the drive": 32, "both": 32}


def test_the_inner_tracks_are_the_drive_s_last_part():
    outer, inner = (trial.workloads[0].options["offset"] for trial in arm.edges().values())
    assert outer == "0m" and drive(arm.FAST_BUS).capacity_mib - int(inner.rstrip("m")) < 100
