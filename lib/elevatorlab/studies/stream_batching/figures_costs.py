"""Beyond the document: SBQ's gain at a glance, what a request costs, and what SBQ's knobs do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...analysis.intervals import Interval, mean_interval
from ...showing.estimates import dots
from ...showing.panels import cells, log_marks, marks, marks_from_zero, say
from ...showing.style import GREY, ONE_COLUMN, TWO_COLUMNS, look_of, look_of_published, of_threads
from ..kit.cells import rows_of
from .columns import WHERE, WORK, busy_column
from .figures_rates import (
    compared_schedulers,
    drivers_in,
    line,
    name_of,
    scheduler_handles,
    schedulers_in,
    source_handles,
)
from .measures import DRIVERS, FULL_DEPTH, MEAN, TARGETS, THROUGHPUT, at, gain, gains, scale_of
from .published import gain_by_depth

DEPTHS = (1, 4, 16, 64, 256, 1024)


#: How rows are drawn in which host and target have a core each.
A_CORE_EACH: dict[str, Any] = {"linestyle": ":", "markersize": 3}


def overview(published: pd.DataFrame, measured: pd.DataFrame, apart: pd.DataFrame) -> Figure:
    """Draw SBQ's throughput relative to noop's against depth, with the first driver.

    `apart`: Rows of the same run in which host and target have a core each. They have no link, so
    only those with a full queue are drawn.
    """
    figure = Figure(figsize=(ONE_COLUMN, 4.9))
    axes = figure.subplots(2, 1, sharex=True, sharey=True)
    full = apart[(apart["cores"] == 1) & (apart["depth"] >= apart["target"].map(FULL_DEPTH))]
    for axis, target in zip(axes, TARGETS, strict=True):
        _gains(axis, published, measured, target)
        for scheduler in compared_schedulers(full)[1:]:
            where = {"target": target, "time_scale": scale_of(full), "driver": "stock"}
            line(axis, gains(full, "depth", scheduler, **where), scheduler, "stock", **A_CORE_EACH)
    axes[0].set_ylim(bottom=0)  # of both panels, once all is drawn
    axes[1].set_xlabel("I/O depth (requests, log scale)")
    handles = scheduler_handles(compared_schedulers(measured)[1:])
    handles += source_handles(drivers_in(measured)[:1])
    if len(full):
        look = look_of("none") | A_CORE_EACH | {"color": GREY}
        handles.append(Line2D([], [], label="measured, a core each", **look))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    figure.suptitle("What SBQ gains by holding requests back")
    return figure


def _gains(axis: Axes, published: pd.DataFrame, measured: pd.DataFrame, target: str) -> None:
    ratio = gain_by_depth(published, target)
    axis.plot(ratio.index, ratio, **look_of_published("sbq"))
    where: dict[str, Any] = {"target": target, "time_scale": scale_of(measured)}
    for driver in drivers_in(measured)[:1]:
        for scheduler in compared_schedulers(measured)[1:]:
            points = gains(measured, "depth", scheduler, **where, driver=driver)
            line(axis, points, scheduler, driver)
    axis.axhline(1, color=GREY, linewidth=0.8)
    axis.set(xscale="log", ylabel="throughput, SBQ / noop", title=TARGETS[target])
    marks(axis.xaxis, DEPTHS)


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
    segments = [axis for axis, column in zip(axes[-1], COSTS, strict=True) if "_sends_" in column]
    most = max(axis.get_xlim()[1] for axis in segments)
    for axis in segments:
        marks_from_zero(axis, most, 3)
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
        return look_of(scheduler)

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
    handles.append(Line2D([], [], label="published", **look_of_published("sbq", linestyle="")))
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
        return (look_of_published if group.endswith(_PUBLISHED) else look_of)(scheduler)

    groups = list(dict.fromkeys(group for group, _ in ratios))
    dots(axis, ratios, groups, look, list(dict.fromkeys(name for _, name in ratios)))
    axis.axvline(1, color=GREY, linewidth=0.8)
    values = [1, *(one.value for one in ratios.values())]
    log_marks(axis.xaxis, min(values) / 1.1, max(values) * 1.1, "{:g}×", most=6)


SHADES = {
    ("host", "submit"): "#08519C",
    ("host", "dispatch"): "#3182BD",
    ("host", "driver"): "#6BAED6",
    ("host", "receive"): "#9ECAE1",
    ("host", "complete"): "#C6DBEF",
    ("target", "driver"): "#A63603",
    ("target", "receive"): "#E6550D",
    ("target", "complete"): "#FDBE85",
}
"""Host in blues, target in browns: the two are told apart with any colour vision."""

ROOM = 1.45
"""Factor on the width of the panels, so that the sums fit to the right of the bars."""

WORDS = {
    "submit": "fio",
    "dispatch": "block layer, dispatch",
    "driver": "NVMe/TCP",
    "receive": "network, receive",
    "complete": "block layer, end",
}


def processor_time(measured: pd.DataFrame) -> Figure:
    """Draw the processor's time per request by host, target and work, at depth 64."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.9))
    # Panels share the names of their bars, so a target that did not run would hide them.
    shown = [one for one in TARGETS if one in set(measured["target"])] or list(TARGETS)
    axes = figure.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    for axis, target in zip(axes, shown, strict=True):
        _stacks(axis, rows_of(measured, target=target))
        axis.set(title=TARGETS[target], xlabel="processor time per request (us)")
    handles = [
        Patch(color=shade, label=f"{endpoint}: {WORDS[work]}")
        for (endpoint, work), shade in SHADES.items()
        if (measured[busy_column(endpoint, work)] > 0).any()
    ]
    axes[0].invert_yaxis()
    axes[0].set_xlim(0, ROOM * axes[0].get_xlim()[1])
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle("Processor time per request at depth 64, 4 KiB reads: host + target")
    return figure


