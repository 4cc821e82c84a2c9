"""What the document's curves say: from where on SBQ gains nothing, and how its figures differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pandas as pd

from .published import KIB_BITS, NOOP, SBQ, core_scaling, gain_along, points, request_size

_ON_TWO_FIGURES: tuple[tuple[dict[str, str | int], dict[str, str | int]], ...] = (
    ({"table": "Figure 1a", "io_depth": 64}, {"table": "Figure 3a", "cores": 1}),
    ({"table": "Figure 2a", "io_depth": 64}, {"table": "Figure 4a", "cores": 1}),
    ({"table": "Figure 3a", "cores": 4}, {"table": "Figure 5a", "read_percent": 100}),
    ({"table": "Figure 3b", "cores": 4}, {"table": "Figure 5a", "read_percent": 0}),
    ({"table": "Figure 4a", "cores": 16}, {"table": "Figure 5b", "read_percent": 100}),
    ({"table": "Figure 4b", "cores": 16}, {"table": "Figure 5b", "read_percent": 0}),
    ({"table": "Figure 4a", "cores": 16}, {"table": "Figure 6a", "request_kb": 4}),
    ({"table": "Figure 4b", "cores": 16}, {"table": "Figure 6b", "request_kb": 4}),
)

SAME_RUN = [
    ({**one, "scheduler": scheduler}, {**other, "scheduler": scheduler})
    for one, other in _ON_TWO_FIGURES
    for scheduler in (NOOP, SBQ)
]
"""The runs that the document shows in two figures, each as the two places."""


@cache
def gone() -> float:
    """Return the largest ratio between two figures that show the same run.

    A gain of no more than that counts as gone, because a repetition might have shown no gain.
    """
    pairs = [(_shown_kiops(one), _shown_kiops(other)) for one, other in SAME_RUN]
    return max(max(pair) / min(pair) for pair in pairs)


def _shown_kiops(place: Mapping[str, str | int]) -> float:
    """Return a point of a figure in kIOPS."""
    table = points()
    (row,) = table[(table[list(place)] == pd.Series(place)).all(axis=1)].to_dict("records")
    if pd.isna(row["throughput_gbps"]):
        return float(row["throughput_kiops"])
    return float(row["throughput_gbps"] * 1e9 / (row["request_kb"] * KIB_BITS) / 1000)


def core_ratios(target: str, operation: str) -> pd.Series:
    """Return SBQ's throughput relative to noop by number of cores, as the document shows it."""
    table = core_scaling()
    table = table[(table["target"] == target) & (table["operation"] == operation)]
    return gain_along(table, "cores", "throughput_kiops")


def size_ratios(operation: str) -> pd.Series:
    """Return SBQ's throughput relative to noop by request size, as the document shows it."""
    table = request_size()
    return gain_along(table[table["operation"] == operation], "request_kb", "throughput_gbps")


def gone_from(ratios: pd.Series, most: float | None = None) -> int | None:
    """Return the number of cores, or size, from which on there is no gain; None if it never ends.

    `ratios`: SBQ relative to noop, by number of cores or request size: as from `core_ratios`.
    `most`: The largest ratio that is no gain; by default `gone`.
    """
    most = gone() if most is None else most
    there = [place for place in ratios.index if (ratios.loc[place:] <= most).all()]
    return int(there[0]) if there else None
