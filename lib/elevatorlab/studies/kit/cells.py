"""Cells of a tidy table: the rows that have given values, and comparisons of two cells.

A cell is what was measured under one choice of everything that was varied; its rows differ in the
repetition alone.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...analysis.intervals import Interval, mean_interval, ratio_interval


def rows_of(table: pd.DataFrame, /, **wanted: object) -> pd.DataFrame:
    """Return the rows whose columns have the given values; all rows if no value is given."""
    return table[_has(table, wanted)]


def by_repetition(table: pd.DataFrame, column: str, /, **cell: object) -> pd.Series[float]:
    """Return a quantity of one cell, indexed by repetition."""
    rows = values_of(table, ("repetition", column), **cell)
    return rows.set_index("repetition")[column].astype(float)


def values_of(table: pd.DataFrame, columns: Iterable[str], /, **wanted: object) -> pd.DataFrame:
    """Return some columns of the rows that have the given values.

    To copy rows as wide as a tidy table's takes longer than to find them.
    """
    return table[list(columns)][_has(table, wanted)]


def _has(table: pd.DataFrame, wanted: Mapping[str, object]) -> NDArray[np.bool_]:
    kept = np.ones(len(table), dtype=bool)
    for column, value in wanted.items():
        kept &= (table[column] == value).to_numpy(dtype=bool, na_value=False)
    return kept


Made = TypeVar("Made")


def once_a_table(make: Callable[[pd.DataFrame], Made]) -> Callable[[pd.DataFrame], Made]:
    """Let a function compute once for each table, which claim after claim is judged on.

    The function must give the same result for the same table, and must not return the table itself.
    Nobody may change the table.
    """
    kept: dict[int, tuple[weakref.ref[pd.DataFrame], Made]] = {}

    @wraps(make)
    def made(table: pd.DataFrame) -> Made:
        place = id(table)
        if place not in kept:
            # A table that is gone takes with it what was made of it: another may get its place.
            gone = weakref.ref(table, lambda _: kept.pop(place, None))
            kept[place] = gone, make(table)
        return kept[place][1]

    return made


def paired_ratio(above: pd.Series[float], below: pd.Series[float]) -> Interval | None:
    """Estimate above / below, paired by repetition; None where no repetition has both."""
    if above.index.intersection(below.index).empty:
        return None
    return ratio_interval(above, below)


def mean_of(values: pd.Series[float]) -> Interval | None:
    """Estimate the mean of those values that are numbers; None if there are no numbers."""
    numbers = values.dropna()
    return mean_interval(numbers) if len(numbers) else None


def in_order(table: pd.DataFrame, column: str, first: Iterable[str]) -> list[str]:
    """Return what a column has: the document's names in its own order, then all others.

    Examples
    --------
    >>> table = pd.DataFrame({"scheduler": ["mine", "cfq", "none", "mine"]})
    >>> in_order(table, "scheduler", ("none", "bfq", "cfq"))
    ['none', 'cfq', 'mine']
    """
    there, known = set(table[column].dropna().unique()), list(first)
    return [name for name in known if name in there] + sorted(there.difference(known))
