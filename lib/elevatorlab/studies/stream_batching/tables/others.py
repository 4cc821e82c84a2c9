"""The table of schedulers that the document does not have, such as one of your own."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ....judging.matching import runs
from ....plugins.schedulers import shown_name
from ...kit.tables import Captioned, cells
from ..measures import DRIVERS, TARGETS, THROUGHPUT, at, gain
from ..trials import SCHEDULERS

OTHERS = (
    "Schedulers that are neither in the document nor in the study's presets, with 4 KiB random "
    "reads: thousand requests per second, as means over repetitions. Throughput is also shown "
    "relative to noop, with a 95 % confidence interval. “no network” is the same disk on the "
    "machine itself."
)

COLUMNS = ("run", "scheduler", "target", "driver", "times", "depth", "kIOPS", "relative to noop")


def has_others(measured: pd.DataFrame) -> bool:
    """Tell whether any measured scheduler is not in the presets."""
    return bool((~measured["scheduler"].isin(SCHEDULERS)).any())


def others_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each other scheduler, target, driver and depth.

    `measured`: The study's tidy table, without rows that had cores of their own.
    """
    found = []
    for run in runs(measured):
        others = run.rows[~run.rows["scheduler"].isin(SCHEDULERS)]
        for point, _ in cells(others, ("scheduler", "target", "driver", "time_scale", "depth")):
            row = _row(run.rows, point)
            if row:
                found.append({"run": run.label, **row})
    return OTHERS, pd.DataFrame(found, columns=list(COLUMNS))


def _row(rows: pd.DataFrame, point: dict[str, Any]) -> dict[str, str] | None:
    """Return the row of a point; None if noop was not measured at this point."""
    ratio = gain(rows, **point)
    if ratio is None:
        return None
    return {
        "scheduler": shown_name(point["scheduler"]),
        "target": TARGETS[point["target"]],
        "driver": DRIVERS.get(point["driver"], "no network"),
        "times": f"x {point['time_scale']:g}",
        "depth": f"{point['depth']:g}",
        "kIOPS": f"{at(rows, THROUGHPUT, **point).mean() / 1000:.2f}",
        "relative to noop": ratio.text(),
    }
