"""The marks as learning platforms read them: Moodle, Canvas and nbgrader, each in its own CSV.

A platform knows its students by a number or a name that stands in the name of what they handed in,
as the platform itself writes it when a teacher downloads all submissions.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import ElevatorLabError
from .assignments import Assignment
from .grade import Grade
from .pages import safe

Row = tuple[object, ...]


@dataclass(frozen=True)
class Platform:
    """A platform, and the table that it reads."""

    #: What names of submissions match: the group ``id`` is the platform's for the student, and the
    #: group ``name`` the student's own.
    names: re.Pattern[str]
    #: What such names are, for people.
    expected: str
    #: Returns the rows that are above the students'.
    head: Callable[[Assignment], tuple[Row, ...]]
    #: Returns a student's row.
    row: Callable[[Assignment, Grade, re.Match[str]], Row]


def _moodle(assignment: Assignment, grade: Grade, found: re.Match[str]) -> Row:
    """Return a row of Moodle's grading worksheet; - is its word for "never"."""
    each = "; ".join(f"{part.what}: {part.marks:g} of {part.of}" for part in grade.parts)
    who = f"Participant {found['id']}", safe(found["name"])
    return (*who, _marks(grade), assignment.marks, "-", safe(each))


def _canvas(assignment: Assignment, grade: Grade, found: re.Match[str]) -> Row:
    return (safe(found["name"]), found["id"], "", "", "", _marks(grade))


def _nbgrader(assignment: Assignment, grade: Grade, found: re.Match[str]) -> Row:
    marks = _marks(grade)
    return (assignment.name, "", "", found["id"], "", "", "", marks, 0, marks, assignment.marks)


def _marks(grade: Grade) -> str:
    """Return the marks; nothing where the laboratory failed, which platforms leave as it is."""
    return f"{grade.marks:g}" if grade.parts else ""


PLATFORMS: dict[str, Platform] = {
    "moodle": Platform(
        re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_file.*"),
        "NAME_NUMBER_assignsubmission_file, as in Moodle's download of all submissions",
        lambda assignment: (
            (
                *("Identifier", "Full name", "Grade", "Maximum Grade"),
                *("Last modified (grade)", "Feedback comments"),
            ),
        ),
        _moodle,
    ),
    "canvas": Platform(
        re.compile(r"(?P<name>[^_]+)(_LATE)?_(?P<id>\d+)_\d+_.+"),
        "NAME_NUMBER_NUMBER_FILE, as in Canvas's download of all submissions",
        lambda assignment: (
            ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", safe(assignment.title)),
            ("    Points Possible", "", "", "", "", assignment.marks),
        ),
        _canvas,
    ),
    "nbgrader": Platform(
        re.compile(r"(?P<id>[A-Za-z0-9][A-Za-z0-9_.@-]*)"),
        "nbgrader's student_id: letters, digits, _ . @ and -",
        lambda assignment: (
            (
                *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name"),
                *("email", "raw_score", "late_submission_penalty", "score", "max_score"),
            ),
        ),
        _nbgrader,
    ),
}


def refuse_unknown(platform: str, students: Sequence[str]) -> None:
    """Refuse names of submissions that tell a platform nobody, or the same student twice."""
    if platform not in PLATFORMS:
        raise ElevatorLabError(
            f"--export: expected one of {', '.join(PLATFORMS)}; found {platform!r}"
        )
    seen: dict[str, str] = {}
    for student in students:
        if not (found := PLATFORMS[platform].names.fullmatch(student)):
            raise ElevatorLabError(
                f"--export {platform}: expected submissions with names such as "
                f"{PLATFORMS[platform].expected}; found {student!r}. Rename it"
            )
        if (before := seen.setdefault(found["id"], student)) != student:
            raise ElevatorLabError(
                f"--export {platform}: expected one submission per student; found {before!r} and "
                f"{student!r}, which are both of {found['id']}. Remove one"
            )


def write(platform: str, out: Path, assignment: Assignment, grades: Sequence[Grade]) -> Path:
    """Write the marks by the machine for a platform; return the file."""
    file = out / f"{platform}.csv"
    with open(file, "w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerows(PLATFORMS[platform].head(assignment))
        writer.writerows(_rows(platform, assignment, grades))
    return file


def _rows(platform: str, assignment: Assignment, grades: Sequence[Grade]) -> Iterator[Row]:
    for grade in grades:
        if found := PLATFORMS[platform].names.fullmatch(grade.student):
            yield PLATFORMS[platform].row(assignment, grade, found)
