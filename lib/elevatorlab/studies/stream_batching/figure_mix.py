"""Figures 5 and 6: the share of reads, and the size of a request."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...figures import COLOURS, GREY
from .figure_cores import OPERATIONS
from .figure_latency import on_scale
from .measures import DRIVERS, TARGETS, THROUGHPUT, curve, gains, rows_of, scale_of
from .panels import (
    NAMES,
    PUBLISHED,
    drivers_in,
    line,
    marks,
    say,
    scheduler_handles,
    source_handles,
)
from .published import KIB_BITS, LINK_GBPS, SCHEDULER

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
    handles = [Patch(color=COLOURS[name], label=NAMES[name]) for name in SCHEDULER.values()]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    figure.suptitle(f"Reads and writes mixed, 4 KiB, depth 64{on_scale(measured)}")
    return figure


def _measured_shares(axis: Axes, measured: pd.DataFrame, target: str, driver: str) -> None:
    scale = scale_of(measured)
    where = {"target": target, "driver": driver, "time_scale": scale}
    bars = {
        scheduler: pd.Series(
            {
                share: rate.value * scale / 1000
                for share, rate in curve(
                    measured, THROUGHPUT, "read_percent", **where, scheduler=scheduler
                )
            }
        )
        for scheduler in SCHEDULER.values()
    }
    axis.set_title(f"{TARGETS[target]}, {DRIVERS[driver]}, one core")
    ratios = [(share, ratio.value) for share, ratio in gains(measured, "read_percent", **where)]
    if len(ratios) < 2:
        axis.set_axis_off()
        say(axis, "was not run")
        return
    _bars(axis, bars, ratios)


def _bars(axis: Axes, bars: dict[str, pd.Series], ratios, **look) -> None:
    """Draw a pair of bars a share of reads, with the gain above it."""
    width = 9
    top = max(values.max() for values in bars.values())
    for side, (scheduler, values) in zip((-0.5, 0.5), bars.items(), strict=True):
        axis.bar(values.index + side * width, values, width, color=COLOURS[scheduler], **look)
    for share, ratio in ratios:
        axis.text(share, top * 1.04, f"{ratio:.2f}×", ha="center", va="bottom", color=GREY)
    axis.set_ylim(0, top * 1.2)
    axis.set_xlim(-13, 113)
    axis.set_xticks(sorted(set().union(*(values.index for values in bars.values()))))
    axis.grid(axis="x", visible=False)


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
            for scheduler in SCHEDULER.values():
                _measured_sizes(axis, rows, driver, scheduler, READ_PERCENT[operation])
        axis.axhline(LINK_GBPS, color=GREY, linewidth=0.8)
        axis.text(1, LINK_GBPS, "the document's link", ha="left", va="bottom", color=GREY)
        axis.set(xscale="log", yscale="log", xlabel="request size (KiB, log scale)", title=title)
        axis.set_ylim(0.8, 160)
        marks(axis.xaxis, (1, 2, 4, 8, 16, 32))
        marks(axis.yaxis, (1, 3, 10, 30, 100))
    axes[0].set_ylabel("throughput (Gb/s, log scale)")
    handles = [*scheduler_handles(SCHEDULER.values()), *source_handles(drivers_in(rows))]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle(f"RAM target, depth 64: published on 16 cores, measured on one{on_scale(rows)}")
    return figure


def _measured_sizes(
    axis: Axes, rows: pd.DataFrame, driver: str, scheduler: str, read_percent: int
) -> None:
    scale = scale_of(rows)
    where = {"target": "ram", "driver": driver, "time_scale": scale, "scheduler": scheduler}
    rates = curve(rows, THROUGHPUT, "request_kib", **where, read_percent=read_percent)
    gbps = [
        (size, rate.map(lambda iops, size=size: iops * scale * size * KIB_BITS / 1e9))
        for size, rate in rates
    ]
    line(axis, gbps, scheduler, driver)
