"""A small table of each mechanism's best settings."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ....analysis.intervals import Interval
from ...kit.cells import in_order, mean_of
from ...kit.tables import PLACE, Captioned, cells
from ..measures.frontier import CELL, cells_of, front, points
from ..measures.mechanisms import FRONTIER_LABELS, FRONTIER_LOADS

FRONTIER = (
    "Beyond the paper: each mechanism in its best settings. No other setting of the mechanism has "
    "both fewer missed seconds and a higher rate of the offenders. A second is missed when a "
    "normal container's mean wait is above the SLA. A second is missed by p99 when the 99th "
    "percentile of a normal container's waits is above the SLA. The first 250 ms are not judged. "
    "“oscillation” is the standard deviation of the offenders' rate over its mean. “more busy” is "
    "the share of time in which the disk is busy, minus that share with the normal containers "
    "alone."
)
MEASURES = {
    "missed_s": "missed (s)",
    "missed_p99_s": "missed by p99 (s)",
    "wait_ms": "wait (ms)",
    "p99_ms": "p99 (ms)",
    "offenders_mb_s": "offenders (MB/s)",
    "recovery_s": "recovery (s)",
    "oscillation": "oscillation",
    "more_busy": "more busy",
    "cpu_busy_ratio": "processor",
}


def tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the table of experiment ``frontier``; an empty list if it was not run."""
    lines = [
        {**where, **line} for where, run in cells(measured, PLACE) for line in _lines(points(run))
    ]
    return [(FRONTIER, pd.DataFrame(lines))] if lines else []


def _lines(found: pd.DataFrame) -> list[dict[str, Any]]:
    lines = []
    for load in FRONTIER_LOADS:
        for mechanism in in_order(found, "mechanism", FRONTIER_LABELS):
            of_one = found[(found["load"] == load) & (found["mechanism"] == mechanism)]
            if len(of_one):
                best = front(cells_of(of_one)) if mechanism != "alone" else cells_of(of_one)
                lines += [_line(of_one, cell) for _, cell in best.iterrows()]
    return lines


def _line(found: pd.DataFrame, cell: pd.Series[Any]) -> dict[str, Any]:
    rows = found[(found[CELL] == cell[CELL]).all(axis=1)]
    return {
        "load": FRONTIER_LOADS[cell["load"]],
        "mechanism": FRONTIER_LABELS[cell["mechanism"]],
        "setting": cell["setting"],
        "n": len(rows),
        **{label: _text(mean_of(rows[name])) for name, label in MEASURES.items()},
    }


def _text(found: Interval | None) -> str:
    if found is None:
        return "–"
    half = f" ± {found.high - found.value:.2g}" if found.bounded else ""
    return f"{found.value:.3g}{half}"
