"""Figures 1 to 6 of the document: latencies and rates, by depth, cores, share of reads and size."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any, cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ...analysis.intervals import Interval, mean_interval
from ...plugins.schedulers import label_of
from ...showing.panels import curve as draw_curve
from ...showing.panels import errors, log_marks, marks, say
from ...showing.style import GREY, TWO_COLUMNS, look_of, look_of_published
from ..kit.cells import in_order, rows_of
from .measures import (
    DRIVERS,
    MEAN,
    P99,
    READ_PERCENT,
    TARGETS,
    THROUGHPUT,
    at,
    curve,
    gains,
    limit_kiops,
    on_cores,
    scale_of,
)
from .published import KIB_BITS, LINK_GBPS, SCHEDULER
from .trials import CORES_OF_SIZES, FEWEST_FOR_P99, SCHEDULERS

_NAMES = {"none": "noop (none)", "sbq": "SBQ"}
#: The lines of the drivers, which differ without colours, too.
LINES: dict[str, dict[str, Any]] = {
    "stock": {"linestyle": "-"},
    "one_send": {"linestyle": "-.", "linewidth": 0.8, "markersize": 3},
}


def look_with(scheduler: str, driver: str) -> dict[str, Any]:
    """Return how a scheduler is drawn: in its own look, with the driver's line."""
    return {**look_of(scheduler), **LINES[driver]}


def line(
    axis: Axes, points: Iterable[tuple[float, Interval]], scheduler: str, driver: str, **more: Any
) -> None:
    """Draw a measured curve with its confidence intervals."""
    look = look_with(scheduler, driver) | more
    draw_curve(axis, points, look.pop("color"), **look)


def scheduler_handles(schedulers: Iterable[str]) -> list[Line2D]:
    """Return legend entries that tell schedulers by colour and marker."""
    return [Line2D([], [], label=name_of(name), **look_of(name)) for name in schedulers]


def name_of(scheduler: str) -> str:
    """Return the document's name of a scheduler, or else the label in the scheduler's record."""
    return _NAMES.get(scheduler, label_of(scheduler))


def source_handles(drivers: Iterable[str]) -> list[Line2D]:
    """Return legend entries that tell published curves from measured ones, and the drivers."""
    shown = [Line2D([], [], label="published", **look_of_published("none", color=GREY))]
    for driver in drivers:
        look = {**look_with("none", driver), "color": GREY}
        shown.append(Line2D([], [], label=f"measured, {DRIVERS[driver]}", **look))
    return shown


def schedulers_in(table: pd.DataFrame) -> list[str]:
    """Return the schedulers of a table in the order in which they are shown."""
    return in_order(table, "scheduler", SCHEDULERS)


def compared_schedulers(table: pd.DataFrame) -> list[str]:
    """Return noop, SBQ, and the schedulers of a table that are not in the presets."""
    return ["none", "sbq", *(name for name in schedulers_in(table) if name not in SCHEDULERS)]


def drivers_in(table: pd.DataFrame) -> list[str]:
    """Return the drivers of a table in the order in which they are shown, without ``local``."""
    there = set(table["driver"])
    return [name for name in DRIVERS if name in there]


KINDS = {"mean": ("mean", MEAN), "p99": ("99th percentile", P99)}


