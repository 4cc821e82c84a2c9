"""The columns of tidy tables: described once, checked, and printed as the data dictionary."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ElevatorLabError

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["text", "whole number", "number"]

REMEDY = "Another version has made it: make it anew"


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    kind: Kind
    #: "" if there is no unit; "1" for a ratio.
    unit: str
    #: The column's meaning, as the beginning of a sentence.
    meaning: str
    #: Whether cells may be empty; `meaning` says when they are.
    may_lack: bool = False

    @property
    def expected(self) -> str:
        """The expected content of a cell, in words: "a number in s, or nothing"."""
        unit = f" in {self.unit}" if self.unit and self.unit != "1" else ""
        article = "" if self.kind == "text" else "a "
        return f"{article}{self.kind}{unit}" + (", or nothing" if self.may_lack else "")


def text(name: str, meaning: str) -> Column:
    """Return a column of words."""
    return Column(name, "text", "", meaning)


def whole(name: str, unit: str, meaning: str) -> Column:
    """Return a column of whole numbers."""
    return Column(name, "whole number", unit, meaning)


def number(name: str, unit: str, meaning: str) -> Column:
    """Return a column of numbers; the unit of a ratio is 1."""
    return Column(name, "number", unit, meaning)


def may_lack(column: Column) -> Column:
    """Return a copy of `column` whose cells may be empty."""
    return replace(column, may_lack=True)


#: Columns that every study's table has.
SHARED = {
    column.name: column
    for column in (
        text("trial", "hash of the trial: the name of its result's folder"),
        text("study", "name of the study"),
        text("testbed", "where the trial ran"),
        text("machine", "an id that only this physical machine has"),
        text("accelerator", "what executed the processor's instructions"),
        text("preset", "how large the study was: smoke, quick, paper or full"),
        text("device", "the device under test: kind, profile or id, and size"),
        may_lack(
            text(
                "backing_scheduler",
                "scheduler of the physical disk below the device; empty where it was left alone",
            )
        ),
        text("scheduler", "scheduler of the device under test, by the kernel's name"),
        whole("seed", "", "seed of everything random in the trial"),
        whole("repetition", "", "number of the repetition, from 1; each has its own seed"),
        text("image_digest", "SHA-256 of the deterministic image, or of a machine's packages"),
    )
}


def shared(names: str) -> tuple[Column, ...]:
    """Return the columns of `SHARED` with these names, which are separated by spaces."""
    return tuple(SHARED[name] for name in names.split())


class Table:
    """A study's tidy table."""

    def __init__(self, row: str, *columns: Column) -> None:
        self.row = row
        self.columns = columns

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def checked(self, table: pd.DataFrame, what: str) -> pd.DataFrame:
        """Check that a table has these columns with these types, and return it.

        `what`: Name of the table, as the beginning of the error message.
        """
        self.expect_columns(table, what)
        self._expect_no_other(table, what)
        import pandera.pandas as pandera  # takes a second to import
        from pandera.errors import SchemaError

        schema = pandera.DataFrameSchema(
            {
                column.name: pandera.Column(
                    nullable=column.may_lack,
                    checks=pandera.Check(_IS[column.kind], element_wise=True),
                )
                for column in self.columns
            }
        )
        try:
            checked: pd.DataFrame = schema.validate(table)
        except SchemaError as problem:
            wrong = next(one for one in self.columns if one.name == problem.schema.name)
            cell = _shown(problem.failure_cases["failure_case"].iloc[0])
            raise ElevatorLabError(
                f"{what}: column {wrong.name}: expected {wrong.expected}; found {cell}. {REMEDY}"
            ) from None
        return checked

    def expect_columns(self, table: pd.DataFrame, what: str) -> None:
        """Refuse a table that lacks one of these columns; `what` as in `checked`."""
        if missing := [name for name in self.names if name not in table]:
            raise self._other_columns(what, f"none named {', '.join(missing)}")

    def _expect_no_other(self, table: pd.DataFrame, what: str) -> None:
        if list(table.columns) != self.names:
            unknown = [str(name) for name in table if name not in self.names]
            other = f"also {', '.join(unknown)}" if unknown else "another order"
            raise self._other_columns(what, other)

    def _other_columns(self, what: str, found: str) -> ElevatorLabError:
        return ElevatorLabError(
            f"{what}: expected the columns of one row per {self.row}; found {found}. {REMEDY}"
        )


def _shown(cell: Any) -> str:
    if cell is None or cell != cell:
        return "nothing"
    return repr(getattr(cell, "item", lambda: cell)())


def _is_number(cell: object) -> bool:
    return isinstance(cell, numbers.Real) and not isinstance(cell, bool)


def _is_whole(cell: object) -> bool:
    return isinstance(cell, numbers.Real) and _is_number(cell) and float(cell).is_integer()


#: Each cell is checked, since pandas makes a column of integers with an empty cell one of floats.
_IS: dict[Kind, Callable[[object], bool]] = {
    "text": lambda cell: isinstance(cell, str),
    "whole number": _is_whole,
    "number": _is_number,
}
