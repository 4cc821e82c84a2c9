"""Beyond the document: what a request costs, which explains the gain, and the price of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....analysis.intervals import Interval
from ....showing.bars import grouped_bars
from ....showing.panels import say
from ....showing.style import COLOURS, GREY
from ...kit.cells import rows_of
from ..columns import WHERE
from ..measures import DRIVERS, MEAN, TARGETS, THROUGHPUT, at, gain, scale_of
from .panels import compared_schedulers, drivers_in, scheduler_patches, schedulers_in

COSTS = {
    "busy_ns_per_request": "processor time (us)",
    "host_sends_per_request": "TCP segments, host",
    "target_sends_per_request": "TCP segments, target",
    "switches_per_request": "context switches",
}


def explanation(measured: pd.DataFrame) -> Figure:
    """Draw what a request costs at depth 64, by target, driver and scheduler."""
    figure = Figure(figsize=(9.5, 5))
    axes = figure.subplots(2, len(COSTS), sharex=True)
    for row, target in zip(axes, TARGETS, strict=True):
        for axis, (column, name) in zip(row, COSTS.items(), strict=True):
            draw_costs(axis, measured, target, column)
            axis.set_title(name)
        row[0].set_ylabel(f"{TARGETS[target]}\na request")
    handles = scheduler_patches(compared_schedulers(measured))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle("Why it gains: what a request costs at depth 64, 4 KiB random reads")
    return figure


def draw_costs(axis: Axes, measured: pd.DataFrame, target: str, column: str) -> None:
    """Draw one kind of cost (of `COSTS`), a group of bars for each driver."""
    unit = 1000 if column == "busy_ns_per_request" else 1
    rows = rows_of(measured, target=target)
    names = {driver: DRIVERS[driver].removesuffix(" driver") for driver in drivers_in(rows)}
    heights = {}
    for driver, name in names.items():
        for scheduler in compared_schedulers(measured):
            where = {"driver": driver, "time_scale": scale_of(rows), "scheduler": scheduler}
            values = at(rows, column, target=target, **where)
            if len(values) and values.notna().all():
                heights[name, scheduler] = _alone(values.mean() / unit)
    grouped_bars(
        axis,
        heights,
        list(names.values()),
        lambda _, scheduler: {"facecolor": COLOURS[scheduler]},
        compared_schedulers(measured),
        write=lambda value: f"{value:.0f}" if value >= 10 else f"{value:.2f}",
    )
    axis.margins(y=0.15)


def _alone(value: float) -> Interval:
    """Return a value that is drawn without an interval."""
    return Interval(value, math.nan, math.nan, 1)


def price(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw what SBQ costs: latency at depth 1, and throughput without a network."""
    figure = Figure(figsize=(8, 3.6))
    axes = figure.subplots(1, 2)
    axes[0].set_title("latency at depth 1, relative to noop")
    axes[1].set_title("throughput without a network,\nrelative to noop")
    _latency_price(axes[0], published, measured)
    _local(axes[1], measured)
    others = [name for name in schedulers_in(measured) if name != "none"]
    figure.legend(
        handles=scheduler_patches(others), loc="outside lower center", ncols=max(1, len(others))
    )
    figure.suptitle("What it costs")
    return figure


def _latency_price(axis: Axes, published: pd.DataFrame, measured: pd.DataFrame) -> None:
    groups = []
    for target, name in TARGETS.items():
        shown = rows_of(published, target=target, latency_kind="mean", io_depth=1)
        latency = shown.set_index("scheduler")["latency_us"]
        short = name.replace(" block device", "")
        groups.append(
            (f"{short}\npublished", {"sbq": _alone(float(latency["sbq"] / latency["noop"]))}, 0.5)
        )
        for scale in sorted(set(measured["time_scale"])):
            where = {"target": target, "driver": "stock", "time_scale": scale, "depth": 1}
            ratios = _to_noop(measured, MEAN, where)
            groups.append((f"{short}\ntimes × {scale:g}", ratios, 1))
    _grouped(axis, groups)


def _local(axis: Axes, measured: pd.DataFrame) -> None:
    groups = []
    for target, name in TARGETS.items():
        for depth in (1, WHERE["depth"]):
            where = {"target": target, "driver": "local", "depth": depth}
            where["time_scale"] = scale_of(measured)
            ratios = _to_noop(measured, THROUGHPUT, where)
            if ratios:
                label = f"{name.replace(' block device', '')}\ndepth {depth}"
                groups.append((label, ratios, 1))
    if not groups:
        say(axis, "was not run")
        return
    _grouped(axis, groups)


def _to_noop(measured: pd.DataFrame, column: str, where: dict[str, Any]) -> dict[str, Interval]:
    """Return each other scheduler's quantity relative to noop's."""
    others = [name for name in schedulers_in(measured) if name != "none"]
    found = {name: gain(measured, column, name, **where) for name in others}
    return {name: ratio for name, ratio in found.items() if ratio}


def _grouped(axis: Axes, groups: Sequence[tuple[str, dict[str, Interval], float]]) -> None:
    """Draw bars in groups, each with its value above, and a line at 1."""
    lightness = {label: alpha for label, _, alpha in groups}
    heights = {
        (label, scheduler): _alone(ratio.value)
        for label, ratios, _ in groups
        for scheduler, ratio in ratios.items()
    }

    def look(label: str, scheduler: str) -> dict[str, Any]:
        return {"facecolor": COLOURS[scheduler], "alpha": lightness[label]}

    members = list(dict.fromkeys(scheduler for _, scheduler in heights))
    grouped_bars(axis, heights, list(lightness), look, members, write=lambda value: f"{value:.2g}")
    axis.axhline(1, color=GREY, linewidth=0.8)
    axis.tick_params(axis="x", labelsize=7)
    axis.margins(y=0.12)
