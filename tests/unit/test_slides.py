"""Each lecture becomes slides with the teacher's notes, and nothing in them is from a network."""

import re

import pytest

from lecture_slides import LECTURE, build, notes, read, rule  # noqa: F401  (fixtures)


def new_cell(kind, text):
    from nbformat import v4  # takes a second, which no collection of tests needs

    return getattr(v4, f"new_{kind}_cell")(text)


def slide_type(cell):
    return cell.metadata.slideshow.slide_type


@pytest.mark.parametrize(
    ("kind", "text", "slide"),
    [
        ("markdown", "# Lecture 1: queues", "slide"),
        ("markdown", "## 1. A queue\n\nIt grows.", "slide"),
        ("markdown", "**Predict:** how long?", "fragment"),
        ("markdown", "**Predict before you run:** how long?", "fragment"),
        ("markdown", "It is long.", "subslide"),
        ("code", "from elevatorlab.lectures import queues\nimport numpy", "skip"),
        ("code", "import numpy\nnumpy.pi", "subslide"),
    ],
)
def test_the_kind_of_a_cell(rule, kind, text, slide):
    assert rule.kind(new_cell(kind, text)) == slide


def test_a_text_is_cut_at_headings_and_predictions(rule):
    from nbformat import v4

    words = "It was long.\n\n## 2. Shorter\n\nA rule.\n\n**Predict:** how short?"
    texts = [("markdown", "# Lecture"), ("code", "run()"), ("markdown", words)]
    lecture = v4.new_notebook(cells=[new_cell(*one) for one in texts])
    made = rule.slides(lecture, {"": "Time: an hour", "2": "Ask."}).cells
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


@LECTURE
def test_every_numbered_part_has_a_note_for_the_teacher(notes, lecture):
    words = "\n".join(c.source for c in read(lecture).cells if c.cell_type == "markdown")
    parts = re.findall(r"^## (\d+)\. ", words, re.MULTILINE)
    told = notes.notes(int(lecture.name[:2]))
    assert parts and [part for part in parts if part not in told] == []
