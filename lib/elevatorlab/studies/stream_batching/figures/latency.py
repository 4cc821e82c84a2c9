"""Figures 1 and 2: latency against throughput, with one point per I/O depth."""

from __future__ import annotations

from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....showing.panels import errors, marks, say
from ....showing.style import COLOURS, PUBLISHED, TWO_COLUMNS
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
    drivers_in,
    look_with,
    scheduler_handles,
    schedulers_in,
    source_handles,
)

KINDS = {"mean": ("(a) mean", MEAN), "p99": ("(b) 99th percentile", P99)}


def latency_against_throughput(
    published: pd.DataFrame, measured: pd.DataFrame, target: str
) -> Figure:
    """Draw latency against throughput for one target, with one row of panels per driver."""
    rows = rows_of(measured, target=target)
    drivers: list[str | None] = [*drivers_in(rows)] or [None]
    figure = Figure(figsize=(TWO_COLUMNS, 1.0 + 2.1 * len(drivers)))
    axes = figure.subplots(len(drivers), 2, squeeze=False, sharex=True, sharey=True)
    for driver, pair in zip(drivers, axes, strict=True):
        for axis, (kind, (title, column)) in zip(pair, KINDS.items(), strict=True):
            _published(axis, rows_of(published, target=target, latency_kind=kind))
            if driver is not None:
                _measured(axis, rows, column, driver, target)
                title = f"{title}, {DRIVERS[driver]}"
            elif len(measured):
                say(axis, "this target was not run")
            axis.set(yscale="log", title=title)
            marks(axis.yaxis, (10, 30, 100, 300, 1000, 3000, 10000, 30000))
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
    """Say how measured times are brought to the document's scale; empty if they are not scaled."""
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
    assert scale  # each driver has rows
    depths = rows.groupby("scheduler")["depth"].nunique()
    if column == P99:
        rows = rows[rows["requests"] >= FEWEST_FOR_P99]
    for scheduler in schedulers_in(rows_of(rows, driver=driver)):
        look = look_with(scheduler, driver)
        if depths[scheduler] < depths.max():  # a line would cross depths that were not measured
            look["linestyle"] = ""
        where = {"scheduler": scheduler, "driver": driver, "target": target, "time_scale": scale}
        rates = [
            one.map(partial(kiops_of, scale))
            for _, one in curve(rows, THROUGHPUT, "depth", **where)
        ]
        latencies = [
            one.map(partial(_us, scale)) for _, one in curve(rows, column, "depth", **where)
        ]
        axis.errorbar(
            [rate.value for rate in rates],
            [latency.value for latency in latencies],
            xerr=errors(rates),
            yerr=errors(latencies),
            **look,
            elinewidth=0.9,
            capsize=2,
        )


def kiops_of(scale: float, iops: float) -> float:
    """Return a rate on the document's scale of time, in thousand requests per second."""
    return iops * scale / 1000


def _us(scale: float, latency_us: float) -> float:
    return latency_us / scale
