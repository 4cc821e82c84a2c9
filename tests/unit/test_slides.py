"""Each lecture becomes slides with the teacher's notes, and nothing in them is from a network."""

import re

import pytest

from lecture_slides import LECTURE, build, notes, read, rule  # noqa: F401  (fixtures)


def new_cell(kind, text):
    from nbformat import v4  # takes a second, which no collection of tests needs

    return getattr(v4, f"new_{kind}_cell")(text)


def slide_type(cell):
    return cell.metadata.slideshow.slide_type


def made(rule, cells, notes=None):
    """Return the slides of a lecture: the type and the source of each of their cells."""
    from nbformat import v4

    lecture = v4.new_notebook(cells=[new_cell(*one) for one in cells])
    return [(slide_type(one), one.source) for one in rule.slides(lecture, notes or {}).cells]


def test_a_text_is_cut_at_headings_and_predictions(rule):
    words = "It was long.\n\n## 2. Shorter\n\nA rule.\n\n**Predict:** how short?"
    cells = [
        ("markdown", "# Lecture\n\n**The machine.** It is slow."),
        ("code", "from elevatorlab.lectures import queues\nimport numpy"),
        ("code", "run()"),
        ("markdown", words),
    ]
    assert made(rule, cells, {"": "Time: an hour", "2": "Ask."}) == [
        ("slide", "# Lecture"),
        ("notes", "Time: an hour"),
        ("subslide", "**The machine.** It is slow."),
        ("notes", "Time: an hour"),
        ("skip", "from elevatorlab.lectures import queues\nimport numpy"),
        ("subslide", "run()"),
        ("notes", "Time: an hour"),
        ("fragment", "It was long."),
        ("slide", "## 2. Shorter\n\nA rule."),
        ("notes", "Ask."),
        ("fragment", "**Predict:** how short?"),
    ]


@pytest.mark.parametrize(
    ("after", "shown"),
    [
        # One thought is beside the last picture; a second one is beside the picture before.
        (["One."], [["table()"], ["draw()", "One."]]),
        (["One.", "Two:\n\n- a list"], [["table()", "One."], ["draw()", "Two:\n\n- a list"]]),
        # Where there are more thoughts than pictures, the last picture comes again, without code.
        (
            ["One.", "Two.", "Three."],
            [["table()", "One."], ["draw()", "Two."], ["", "Three."]],
        ),
    ],
)
def test_a_thought_is_beside_its_picture(rule, after, shown):
    cells = [("markdown", "## 1. A part\n\nAsk."), ("code", "table()"), ("code", "draw()")]
    found = []
    for kind, source in made(rule, [*cells, ("markdown", "\n\n".join(after))]):
        if kind in ("slide", "subslide"):
            found.append([])
        found[-1].append(source)
    assert found[1:] == shown


def test_a_text_between_two_pictures_is_beside_the_second(rule):
    cells = [
        ("markdown", "## 1. A part"),
        ("code", "one()"),
        ("markdown", "Next."),
        ("code", "x()"),
    ]
    assert made(rule, cells)[1:] == [
        ("subslide", "one()"),
        ("subslide", "x()"),
        ("fragment", "Next."),
    ]


@LECTURE
def test_a_lecture_has_at_most_forty_slides_and_none_of_a_heading_alone(lecture, rule):
    shown = []
    for cell in rule.slides(read(lecture), {}).cells:
        if slide_type(cell) in ("slide", "subslide"):
            shown.append("")
        shown[-1] += f"{cell.source}\n"
    assert 10 <= len(shown) <= 40
    assert [one for one in shown if one.startswith("#") and one.strip().count("\n") == 0] == []


@LECTURE
def test_no_word_of_a_lecture_is_lost(lecture, rule):
    slides = rule.slides(read(lecture), {})
    given, shown = (
        sorted("\n".join(cell.source for cell in cells).split())
        for cells in (read(lecture).cells, slides.cells)
    )
    assert shown == given
    assert len({cell.id for cell in slides.cells}) == len(slides.cells)


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
def test_the_notebook_and_the_teacher_s_page_say_one_duration(notes, lecture):
    words = "\n".join(c.source for c in read(lecture).cells if c.cell_type == "markdown")
    (minutes,) = re.findall(r"^\*(\d+) minutes\b", words, re.MULTILINE)
    time = notes.notes(int(lecture.name[:2]))[notes.TITLE]
    assert time.startswith(f"Time: {minutes} minutes")
    assert sum(map(int, re.findall(r"takes? (\d+)", time))) == int(minutes)


@LECTURE
def test_every_numbered_part_has_a_note_for_the_teacher(notes, lecture):
    words = "\n".join(c.source for c in read(lecture).cells if c.cell_type == "markdown")
    parts = re.findall(r"^## (\d+)\. ", words, re.MULTILINE)
    told = notes.notes(int(lecture.name[:2]))
    assert parts and [part for part in parts if part not in told] == []
