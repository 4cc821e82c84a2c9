"""Checks that every study makes on a measured table before it judges claims by the table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ..errors import ElevatorLabError


def expect_columns(measured: pd.DataFrame, columns: Sequence[str], row: str) -> None:
    """Refuse a table that lacks columns.

    Parameters
    ----------
    measured : pandas.DataFrame
        Tidy table.
    columns : sequence of str
        Names that the table must have.
    row : str
        What one row of the table is, in words.

    Raises
    ------
    ElevatorLabError
        When the table lacks a column.
    """
    missing = [column for column in columns if column not in measured]
    if missing:
        raise ElevatorLabError(
            f"measured table: expected the columns of one row per {row}; found none named "
            f"{', '.join(missing)}; make it with elevatorlab.results.store.load"
        )


def expect_once(measured: pd.DataFrame, keys: Sequence[str], what: str) -> None:
    """Refuse a table in which two rows hold the same measurement.

    Parameters
    ----------
    measured : pandas.DataFrame
        Tidy table.
    keys : sequence of str
        Columns that tell one measurement from another.
    what : str
        What a measurement is and how often it may occur: "each read once per repetition".

    Raises
    ------
    ElevatorLabError
        When two rows have the same values in `keys`.
    """
    twice = measured[measured.duplicated(list(keys), keep=False)]
    if len(twice):
        raise ElevatorLabError(
            f"measured table: expected {what}; found {len(twice)} rows that share one (trials "
            f"{', '.join(sorted(set(twice['trial'])))}); keep the trials of one image and one set "
            "of parameters"
        )