def _stacks(axis: Axes, rows: pd.DataFrame) -> None:
    bars = [
        (f"{DRIVERS[driver].removesuffix(' driver')}, {name_of(scheduler)}", means)
        for driver in drivers_in(rows)
        for scheduler in compared_schedulers(rows)
        if (means := _means(rows, driver, scheduler))
    ]
    if not bars:
        say(axis, "was not traced")
        return
    for place, (_, means) in enumerate(bars):
        left = 0.0
        for what, time_us in means.items():
            axis.barh(place, time_us, 0.7, left=left, color=SHADES[what])
            left += time_us
        host_us = sum(time_us for (endpoint, _), time_us in means.items() if endpoint == "host")
        words = f"{host_us:.1f} + {left - host_us:.1f}"
        axis.text(left, place, f" {words}", va="center", color=GREY)
    axis.set_yticks(range(len(bars)), [name for name, _ in bars])
    axis.grid(axis="y", visible=False)


def _means(rows: pd.DataFrame, driver: str, scheduler: str) -> dict[tuple[str, str], float]:
    where = {"driver": driver, "scheduler": scheduler, "time_scale": scale_of(rows)}
    found = {
        (endpoint, work): at(rows, busy_column(endpoint, work), **where).mean() / 1000
        for endpoint, works in WORK.items()
        for work in works
    }
    return {} if any(pd.isna(value) for value in found.values()) else found


_TWO_DEPTHS = (1, WHERE["depth"])


def knobs(measured: pd.DataFrame) -> Figure:
    """Draw the gain for each pair of knobs: the size of a batch, and its timeout."""
    figure = Figure(figsize=(ONE_COLUMN, 2.7))
    axis = figure.subplots()
    rows = rows_of(measured, **WHERE)
    own = rows[rows["scheduler"] == "sbq"]
    by_knobs = own.groupby(["target", "driver", "time_scale"])
    swept = [
        (where, some)
        for where, some in by_knobs
        if len(some[["batch_nr", "batch_timeout_us"]].drop_duplicates()) > 1
    ]
    if not swept:
        say(axis, "was not run")
        return figure
    (target, driver, scale), some = swept[0]
    where = {"target": target, "driver": driver, "time_scale": scale}
    noop = at(measured, "throughput_iops", scheduler="none", **where).mean()
    if pd.isna(noop):
        say(axis, "noop was not run beside it")
        return figure
    mean = some.groupby(["batch_nr", "batch_timeout_us"])[["throughput_iops", "batch_requests"]]
    table = mean.mean().unstack()
    ratio = pd.DataFrame(table["throughput_iops"] / noop)
    sizes = pd.DataFrame(table["batch_requests"])
    words = pd.DataFrame(
        {
            timeout_us: {
                batch_nr: _words(ratio.loc[batch_nr, timeout_us], sizes.loc[batch_nr, timeout_us])
                for batch_nr in ratio.index
            }
            for timeout_us in ratio.columns
        }
    )
    cells(axis, ratio, words, 2)
    axis.set_xticklabels([f"{x:g}" for x in ratio.columns])
    axis.set_yticklabels([f"{y:g}" for y in ratio.index])
    axis.set_xlabel(f"batch_timeout_us (us, here × {scale:g})")
    axis.set_ylabel("batch_nr (requests)")
    axis.set_title(f"{TARGETS[str(target)]}, {DRIVERS[str(driver)]}, depth 64")
    figure.suptitle("The knobs: throughput relative to noop")
    return figure


def _words(gained: float, size: float) -> str:
    """Return the text for a pair of knobs.

    Pairs are missing if SBQ's default knobs are not among those swept.
    """
    return "was not run" if pd.isna(gained) else f"{gained:.2f}×\n({size:.0f} a batch)"


def unscaled(measured: pd.DataFrame) -> Figure:
    """Draw the gain at depths 1 and 64, with times scaled and with times unscaled."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.5))
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    settings = {
        f"{DRIVERS[driver].removesuffix(' driver')}, times × {scale:g}": (driver, scale)
        for driver in drivers_in(measured)
        for scale in sorted(set(measured["time_scale"]))
    }
    for axis, target in zip(axes, TARGETS, strict=True):
        gained = {
            (label, depth): found
            for label, (driver, scale) in settings.items()
            for depth in _TWO_DEPTHS
            if (
                found := gain(measured, target=target, driver=driver, time_scale=scale, depth=depth)
            )
        }
        dots(axis, gained, list(settings), _look, _TWO_DEPTHS)
        axis.axvline(1, color=GREY, linewidth=0.8)
        axis.set(title=TARGETS[target], xlabel="throughput, SBQ / noop", xlim=(0, None))
    handles = [
        Line2D([], [], linestyle="", label=f"depth {depth}", **_look("", depth))
        for depth in _TWO_DEPTHS
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle("The gain with scaled and with unscaled times")
    return figure


def _look(_: str, depth: int) -> dict[str, Any]:
    return of_threads(look_of("sbq"), many=depth != _TWO_DEPTHS[0])
