"""Checks that every study makes on a measured table before it judges claims by the table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ..errors import ElevatorLabError


def expect_columns(measured: pd.DataFrame, columns: Sequence[str], row: str) -> None:
    """Refuse a table that lacks columns."""
    missing = [column for column in columns if column not in measured]
    if missing:
        raise ElevatorLabError(
            f"measured table: expected the columns of one row per {row}; found none named "
            f"{', '.join(missing)}; make it with elevatorlab.results.store.load"
        )


def expect_once(measured: pd.DataFrame, keys: Sequence[str], what: str) -> None:
    """Refuse a table in which two rows hold the same measurement.

    `keys`: Columns that tell one measurement from another. `what`: What a measurement is and how
    often it may occur: "each read once per repetition".
    """
    twice = measured[measured.duplicated(list(keys), keep=False)]
    if len(twice):
        raise ElevatorLabError(
            f"measured table: expected {what}; found {len(twice)} rows that share one (trials "
            f"{', '.join(sorted(set(twice['trial'])))}); keep the trials of one image and one set "
            "of parameters"
        )
