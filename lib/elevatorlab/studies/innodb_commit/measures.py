"""Quantities that verdicts, figures and tables all take from the tidy table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ...analysis.intervals import Interval
from ..kit.cells import by_repetition, paired_ratio, rows_of
from ..kit.contrast import on_main_disk, with_arm

Cell = Mapping[str, Any]
"""Values of columns that select a cell of the table."""

SCHEDULERS = ("none", "mq-deadline", "cfq", "anticipatory", "bfq", "kyber")
ARMS = {"host": "host", "container": "container", "vm": "VM"}
"""What the arms are called; the first one that was measured is held against the article."""

TABLE, NO_CACHE, SWEEP = "table", "no_cache", "sweep"


def main_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what is held against the article: one arm, on a drive where one was measured."""
    return on_main_disk(_first_arm(rows))


def rows_without_an_arm(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the same arm of the study on disks that have none themselves."""
    rows = _first_arm(rows)
    return rows[~with_arm(rows)]


def swept_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the same arm on the disks of the sweep, and what stands beside it."""
    rows = _first_arm(rows)
    return rows[rows["device"].isin(rows_of(rows, experiment=SWEEP)["device"])]


def _first_arm(rows: pd.DataFrame) -> pd.DataFrame:
    arm = next((arm for arm in ARMS if arm in set(rows["arm"])), None)
    return rows_of(rows, arm=arm)


def ratio(
    rows: pd.DataFrame, numerator: Cell, denominator: Cell, quantity: str = "tps"
) -> Interval | None:
    """Compare two cells, paired by repetition; None where no repetition has both above 0."""
    above, below = (by_repetition(rows, quantity, **cell) for cell in (numerator, denominator))
    return paired_ratio(above[above > 0], below[below > 0])
