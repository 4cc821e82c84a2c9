"""Quantities that verdicts, figures and tables all take from the tidy table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ...analysis.intervals import Interval
from ...plugins.schedulers import OF_THE_KERNEL
from ..kit.cells import by_repetition, paired_ratio, rows_of
from ..kit.contrast import on_main_disk, with_arm
from ..kit.reimplemented import REIMPLEMENTED

Cell = Mapping[str, Any]
"""Values of columns that select a cell of the table."""

SCHEDULERS = tuple(dict.fromkeys(("none", "mq-deadline", *REIMPLEMENTED, *OF_THE_KERNEL)))
ARMS = {"host": "host", "container": "container", "vm": "VM"}
"""Names of the arms. The first arm that was measured is compared with the article."""

TABLE, NO_CACHE, SWEEP = "table", "no_cache", "sweep"


def main_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows to compare with the article: the first arm, on drives if there are any."""
    return on_main_disk(_first_arm(rows))


def rows_without_an_arm(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first arm of `ARMS` that was measured, on disks without an arm."""
    rows = _first_arm(rows)
    return rows[~with_arm(rows)]


def swept_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first arm of `ARMS` that was measured, on the disks of the sweep."""
    rows = _first_arm(rows)
    return rows[rows["device"].isin(rows_of(rows, experiment=SWEEP)["device"])]


def _first_arm(rows: pd.DataFrame) -> pd.DataFrame:
    arm = next((arm for arm in ARMS if arm in set(rows["arm"])), None)
    return rows_of(rows, arm=arm)


def ratio(
    rows: pd.DataFrame, numerator: Cell, denominator: Cell, quantity: str = "tps"
) -> Interval | None:
    """Estimate the ratio of two cells, paired by repetition.

    None if in no repetition both are above 0.
    """
    above, below = (by_repetition(rows, quantity, **cell) for cell in (numerator, denominator))
    return paired_ratio(above[above > 0], below[below > 0])
