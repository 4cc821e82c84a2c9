"""Each lecture becomes slides with the teacher's notes, and nothing in them is from a network."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import browser
from elevatorlab.lectures.sliders import WIDGET
from helpers import resources
from slides_support import LECTURE, LECTURES, build, notes, read, rule  # noqa: F401  (fixtures)

#: One pixel, and a film of one frame.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="

GIF = "R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs="


@LECTURE
def test_a_page_has_all_slides_and_notes_and_fetches_nothing(lecture, build, tmp_path):
    build.copy_reveal(tmp_path / "reveal.js")
    build.write(read(lecture), lecture.stem, tmp_path)
    page = (tmp_path / f"{lecture.stem}.html").read_text()
    predictions = sum(cell.source.count("**Predict") for cell in read(lecture).cells)
    assert page.count('<div class="fragment"') == predictions
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
    assert sum("image/png" in one for one in shown) == len(wanted) - 1 > 1
    assert "widgets" not in lecture.metadata
