"""Cells of a tidy table: the rows that have given values, and two of them held against each other.

A cell is what was measured under one choice of everything that was varied; its rows differ in the
repetition alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...analysis.intervals import Interval, mean_interval, ratio_interval


def rows_of(table: pd.DataFrame, /, **wanted: object) -> pd.DataFrame:
    """Return the rows whose columns have the given values; all of them where none is given."""
    return table[_has(table, wanted)]


def by_repetition(table: pd.DataFrame, column: str, /, **cell: object) -> pd.Series[float]:
    """Return a quantity of one cell, indexed by repetition."""
    # Two columns alone: to copy rows as wide as a tidy table's takes longer than to find them.
    rows = table.loc[_has(table, cell), ["repetition", column]]
    return rows.set_index("repetition")[column].astype(float)


def _has(table: pd.DataFrame, wanted: Mapping[str, object]) -> NDArray[np.bool_]:
    kept = np.ones(len(table), dtype=bool)
    for column, value in wanted.items():
        kept &= (table[column] == value).to_numpy(dtype=bool, na_value=False)
    return kept


def paired_ratio(above: pd.Series[float], below: pd.Series[float]) -> Interval | None:
    """Estimate above / below, paired by repetition; None where no repetition has both."""
    if above.index.intersection(below.index).empty:
        return None
    return ratio_interval(above, below)


def mean_of(values: pd.Series[float]) -> Interval | None:
    """Estimate the mean of those values that are numbers; None where none is."""
    numbers = values.dropna()
    return mean_interval(numbers) if len(numbers) else None


def in_order(table: pd.DataFrame, column: str, first: Iterable[str]) -> list[str]:
    """Return what a column has: the document's names in its own order, then all others.

    Examples
    --------
    >>> table = pd.DataFrame({"scheduler": ["mine", "kyber", "none", "mine"]})
    >>> in_order(table, "scheduler", ("none", "bfq", "kyber"))
    ['none', 'kyber', 'mine']
    """
    there, known = set(table[column].dropna().unique()), list(first)
    return [name for name in known if name in there] + sorted(there.difference(known))
