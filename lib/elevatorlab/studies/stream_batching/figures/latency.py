"""Figures 1 and 2: latency against throughput, one point a depth."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....showing.panels import marks, say
from ....showing.style import COLOURS
from ...kit.cells import rows_of
from ..measures import (
    DRIVERS,
    FEWEST_FOR_P99,
    MEAN,
    P99,
    TARGETS,
    THROUGHPUT,
    curve,
    scale_of,
)
from ..published import SCHEDULER
from .panels import (
    MARKERS,
    PUBLISHED,
    drivers_in,
    face,
    scheduler_handles,
    schedulers_in,
    source_handles,
)

KINDS = {"mean": ("(a) mean", MEAN), "p99": ("(b) 99th percentile", P99)}


def latency_against_throughput(
    published: pd.DataFrame, measured: pd.DataFrame, target: str
) -> Figure:
    """Draw latency against throughput for one target, one row of panels a driver."""
    rows = rows_of(measured, target=target)
    drivers: list[str | None] = [*drivers_in(rows)] or [None]
    figure = Figure(figsize=(8, 0.9 + 2.8 * len(drivers)))
    axes = figure.subplots(len(drivers), 2, squeeze=False, sharex=True)
    for driver, pair in zip(drivers, axes, strict=True):
        for axis, (kind, (title, column)) in zip(pair, KINDS.items(), strict=True):
            _published(axis, rows_of(published, target=target, latency_kind=kind))
            if driver is not None:
                _measured(axis, rows, column, driver, target)
                title = f"{title}, {DRIVERS[driver]}"
            elif len(measured):
                say(axis, "this target was not run")
            axis.set(yscale="log", title=title)
            axis.set_ylim(5, 10000)
            marks(axis.yaxis, (10, 30, 100, 300, 1000, 3000, 10000))
        pair[0].set_ylabel("latency (us, log scale)")
    for axis in axes[-1]:
        axis.set_xlabel("throughput (kIOPS)")
        axis.set_xlim(left=0)
    handles = scheduler_handles(schedulers_in(rows) or SCHEDULER.values())
    handles += source_handles(drivers_in(rows))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    figure.suptitle(f"{TARGETS[target]}, 4 KiB random reads, one core{on_scale(rows)}")
    return figure


def on_scale(rows: pd.DataFrame) -> str:
    """Say in words how measured figures are brought to the document's scale."""
    scale = scale_of(rows)
    return f"; measured times divided by {scale:g}" if scale and scale != 1 else ""


def _published(axis: Axes, shown: pd.DataFrame) -> None:
    for name, scheduler in SCHEDULER.items():
        some = rows_of(shown, scheduler=name).sort_values("io_depth")
        axis.plot(
            some["throughput_kiops"], some["latency_us"], color=COLOURS[scheduler], **PUBLISHED
        )


def _measured(axis: Axes, rows: pd.DataFrame, column: str, driver: str, target: str) -> None:
    scale = scale_of(rows)
    assert scale  # a driver has rows
    if column == P99:
        rows = rows[rows["requests"] >= FEWEST_FOR_P99]
    for scheduler in schedulers_in(rows_of(rows, driver=driver)):
        where = {"scheduler": scheduler, "driver": driver, "target": target, "time_scale": scale}
        rates = curve(rows, THROUGHPUT, "depth", **where)
        latencies = curve(rows, column, "depth", **where)
        colour = COLOURS[scheduler]
        axis.plot(
            [rate.value * scale / 1000 for _, rate in rates],
            [latency.value / scale for _, latency in latencies],
            color=colour,
            marker=MARKERS[driver],
            markerfacecolor=face(driver, colour),
        )
