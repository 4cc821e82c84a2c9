"""Each lecture becomes slides with the teacher's notes, and nothing in them is from a network."""

import importlib
import importlib.util
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import browser
from elevatorlab.lectures.sliders import WIDGET
from elevatorlab.paths import PROJECT
from helpers import resources

FOLDER = PROJECT / "docs" / "slides"
LECTURES = sorted((PROJECT / "notebooks" / "lectures").glob("*.ipynb"))
LECTURE = pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)

#: One pixel, and a film of one frame.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
GIF = "R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs="


@pytest.fixture
def rule(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("rule")


@pytest.fixture
def notes(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("notes")


@pytest.fixture
def build(rule, notes):
    """Return the program by another name: a package of the tests is called build, too."""
    spec = importlib.util.spec_from_file_location("slides_build", FOLDER / "build.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def read(lecture):
    return nbformat.read(lecture, as_version=4)


def slide_type(cell):
    return cell.metadata.slideshow.slide_type


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (new_markdown_cell("# Lecture 1: queues"), "slide"),
        (new_markdown_cell("## 1. A queue\n\nIt grows."), "slide"),
        (new_markdown_cell("**Predict:** how long?"), "fragment"),
        (new_markdown_cell("**Predict before you run:** how long?"), "fragment"),
        (new_markdown_cell("It is long."), "subslide"),
        (new_code_cell("from elevatorlab.lectures import queues\nimport numpy"), "skip"),
        (new_code_cell("import numpy\nnumpy.pi"), "subslide"),
    ],
)
def test_the_kind_of_a_cell(rule, cell, kind):
    assert rule.kind(cell) == kind


def test_a_text_is_cut_at_headings_and_predictions(rule):
    words = "It was long.\n\n## 2. Shorter\n\nA rule.\n\n**Predict:** how short?"
    cells = [new_markdown_cell("# Lecture"), new_code_cell("run()"), new_markdown_cell(words)]
    made = rule.slides(new_notebook(cells=cells), {"": "Time: an hour", "2": "Ask."}).cells
    assert [(cell.source, slide_type(cell)) for cell in made] == [
        ("# Lecture", "slide"),
        ("Time: an hour", "notes"),
        ("run()", "subslide"),
        ("Time: an hour", "notes"),
        ("It was long.", "subslide"),
        ("Time: an hour", "notes"),
        ("## 2. Shorter\n\nA rule.", "slide"),
        ("Ask.", "notes"),
        ("**Predict:** how short?", "fragment"),
    ]


@LECTURE
def test_no_word_of_a_lecture_is_lost(lecture, rule):
    made = rule.slides(read(lecture), {})
    given, shown = (
        "\n".join(cell.source for cell in cells).split()
        for cells in (read(lecture).cells, made.cells)
    )
    assert shown == given
    assert len({cell.id for cell in made.cells}) == len(made.cells)


@LECTURE
def test_a_prediction_is_asked_before_its_measurement_is_shown(lecture, rule):
    """On the slide above, so that nothing of the answer is on the screen with the question."""
    kinds = [(cell, slide_type(cell)) for cell in rule.slides(read(lecture), {}).cells]
    for (cell, kind), (before, kind_before) in zip(kinds[1:], kinds, strict=False):
        if cell.cell_type == "code" and "experiments.run(" in cell.source:
            assert kind == "subslide"
            written = "writing.write(" in before.source  # a function of the student's own
            assert kind_before == "fragment" or written, cell.source


@LECTURE
def test_every_note_of_the_teacher_is_on_a_slide(lecture, rule, notes):
    found = notes.notes(int(lecture.name[:2]))
    cells = rule.slides(read(lecture), found).cells
    shown = {cell.source for cell in cells if slide_type(cell) == "notes"}
    assert shown == {text for text in found.values()}
    assert found[notes.TITLE].startswith("Time: ") and found[notes.EXERCISES].startswith("Marks: ")
    assert sum("**Ask:**" in text for text in found.values()) >= 2
    assert not any(text in cell.source for text in found.values() for cell in read(lecture).cells)
    exercises = [cell.source.startswith("## Exercises") for cell in cells].index(True)
    assert cells[exercises + 1].source == found[notes.EXERCISES]


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("## 2. Queues\n\nTime: an hour.\n", "a section for lecture 1 in docs/teaching.md"),
        ("## 1. Queues\n\nTime: an hour.\n", "'Marks:' below '## 1. Queues'"),
    ],
)
def test_a_lecture_without_notes_is_refused(page, complaint, notes, tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "teaching.md").write_text(page)
    monkeypatch.setattr(notes, "PROJECT", tmp_path)
    with pytest.raises(SystemExit, match=re.escape(complaint)):
        notes.notes(1)


def test_without_reveal_the_remedy_is_named(build, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "PACKAGE", "elevatorlab-no-such-package")
    with pytest.raises(SystemExit, match="brings reveal.js, found none; .* make setup"):
        build.copy_reveal(tmp_path)


@pytest.mark.slow
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


@pytest.mark.notebooks
def test_a_lecture_is_run_for_its_slides(build, tmp_path):
    """A part of lecture 3 that needs no machine."""
    cells = read(LECTURES[2]).cells
    wanted = [cell for cell in cells if re.match("from|sliders.explore", cell.source)]
    nbformat.write(new_notebook(cells=wanted), tmp_path / "part.ipynb")
    lecture = build.executed(tmp_path / "part.ipynb")
    shown = [list(output.data) for cell in lecture.cells for output in cell.outputs]
    assert sum("image/png" in one for one in shown) == len(wanted) - 1 > 1
    assert "widgets" not in lecture.metadata


@LECTURE
def test_every_numbered_part_has_a_note_for_the_teacher(notes, lecture):
    words = "\n".join(c.source for c in read(lecture).cells if c.cell_type == "markdown")
    parts = re.findall(r"^## (\d+)\. ", words, re.MULTILINE)
    told = notes.notes(int(lecture.name[:2]))
    assert parts and [part for part in parts if part not in told] == []
