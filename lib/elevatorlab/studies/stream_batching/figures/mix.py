"""Figures 5 and 6: the share of reads, and the size of a request."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....analysis.intervals import Interval
from ....showing.bars import grouped_bars, tallest
from ....showing.panels import marks, say
from ....showing.style import COLOURS, GREY
from ...kit.cells import rows_of
from ..measures import DRIVERS, TARGETS, THROUGHPUT, curve, gains, scale_of
from ..published import KIB_BITS, LINK_GBPS, SCHEDULER
from .cores import OPERATIONS
from .latency import on_scale
from .panels import (
    PUBLISHED,
    compared_schedulers,
    drivers_in,
    line,
    scheduler_handles,
    scheduler_patches,
    source_handles,
)

CORES = {"nvme_ssd": 4, "ram": 16}
READ_PERCENT = {"randread": 100, "randwrite": 0}


def read_share(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw throughput by share of reads: as published, and measured on one core."""
    drivers = drivers_in(measured)
    lines = 1 + len(drivers)
    figure = Figure(figsize=(8, 1.1 + 2.3 * lines))
    axes = figure.subplots(lines, 2, squeeze=False)
    for column, target in enumerate(TARGETS):
        shown = published[(published["target"] == target) & published["read_percent"].notna()]
        shown = shown[shown["cores"] == CORES[target]]
        bars = {
            scheduler: rows_of(shown, scheduler=name).set_index("read_percent")["throughput_kiops"]
            for name, scheduler in SCHEDULER.items()
        }
        axis = axes[0][column]
        axis.set_title(f"{TARGETS[target]}, published, {CORES[target]} cores")
        _bars(axis, bars, (bars["sbq"] / bars["none"]).items(), alpha=0.5)
        for driver, row in zip(drivers, axes[1:], strict=True):
            _measured_shares(row[column], measured, target, driver)
    for row in axes:
        row[0].set_ylabel("kIOPS")
    for axis in axes[-1]:
        axis.set_xlabel("reads (%)")
    handles = scheduler_patches(compared_schedulers(measured))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle(f"Reads and writes mixed, 4 KiB, depth 64{on_scale(measured)}")
    return figure


def _measured_shares(axis: Axes, measured: pd.DataFrame, target: str, driver: str) -> None:
    scale = scale_of(measured)
    where: dict[str, Any] = {"target": target, "driver": driver, "time_scale": scale}
    bars = {
        scheduler: pd.Series(
            {
                share: rate.value * (scale or 1.0) / 1000
                for share, rate in curve(
                    measured, THROUGHPUT, "read_percent", **where, scheduler=scheduler
                )
            }
        )
        for scheduler in compared_schedulers(measured)
    }
    axis.set_title(f"{TARGETS[target]}, {DRIVERS[driver]}, one core")
    ratios = [(share, ratio.value) for share, ratio in gains(measured, "read_percent", **where)]
    if len(ratios) < 2:
        say(axis, "was not run")
        return
    _bars(axis, bars, ratios)


def _bars(
    axis: Axes,
    bars: dict[str, pd.Series[float]],
    ratios: Iterable[tuple[Any, float]],
    alpha: float = 1,
) -> None:
    """Draw a group of bars for each share of reads, with SBQ's gain above it."""
    shares = sorted(set().union(*(values.index for values in bars.values())))
    heights = {
        (f"{share:g}", scheduler): Interval(kiops, math.nan, math.nan, 1)
        for scheduler, values in bars.items()
        for share, kiops in values.items()
    }

    def look(_: str, scheduler: str) -> dict[str, Any]:
        return {"facecolor": COLOURS[scheduler], "alpha": alpha}

    grouped_bars(axis, heights, [f"{share:g}" for share in shares], look, list(bars))
    top = tallest(axis)
    for share, ratio in ratios:
        words, place = f"{ratio:.2f}×", shares.index(share)
        axis.text(place, top * 1.04, words, ha="center", va="bottom", color=GREY)
    axis.set_ylim(0, top * 1.2)


def request_size(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw throughput in bits against request size: published on 16 cores, measured on one."""
    figure = Figure(figsize=(8, 3.8))
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
