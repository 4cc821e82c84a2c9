"""Small tables of what was measured: a row for each cell, and column names for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ...analysis.intervals import Interval
from ...analysis.number_texts import EXACT_DIGITS, plain, rounded
from ...judging.matching import DETERMINISTIC

PLACE = ("testbed", "machine", "preset")
"""Columns that say where a measurement was made. Their values are never pooled."""

Captioned = tuple[str, pd.DataFrame]
"""A caption, and the table below it."""


def cells(
    measured: pd.DataFrame, keys: Sequence[str] | Mapping[str, str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield each combination of values of the key columns with its rows, sorted by the values.

    `keys`: The key columns. A mapping also gives the name of each column in the small table.
    """
    names = keys.values() if isinstance(keys, Mapping) else keys
    for values, rows in measured.groupby(list(keys), sort=True, dropna=False):
        yield dict(zip(names, values, strict=True)), rows


def value_and_interval(estimate: Interval | None) -> tuple[str, str]:
    """Write an estimate and its interval for two columns, with the digits that it justifies.

    Returns: In place of an interval that cannot be shown, the second one says why.

    >>> value_and_interval(Interval(2285.73, 2276.4, 2295.09, 5))
    ('2286', '2276 to 2295')
    >>> value_and_interval(Interval(2.5, 2.5, 2.5, 5)), value_and_interval(None)
    (('2.5', 'all alike'), ('–', '–'))
    """
    if estimate is None:
        return "–", "–"
    if not estimate.bounded:
        return plain(estimate.value, EXACT_DIGITS), "one repetition"
    number, ends = rounded(estimate.value, estimate.low, estimate.high)
    return number, ends or ("all alike" if estimate.identical else "narrower than the last digit")


def machine_name(machine: str) -> str:
    """Return the name of a machine in a small table.

    >>> machine_name("deterministic"), machine_name("b3b104e57a10774d")
    ('–', 'b3b104e5')
    """
    return "–" if machine == DETERMINISTIC else str(machine)[:8]
