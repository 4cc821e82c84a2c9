"""Write docs/data-dictionary.md: what each column means, as the tables declare it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..paths import PROJECT
from ..plugins import studies
from ..results import replays
from ..results.models import Sample
from ..results.tidy_columns import SHARED, Column, Table, number, text

PAGE = PROJECT / "docs" / "data-dictionary.md"

INTRODUCTION = """\
# Data dictionary

What each column means, and in which unit. This page is written by `elevatorlab dictionary` from
what the tables are checked against. `elevatorlab schemas` prints what is in the JSON files.

A cell of a column marked *may lack* can be empty. The unit of a ratio is 1.
"""


def page() -> str:
    """Return the text of the page."""
    parts = [
        INTRODUCTION,
        "## Columns of every study's table",
        "",
        *_lines(SHARED.values()),
        *_of_studies(),
        "",
        "## Replays of traces",
        "",
        f"`elevatorlab replay` prints one row per {replays.TABLE.row}.",
        "",
        *_own_lines(replays.TABLE),
        "",
        "## samples.csv",
        "",
        "One row per interval and target: the device, or a group.",
        "",
        *_lines(_sample_columns()),
    ]
    return "\n".join(parts) + "\n"


def _of_studies() -> Iterator[str]:
    for name, study in studies.STUDIES.items():
        if table := getattr(study, "TABLE", None):
            yield from ("", f"## {name}", "", f"*{study.TITLE}* One row per {table.row}.", "")
            yield from _own_lines(table)


def _own_lines(table: Table) -> Iterator[str]:
    return _lines(column for column in table.columns if column.name not in SHARED)


def _lines(columns: Iterable[Column]) -> Iterator[str]:
    yield "| column | kind | unit | meaning |"
    yield "| --- | --- | --- | --- |"
    for one in columns:
        kind = one.kind + (", may lack" if one.may_lack else "")
        yield f"| `{one.name}` | {kind} | {one.unit} | {one.meaning} |"


def _sample_columns() -> Iterator[Column]:
    """Yield the columns of samples.csv, from the fields of `Sample`."""
    for name, field in Sample.model_fields.items():
        told = field.json_schema_extra
        unit = str(told["unit"]) if isinstance(told, dict) else ""
        meaning = field.description or ""
        yield number(name, unit, meaning) if unit else text(name, meaning)


def write() -> Path:
    """Write the page from what the tables declare now."""
    PAGE.write_text(page())
    return PAGE
