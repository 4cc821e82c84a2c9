"""Beyond the document: the cost of a request, which explains SBQ's gain, and SBQ's price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....analysis.intervals import Interval, mean_interval
from ....showing.dots import dots
from ....showing.panels import marks, say
from ....showing.style import GREY, TWO_COLUMNS, look_of
from ...kit.cells import rows_of
from ..columns import WHERE
from ..measures import DRIVERS, MEAN, TARGETS, THROUGHPUT, at, gain, scale_of
from .panels import (
    compared_schedulers,
    drivers_in,
    look_with,
    name_of,
    scheduler_handles,
    schedulers_in,
)

COSTS = {
    "busy_ns_per_request": "processor time (us)",
    "host_sends_per_request": "TCP segments, host",
    "target_sends_per_request": "TCP segments, target",
    "switches_per_request": "context switches",
}


def explanation(measured: pd.DataFrame) -> Figure:
    """Draw what a request costs at depth 64, by target, driver and scheduler."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.9))
    axes = figure.subplots(2, len(COSTS), sharex="col", sharey=True)
    for row, target in zip(axes, TARGETS, strict=True):
        for axis, column in zip(row, COSTS, strict=True):
            draw_costs(axis, measured, target, column)
        row[0].set_ylabel(TARGETS[target])
    for axis, name in zip(axes[-1], COSTS.values(), strict=True):
        axis.set_xlabel(f"{name}\nper request")
    handles = scheduler_handles(compared_schedulers(measured))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle("What a request costs at depth 64, 4 KiB random reads")
    return figure


def draw_costs(axis: Axes, measured: pd.DataFrame, target: str, column: str) -> None:
    """Draw one kind of cost (of `COSTS`), a line of dots for each driver."""
    unit = 1000 if column == "busy_ns_per_request" else 1
    rows = rows_of(measured, target=target)
    costs = {}
    for driver in drivers_in(rows):
        for scheduler in compared_schedulers(measured):
            where = {"driver": driver, "time_scale": scale_of(rows), "scheduler": scheduler}
            values = at(rows, column, target=target, **where)
            if len(values) and values.notna().all():
                costs[driver, scheduler] = mean_interval(values / unit)

    def look(driver: str, scheduler: str) -> dict[str, Any]:
        return look_with(scheduler, driver)

    drivers = drivers_in(measured)
    dots(axis, costs, drivers, look, compared_schedulers(measured))
    axis.set_xlim(0, max([axis.get_xlim()[1], *(1.1 * _end(cost) for cost in costs.values())]))
    names = [DRIVERS[driver].removesuffix(" driver") for driver in drivers]
    axis.set_yticks(range(len(drivers)), names)


def _end(cost: Interval) -> float:
    return cost.high if cost.bounded else cost.value


def price(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw what SBQ costs: latency at depth 1, and throughput without a network."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.9))
    axes = figure.subplots(1, 2)
    _relative(axes[0], _latency(published, measured))
    _relative(axes[1], _local(measured))
    axes[0].set_xlabel("mean latency at depth 1,\nrelative to noop (log scale)")
    axes[1].set_xlabel("throughput without a network,\nrelative to noop (log scale)")
    others = [name for name in schedulers_in(measured) if name != "none"]
    handles = [
        Line2D([], [], linestyle="", label=name_of(name), **look_of(name)) for name in others
    ]
    handles.append(
        Line2D([], [], **{**look_of("sbq"), "markerfacecolor": "white"}, ls="", label="published")
    )
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle("SBQ holds requests back: what it costs")
    return figure


_PUBLISHED = ", published"


def _latency(published: pd.DataFrame, measured: pd.DataFrame) -> dict[tuple[str, str], Interval]:
    found = {}
    for target, name in TARGETS.items():
        shown = rows_of(published, target=target, latency_kind="mean", io_depth=1)
        latency = shown.set_index("scheduler")["latency_us"]
        ratio = pd.Series([latency["sbq"] / latency["noop"]])
        found[_short(name) + _PUBLISHED, "sbq"] = mean_interval(ratio)
        for scale in sorted(set(measured["time_scale"])):
            where = {"target": target, "driver": "stock", "time_scale": scale, "depth": 1}
            for scheduler, measured_ratio in _to_noop(measured, MEAN, where).items():
                found[f"{_short(name)}, times × {scale:g}", scheduler] = measured_ratio
    return found


def _local(measured: pd.DataFrame) -> dict[tuple[str, str], Interval]:
    found = {}
    for target, name in TARGETS.items():
        for depth in (1, WHERE["depth"]):
            where = {"target": target, "driver": "local", "depth": depth}
            where["time_scale"] = scale_of(measured)
            for scheduler, ratio in _to_noop(measured, THROUGHPUT, where).items():
                found[f"{_short(name)}, depth {depth}", scheduler] = ratio
    return found


def _short(target: str) -> str:
    return target.replace(" block device", "")


def _to_noop(measured: pd.DataFrame, column: str, where: dict[str, Any]) -> dict[str, Interval]:
    """Return a quantity relative to noop's, for each scheduler except noop."""
    others = [name for name in schedulers_in(measured) if name != "none"]
    found = {name: gain(measured, column, name, **where) for name in others}
    return {name: ratio for name, ratio in found.items() if ratio}


def _relative(axis: Axes, ratios: Mapping[tuple[str, str], Interval]) -> None:
    """Draw ratios in groups, and a line at 1."""
    if not ratios:
        say(axis, "was not run")
        return

    def look(group: str, scheduler: str) -> dict[str, Any]:
        own = look_of(scheduler)
        return {**own, "markerfacecolor": "white"} if group.endswith(_PUBLISHED) else own

    groups = list(dict.fromkeys(group for group, _ in ratios))
    dots(axis, ratios, groups, look, list(dict.fromkeys(name for _, name in ratios)))
    axis.axvline(1, color=GREY, linewidth=0.8)
    axis.set_xscale("log")
    values = [1, *(one.value for one in ratios.values())]
    marks(axis.xaxis, (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10), "{:g}×")
    axis.set_xlim(min(values) / 1.5, max(values) * 1.5)
