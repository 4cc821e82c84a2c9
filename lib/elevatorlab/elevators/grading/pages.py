"""Write a page for each student that needs no other file, and the teacher's overview."""

from __future__ import annotations

import base64
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import ChoiceLoader, PackageLoader

from ...paths import write_whole
from ...plugins.schedulers import colour_of
from ...showing import style
from ...showing.report_pages import template_environment
from ...showing.travel import draw_places
from .assignments import Assignment
from .grade import KINDS, Grade, PartResult
from .submissions import Submission

YOURS = style.VERMILION


def write(
    out: Path, assignment: Assignment, grades: Sequence[Grade], right: Mapping[str, PartResult]
) -> dict[str, Path]:
    """Write all pages; the same grades give the same bytes.

    `right`: What the reference did in each part, by the part's name. Returns: ``overview``,
    ``marks`` (CSV), ``feedback`` (a folder), and ``leaderboard`` where the assignment is scored.
    """
    feedback = out / "feedback"
    feedback.mkdir(parents=True, exist_ok=True)
    for grade in grades:
        pictures = {
            what: picture
            for what, ran in grade.ran.items()
            if (picture := _picture(assignment.reference, ran, right[what]))
        }
        content = {"assignment": assignment, "grade": grade, "pictures": pictures}
        _render(feedback / f"{_slug(grade)}.html", "feedback.html", {}, content)
    made = {"overview": out / "index.html", "marks": out / "marks.csv", "feedback": feedback}
    pages = {"index.html": "Overview"}
    if assignment.scored:
        made["leaderboard"] = out / "leaderboard.html"
        pages["leaderboard.html"] = "Leaderboard"
        ranked = sorted(
            (one for one in grades if one.score is not None),
            key=lambda one: (-(one.score or 0), one.student),
        )
        content = {"assignment": assignment, "grades": ranked}
        _render(made["leaderboard"], "leaderboard.html", pages, content)
    links = {grade.student: f"feedback/{_slug(grade)}.html" for grade in grades}
    content = {"assignment": assignment, "grades": grades, "links": links, "kinds": KINDS}
    _render(made["overview"], "overview.html", pages, content)
    _write_csv(made["marks"], assignment, grades)
    return made


def _slug(grade: Grade) -> str:
    return Submission(grade.student).slug


def _render(
    path: Path, template: str, pages: Mapping[str, str], content: Mapping[str, Any]
) -> None:
    environment = template_environment(pages)
    assert environment.loader
    ours = PackageLoader("elevatorlab.elevators.grading")
    environment.loader = ChoiceLoader([ours, environment.loader])
    environment.filters["marks"] = lambda number: f"{number:g}"
    page = environment.get_template(template).render(here=path.name, **content)
    write_whole(path, page)


def _picture(reference: str, found: PartResult, right: PartResult) -> str:
    """Return a picture of the student's order and the right one, as a data URL for a page."""
    if not found.dispatches or not right.dispatches:
        return ""
    traced = {"yours": _requests(found), f"right ({reference})": _requests(right)}
    colours = dict(zip(traced, (YOURS, colour_of(reference)), strict=True))
    content = style.preview(draw_places(traced, colours), dpi=100)
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def _requests(ran: PartResult) -> pd.DataFrame:
    columns = ["inserted_s", "issued_s", "sector"]
    table = pd.DataFrame(ran.dispatches, columns=columns).astype(float)
    return table.assign(
        inserted_s=table["inserted_s"] / 1000,
        issued_s=table["issued_s"] / 1000,
        sector=2 * table["sector"],
    )


def _write_csv(path: Path, assignment: Assignment, grades: Sequence[Grade]) -> None:
    parts = [part.what for part in assignment.parts]
    by_hand = [part.what for part in assignment.by_hand]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["student", "kind", "marks", *parts, *by_hand, "score", "problem"])
        for grade in grades:
            marks = [safe(one) for one in (grade.marks, *(part.marks for part in grade.parts))]
            # A student who could not be graded has empty cells, which are not the same as 0.
            marks = marks if grade.parts else [""] * (1 + len(parts))
            score = "" if grade.score is None else grade.score
            # Each part that is marked by hand has an empty cell, to be filled in.
            row = [safe(grade.student), grade.kind or "", *marks, *("" for _ in by_hand)]
            writer.writerow([*row, score, safe(grade.problem)])


def safe(cell: object) -> str:
    """Return the text of a cell, such that no spreadsheet takes it for a formula."""
    text = f"{cell:g}" if isinstance(cell, float) else str(cell)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
