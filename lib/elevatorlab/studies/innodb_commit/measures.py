"""Quantities that verdicts, figures and tables all take from the tidy table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...analysis.intervals import Interval, ratio_interval

SCHEDULERS = ("none", "mq-deadline", "bfq", "kyber")
ARMS = {"host": "host", "container": "container", "vm": "VM"}
"""What the arms are called; the first one that was measured is held against the article."""

TABLE, NO_CACHE, SWEEP = "table", "no_cache", "sweep"


def rows_of(rows: pd.DataFrame, /, **wanted) -> pd.DataFrame:
    """Return the rows whose columns have the given values."""
    kept = [(rows[column] == value).to_numpy(dtype=bool) for column, value in wanted.items()]
    return rows[np.logical_and.reduce(kept)] if kept else rows


def first_arm(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the arm that is held against the article."""
    arm = next((arm for arm in ARMS if arm in set(rows["arm"])), None)
    return rows_of(rows, arm=arm)


def by_repetition(rows: pd.DataFrame, quantity: str = "tps", /, **cell) -> pd.Series:
    """Return one cell's values, indexed by repetition."""
    found = rows_of(rows, **cell)
    return found.set_index("repetition")[quantity].astype(float)


def ratio(
    rows: pd.DataFrame, numerator: dict, denominator: dict, quantity="tps"
) -> Interval | None:
    """Compare two cells, paired by repetition; None where no repetition has both above 0."""
    above, below = (by_repetition(rows, quantity, **cell) for cell in (numerator, denominator))
    above, below = above[above > 0], below[below > 0]
    if above.index.intersection(below.index).empty:
        return None
    return ratio_interval(above, below)
