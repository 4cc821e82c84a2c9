"""What every reader of a report gives: rows, or the line that cannot be read and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Unreadable(Exception):
    """A report cannot be read; `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


@dataclass
class Row:
    """One row of the table."""

    tool: str
    version: str
    #: What was set: with the same of all of these, rows are repetitions of each other.
    factors: dict[str, Any]
    #: What was measured, with units in the names.
    measured: dict[str, Any]
    #: Other settings; one that is not the same in all rows is a factor, too.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: What is worth knowing of this row, as a sentence; empty where nothing is.
    note: str = ""


def line_of(text: str, place: int) -> int:
    """Return the line of a place in a text."""
    return text.count("\n", 0, place) + 1