def latency_against_throughput(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw latency against throughput: a row for each target, and in it a panel for each driver."""
    drivers: list[str | None] = [*drivers_in(measured)] or [None]
    figure = Figure(figsize=(TWO_COLUMNS, 4.6))
    columns = [(driver, kind) for driver in drivers for kind in KINDS]
    axes = figure.subplots(len(TARGETS), len(columns), sharex=True, sharey=True)
    for line, target in zip(axes, TARGETS, strict=True):
        rows = rows_of(measured, target=target)
        for axis, (driver, kind) in zip(line, columns, strict=True):
            title, column = KINDS[kind]
            _published(axis, rows_of(published, target=target, latency_kind=kind))
            if driver in drivers_in(rows):
                _measured(axis, rows, column, driver, target)
            elif len(measured):
                say(axis, "was not run")
            if target == next(iter(TARGETS)):
                axis.set_title(f"{title}\n{DRIVERS[driver]}" if driver else title)
        line[0].set_ylabel(f"{TARGETS[target]}\nlatency (us, log scale)")
    ends = [end for axis in axes.flat for end in axis.dataLim.intervaly if 0 < end < math.inf]
    log_marks(axes[0][0].yaxis, min(ends), max(ends))
    for axis in axes[-1]:
        axis.set_xlabel("throughput (kIOPS)")
        axis.set_xlim(left=0)
    handles = scheduler_handles(schedulers_in(measured) or SCHEDULER.values())
    handles += source_handles(drivers_in(measured))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    figure.suptitle(f"4 KiB random reads, one core{on_scale(measured)}")
    return figure


def on_scale(rows: pd.DataFrame) -> str:
    """Say how measured times are brought to the document's scale; empty if they are not scaled."""
    scale = scale_of(rows)
    return f"; measured times divided by {scale:g}" if scale and scale != 1 else ""


def _published(axis: Axes, shown: pd.DataFrame) -> None:
    for name, scheduler in SCHEDULER.items():
        some = rows_of(shown, scheduler=name).sort_values("io_depth")
        look = look_of_published(scheduler, markersize=3)
        axis.plot(some["throughput_kiops"], some["latency_us"], **look)


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


OPERATIONS = {"randread": "(a) random read", "randwrite": "(b) random write"}


def cores(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw throughput against cores, a row for each target."""
    figure = Figure(figsize=(TWO_COLUMNS, 5.0))
    grid = figure.subplots(len(TARGETS), len(OPERATIONS), sharex="row", sharey="row")
    for axes, target in zip(grid, TARGETS, strict=True):
        for axis, operation in zip(axes, OPERATIONS, strict=True):
            _by_cores(axis, published, measured, target, operation)
        for axis in axes:
            axis.set_ylim(bottom=0)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes[0].set_ylabel(f"{TARGETS[target]}\nthroughput (kIOPS)")
    for axis, title in zip(grid[0], OPERATIONS.values(), strict=True):
        axis.set_title(title)
    for axis in grid[-1]:
        axis.set_xlabel("cores")
    handles = scheduler_handles(compared_schedulers(measured))
    handles += source_handles(drivers_in(measured))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    figure.suptitle(f"4 KiB, depth 64, by cores{on_scale(measured)}")
    return figure


def _by_cores(
    axis: Axes, published: pd.DataFrame, measured: pd.DataFrame, target: str, operation: str
) -> None:
    shown = rows_of(published, target=target, operation=operation)
    shown = shown[shown["cores"].notna()]
    for name, scheduler in SCHEDULER.items():
        some = rows_of(shown, scheduler=name)
        look = look_of_published(scheduler, markersize=3)
        axis.plot(some["cores"], some["throughput_kiops"], **look)
    rows = rows_of(measured, target=target)
    for driver in drivers_in(rows):
        for scheduler in compared_schedulers(rows):
            line(axis, _kiops_by_cores(rows, operation, driver, scheduler), scheduler, driver)
    limit = limit_kiops(target, operation)
    axis.axhline(limit, color=GREY, linewidth=0.8)
    # At the end where no curve crosses the words.
    crossed_at_left = (target, operation) == ("nvme_ssd", "randwrite")
    place, side = (0.98, "right") if crossed_at_left else (0.02, "left")
    axis.annotate(
        "document's link (100 Gb/s)" if target == "ram" else "document's SSD",
        (place, limit),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        va="bottom",
        ha=side,
        color=GREY,
    )


def _kiops_by_cores(
    rows: pd.DataFrame, operation: str, driver: str, scheduler: str
) -> list[tuple[float, Interval]]:
    """Return the rate for each number of cores: the mean over repetitions, whose turns differ."""
    scale = scale_of(rows) or 1.0
    where = {"target": rows["target"].iloc[0], "driver": driver, "scheduler": scheduler}
    where |= {"time_scale": scale, "read_percent": READ_PERCENT[operation]}
    return [
        (cast(float, number), mean_interval(found * scale / 1000))
        for number, some in rows.groupby(rows["cores"].fillna(1))
        if len(found := at(some, THROUGHPUT, **where))
    ]


CORES = {"nvme_ssd": 4, "ram": 16}


def read_share(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw throughput, and SBQ's gain, by share of reads."""
    figure = Figure(figsize=(TWO_COLUMNS, 4.2))
    grid = figure.subplots(2, 2, sharex=True, sharey="row")
    for (above, below), target in zip(grid.T, TARGETS, strict=True):
        _published_shares(above, below, published, target)
        for driver in drivers_in(measured):
            _measured_shares(above, below, measured, target, driver)
        above.set_title(f"{TARGETS[target]} (published: {CORES[target]} cores)")
        below.axhline(1, color=GREY, linewidth=0.8)
        below.set_xlabel("reads (%)")
        below.set_xticks((0, 25, 50, 75, 100))
    ends = [end for axis in grid[0] for end in axis.dataLim.intervaly]
    log_marks(grid[0, 0].yaxis, min(ends), max(ends))
    grid[0, 0].set_ylabel("throughput\n(kIOPS, log scale)")
    grid[1, 0].set(ylabel="throughput,\nSBQ / noop", ylim=(0, None))
    handles = scheduler_handles(compared_schedulers(measured))
    handles += source_handles(drivers_in(measured))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    figure.suptitle(f"Reads and writes mixed, 4 KiB, depth 64{on_scale(measured)}")
    return figure


def _published_shares(above: Axes, below: Axes, published: pd.DataFrame, target: str) -> None:
    shown = rows_of(published, target=target, cores=CORES[target])
    shown = shown[shown["read_percent"].notna()]
    kiops = shown.pivot(index="read_percent", columns="scheduler", values="throughput_kiops")
    for name, scheduler in SCHEDULER.items():
        above.plot(kiops.index, kiops[name], **look_of_published(scheduler))
    below.plot(kiops.index, kiops["sbq"] / kiops["noop"], **look_of_published("sbq"))


def _measured_shares(
    above: Axes, below: Axes, measured: pd.DataFrame, target: str, driver: str
) -> None:
    rows = on_cores(rows_of(measured, target=target), CORES[target])
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
    """Draw throughput in bits against request size."""
    figure = Figure(figsize=(TWO_COLUMNS, 3.1))
    axes = figure.subplots(1, 2, sharey=True)
    rows = on_cores(rows_of(measured, target="ram"), CORES_OF_SIZES)
    for axis, (operation, title) in zip(axes, OPERATIONS.items(), strict=True):
        shown = published[(published["operation"] == operation) & published["request_kb"].notna()]
        for name, scheduler in SCHEDULER.items():
            some = rows_of(shown, scheduler=name)
            axis.plot(some["request_kb"], some["throughput_gbps"], **look_of_published(scheduler))
        for driver in drivers_in(rows):
            for scheduler in compared_schedulers(rows):
                _measured_sizes(axis, rows, driver, scheduler, READ_PERCENT[operation])
        axis.axhline(LINK_GBPS, color=GREY, linewidth=0.8)
        axis.text(1, LINK_GBPS, "the document's link", ha="left", va="bottom", color=GREY)
        axis.set(xscale="log", xlabel="request size (KiB, log scale)", title=title)
        marks(axis.xaxis, (1, 2, 4, 8, 16, 32))
    least_gbps = min(axis.dataLim.intervaly[0] for axis in axes)
    log_marks(axes[0].yaxis, least_gbps, 1.5 * LINK_GBPS)
    axes[0].set_ylabel("throughput (Gb/s, log scale)")
    handles = [*scheduler_handles(compared_schedulers(rows)), *source_handles(drivers_in(rows))]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    figure.suptitle(f"RAM target, depth 64 (published: {CORES_OF_SIZES} cores){on_scale(rows)}")
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
