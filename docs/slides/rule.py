"""The rule by which a lecture's notebook becomes slides. No other place says what is a slide."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

#: A text is cut before each heading and before each prediction.
CUTS = re.compile(r"^(?=##? |\*\*Predict)", re.MULTILINE)


def kind(cell: NotebookNode) -> str:
    """Return what a piece of a lecture is on the slides, in reveal.js's words.

    A heading begins a slide. A prediction is a fragment: it appears when the teacher goes on. Code
    that only imports is skipped. Each other cell of code, and each other text, is a slide below
    the last one.
    """
    if cell.cell_type == "code":
        return "skip" if _only_imports(cell.source) else "subslide"
    if cell.source.startswith("#"):
        return "slide"
    return "fragment" if cell.source.startswith("**Predict") else "subslide"


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
    for piece in _pieces(lecture):
        piece_kind = kind(piece)
        if piece_kind == "slide":
            note = notes.get(_part(piece.source))
        yield _typed(piece, piece_kind)
        # Before any fragment, so that the speaker's view has the notes from the start.
        if note and piece_kind in ("slide", "subslide"):
            yield _typed(new_markdown_cell(note, id=f"{piece.id}-notes"), "notes")


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


def _only_imports(source: str) -> bool:
    return all(isinstance(line, ast.Import | ast.ImportFrom) for line in ast.parse(source).body)
