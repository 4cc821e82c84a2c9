"""Small tables of what was measured: a row for each cell, and column names for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ...judging.matching import DETERMINISTIC

PLACE = ("testbed", "machine", "preset")
"""Columns that say where a measurement was made. Their values are never pooled."""

Captioned = tuple[str, pd.DataFrame]
"""A caption, and the table below it."""


def cells(
    measured: pd.DataFrame, keys: Sequence[str] | Mapping[str, str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield each combination of values of the key columns with its rows, sorted by the values.

    Parameters
    ----------
    measured : pandas.DataFrame
        Tidy table; may be empty.
    keys : sequence or mapping of str
        The key columns. A mapping also gives the name of each column in the small table.
    """
    names = keys.values() if isinstance(keys, Mapping) else keys
    for values, rows in measured.groupby(list(keys), sort=True, dropna=False):
        yield dict(zip(names, values, strict=True)), rows


def machine_name(machine: str) -> str:
    """Return the name of a machine in a small table.

    >>> machine_name("deterministic"), machine_name("b3b104e57a10774d")
    ('–', 'b3b104e5')
    """
    return "–" if machine == DETERMINISTIC else str(machine)[:8]
