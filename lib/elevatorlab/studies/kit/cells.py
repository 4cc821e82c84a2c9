"""Cells of a tidy table: the rows that have given values, and comparisons of two cells.

A cell holds what was measured with one value of each varied parameter. Its rows differ only in the
repetition.
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
    """Return the rows whose columns have the given values; all rows if no value is given.

    The table must not change afterwards: which rows have a value is found once.
    """
    return table[_has(table, wanted)]


def by_repetition(table: pd.DataFrame, column: str, /, **cell: object) -> pd.Series[float]:
    """Return one column of one cell, as floats indexed by repetition."""
    rows = values_of(table, ("repetition", column), **cell)
    return rows.set_index("repetition")[column].astype(float)


def values_of(table: pd.DataFrame, columns: Iterable[str], /, **wanted: object) -> pd.DataFrame:
    """Return some columns of the rows that have the given values.

    This is faster than `rows_of`: copying all columns of a tidy table takes longer than finding
    the rows.
    """
    return table[list(columns)][_has(table, wanted)]


Made = TypeVar("Made")


def once_a_table(make: Callable[[pd.DataFrame], Made]) -> Callable[[pd.DataFrame], Made]:
    """Cache a function's result for each table, since many claims are judged on the same table.

    The function must give the same result for the same table, and must not return the table itself.
    The table must not change afterwards.
    """
    kept: dict[int, tuple[weakref.ref[pd.DataFrame], Made]] = {}

    @wraps(make)
    def made(table: pd.DataFrame) -> Made:
        place = id(table)
        if place not in kept:
            # Forget the result when the table is freed: another table may get the same id.
            gone = weakref.ref(table, lambda _: kept.pop(place, None))
            kept[place] = gone, make(table)
        return kept[place][1]

    return made


def _has(table: pd.DataFrame, wanted: Mapping[str, object]) -> NDArray[np.bool_]:
    """Tell which rows have the given values."""
    known = _known(table)
    kept = np.ones(len(table), dtype=bool)
    for column, value in wanted.items():
        if (column, value) not in known:
            equal = (table[column] == value).to_numpy(dtype=bool, na_value=False)
            known[column, value] = equal
        kept &= known[column, value]
    return kept


@once_a_table
def _known(table: pd.DataFrame) -> dict[tuple[str, object], NDArray[np.bool_]]:
    """Return the cache of `_has` for a table: which rows have a value in a column."""
    return {}


def paired_ratio(above: pd.Series[float], below: pd.Series[float]) -> Interval | None:
    """Estimate the ratio `above` / `below`, paired by repetition.

    `above`, `below`: Numerator and denominator: positive values, indexed by repetition.
    """
    if above.index.intersection(below.index).empty:
        return None
    return ratio_interval(above, below)


def mean_of(values: pd.Series[float]) -> Interval | None:
    """Estimate the mean of the values that are not NaN; None if there are no such values."""
    numbers = values.dropna()
    return mean_interval(numbers) if len(numbers) else None


def in_order(table: pd.DataFrame, column: str, first: Iterable[str]) -> list[str]:
    """Return the distinct values of a column: those of `first` in its order, then others, sorted.

    >>> table = pd.DataFrame({"scheduler": ["mine", "cfq", "none", "mine"]})
    >>> in_order(table, "scheduler", ("none", "bfq", "cfq"))
    ['none', 'cfq', 'mine']
    """
    there, known = set(table[column].dropna().unique()), list(first)
    return [name for name in known if name in there] + sorted(there.difference(known))
