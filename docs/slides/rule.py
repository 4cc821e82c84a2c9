"""The rule by which a lecture's notebook becomes slides. No other place says what is a slide.

A part of a lecture begins with a slide that asks, and goes on with one slide for each picture or
table. Beside it stands the paragraph that explains it.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

#: A text is cut before each heading and before each prediction. So is what a title's page says of
#: the machine, which is another thought.
CUTS = re.compile(r"^(?=##? |\*\*Predict|\*\*The machine)", re.MULTILINE)
#: A paragraph ends where another one begins. A list, a table or indented code belongs to the
#: paragraph before it.
PARAGRAPHS = re.compile(r"\n\n(?=[^\s|\d-])")

Slide = list[NotebookNode]


def slides(lecture: NotebookNode, notes: Mapping[str, str]) -> NotebookNode:
    """Return a lecture with the kind of each cell, and the teacher's notes on each slide.

    Parameters
    ----------
    lecture : nbformat.NotebookNode
    notes : dict of str to str
        Of `notes.notes`.
    """
    made = NotebookNode(lecture)
    made.cells = list(_cells(lecture, notes))
    return made


def _cells(lecture: NotebookNode, notes: Mapping[str, str]) -> Iterator[NotebookNode]:
    note = None
    for slide in _slides(list(_pieces(lecture))):
        first, *more = slide
        if _is_heading(first):
            note = notes.get(_part(first.source))
        yield _typed(first, "slide" if _is_heading(first) else "subslide")
        # Before any fragment, so that the speaker's view has the notes from the start.
        if note:
            yield _typed(new_markdown_cell(note, id=f"{first.id}-notes"), "notes")
        # A prediction, or what explains a picture, appears when the teacher goes on.
        for cell in more:
            yield _typed(cell, "skip" if _is_code(cell) else "fragment")


def _slides(pieces: list[NotebookNode]) -> Iterator[Slide]:
    """Yield the cells of each slide. What explains pictures comes after them in the notebook."""
    waiting: list[Slide] = []  # for what explains them
    introduction: Slide = []  # of the next picture
    for place, piece in enumerate(pieces):
        follows = pieces[place + 1] if place + 1 < len(pieces) else None
        if piece.cell_type == "code":
            if _only_imports(piece.source):
                waiting[-1].append(piece)  # and skipped
            else:
                waiting.append([piece, *introduction])
                introduction = []
        elif piece.source.startswith("**Predict"):
            waiting[-1].append(piece)
        elif _is_heading(piece) or not _is_code(waiting[-1][0]):
            yield from waiting
            waiting = [[piece]]
        elif follows is not None and _is_code(follows):
            introduction = [piece]
        elif follows is not None and follows.source.startswith("**Predict"):
            yield from waiting
            waiting = [[piece]]
        else:
            _explain(waiting, piece)
    yield from waiting


def _explain(waiting: list[Slide], words: NotebookNode) -> None:
    """Put each paragraph beside a picture: the last beside the last. A picture may come again."""
    paragraphs = PARAGRAPHS.split(words.source)
    shown = [slide for slide in waiting if _is_code(slide[0])]
    pictures = [slide for slide in shown if len(slide) == 1] or shown[-1:]
    for number in range(len(paragraphs) - len(pictures)):
        again = copy.deepcopy(pictures[-1][0])
        again.id, again.source = f"{again.id}-again-{number}", ""
        again.metadata["transient"] = {"remove_source": True}
        waiting.append([again])
        pictures.append(waiting[-1])
    for number, paragraph in enumerate(paragraphs):
        slide = pictures[len(pictures) - len(paragraphs) + number]
        slide.append(new_markdown_cell(paragraph, id=f"{words.id}-{number}"))


def _pieces(lecture: NotebookNode) -> Iterator[NotebookNode]:
    for cell in lecture.cells:
        if cell.cell_type != "markdown":
            yield cell
            continue
        texts = filter(str.strip, CUTS.split(cell.source))
        for number, text in enumerate(texts):
            yield new_markdown_cell(text.strip(), id=f"{cell.id}-{number}")


def _typed(cell: NotebookNode, slide_type: str) -> NotebookNode:
    cell.metadata["slideshow"] = {"slide_type": slide_type}
    return cell


def _part(text: str) -> str:
    """Return the number of a part, `Exercises` or another heading; of the title nothing."""
    heading = text.splitlines()[0]
    return "" if heading.startswith("# ") else heading.removeprefix("## ").split(".")[0]


def _is_heading(cell: NotebookNode) -> bool:
    return cell.cell_type == "markdown" and cell.source.startswith("#")


def _is_code(cell: NotebookNode) -> bool:
    return cell.cell_type == "code"


def _only_imports(source: str) -> bool:
    return all(isinstance(line, ast.Import | ast.ImportFrom) for line in ast.parse(source).body)
