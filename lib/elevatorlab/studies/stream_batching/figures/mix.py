"""Figures 5 and 6: the share of reads, and the size of a request."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....showing.panels import marks
from ....showing.style import COLOURS, GREY, PUBLISHED, TWO_COLUMNS
from ...kit.cells import rows_of
from ..measures import TARGETS, THROUGHPUT, curve, gains, scale_of
from ..published import KIB_BITS, LINK_GBPS, SCHEDULER
from .cores import OPERATIONS
from .latency import kiops_of, on_scale
from .panels import (
    compared_schedulers,
    drivers_in,
    line,
    scheduler_handles,
    source_handles,
)

CORES = {"nvme_ssd": 4, "ram": 16}
READ_PERCENT = {"randread": 100, "randwrite": 0}


def read_share(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw throughput, and SBQ's gain, by share of reads: published, and measured on one core."""
    figure = Figure(figsize=(TWO_COLUMNS, 4.2))
    grid = figure.subplots(2, 2, sharex=True, sharey="row")
    for (above, below), target in zip(grid.T, TARGETS, strict=True):
        _published_shares(above, below, published, target)
        for driver in drivers_in(measured):
            _measured_shares(above, below, measured, target, driver)
        above.set(title=f"{TARGETS[target]} (published: {CORES[target]} cores)", yscale="log")
        marks(above.yaxis, (100, 200, 500, 1000, 2000))
        below.axhline(1, color=GREY, linewidth=0.8)
        below.set_xlabel("reads (%)")
        below.set_xticks((0, 25, 50, 75, 100))
    grid[0, 0].set_ylabel("throughput\n(kIOPS, log scale)")
    grid[1, 0].set(ylabel="throughput,\nSBQ / noop", ylim=(0, None))
    handles = scheduler_handles(compared_schedulers(measured))
    handles += source_handles(drivers_in(measured))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle(f"Reads and writes mixed, 4 KiB, depth 64{on_scale(measured)}")
    return figure


def _published_shares(above: Axes, below: Axes, published: pd.DataFrame, target: str) -> None:
    shown = rows_of(published, target=target, cores=CORES[target])
    shown = shown[shown["read_percent"].notna()]
    kiops = shown.pivot(index="read_percent", columns="scheduler", values="throughput_kiops")
    for name, scheduler in SCHEDULER.items():
        above.plot(kiops.index, kiops[name], color=COLOURS[scheduler], **PUBLISHED)
    below.plot(kiops.index, kiops["sbq"] / kiops["noop"], color=COLOURS["sbq"], **PUBLISHED)


def _measured_shares(
    above: Axes, below: Axes, measured: pd.DataFrame, target: str, driver: str
) -> None:
    rows = rows_of(measured, target=target)
    scale = scale_of(rows)
    if scale is None:
        return
    where: dict[str, Any] = {"target": target, "driver": driver, "time_scale": scale}
    for scheduler in compared_schedulers(rows):
        rates = curve(rows, THROUGHPUT, "read_percent", **where, scheduler=scheduler)
        kiops = [(share, rate.map(partial(kiops_of, scale))) for share, rate in rates]
        line(above, kiops, scheduler, driver)
        if scheduler != "none":
            line(below, gains(rows, "read_percent", scheduler, **where), scheduler, driver)


def request_size(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw throughput in bits against request size: published on 16 cores, measured on one."""
    figure = Figure(figsize=(TWO_COLUMNS, 3.1))
    axes = figure.subplots(1, 2, sharey=True)
    rows = rows_of(measured, target="ram")
    for axis, (operation, title) in zip(axes, OPERATIONS.items(), strict=True):
        shown = published[(published["operation"] == operation) & published["request_kb"].notna()]
        for name, scheduler in SCHEDULER.items():
            some = rows_of(shown, scheduler=name)
            axis.plot(
                some["request_kb"], some["throughput_gbps"], color=COLOURS[scheduler], **PUBLISHED
            )
        for driver in drivers_in(rows):
            for scheduler in compared_schedulers(rows):
                _measured_sizes(axis, rows, driver, scheduler, READ_PERCENT[operation])
        axis.axhline(LINK_GBPS, color=GREY, linewidth=0.8)
        axis.text(1, LINK_GBPS, "the document's link", ha="left", va="bottom", color=GREY)
        axis.set(xscale="log", yscale="log", xlabel="request size (KiB, log scale)", title=title)
        axis.set_ylim(0.8, 160)
        marks(axis.xaxis, (1, 2, 4, 8, 16, 32))
        marks(axis.yaxis, (1, 3, 10, 30, 100))
    axes[0].set_ylabel("throughput (Gb/s, log scale)")
    handles = [*scheduler_handles(compared_schedulers(rows)), *source_handles(drivers_in(rows))]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle(f"RAM target, depth 64: published on 16 cores, measured on one{on_scale(rows)}")
    return figure


def _measured_sizes(
    axis: Axes, rows: pd.DataFrame, driver: str, scheduler: str, read_percent: int
) -> None:
    scale = scale_of(rows)
    where = {"target": "ram", "driver": driver, "time_scale": scale, "scheduler": scheduler}
    rates = curve(rows, THROUGHPUT, "request_kib", **where, read_percent=read_percent)
    gbps = [(size, rate.map(partial(_gbps, scale or 1.0, size))) for size, rate in rates]
    line(axis, gbps, scheduler, driver)


def _gbps(scale: float, size_kib: float, iops: float) -> float:
    return iops * scale * size_kib * KIB_BITS / 1e9
