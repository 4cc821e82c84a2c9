"""Beyond the document: what explains the gain, its price, the knobs, and times left unscaled."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...figures import COLOURS, GREY
from .measures import DRIVERS, MEAN, TARGETS, at, gain, ratio_of, rows_of, scale_of
from .panels import NAMES, drivers_in, say, schedulers_in
from .rows import WHERE

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
            _costs(axis, measured, target, column)
            axis.set_title(name)
        row[0].set_ylabel(f"{TARGETS[target]}\na request")
    _scheduler_legend(figure, ("none", "sbq"))
    figure.suptitle("Why it gains: what a request costs at depth 64, 4 KiB random reads")
    return figure


def _costs(axis: Axes, measured: pd.DataFrame, target: str, column: str) -> None:
    unit = 1000 if column == "busy_ns_per_request" else 1
    rows = rows_of(measured, target=target)
    drivers = drivers_in(rows)
    for place, driver in enumerate(drivers):
        for side, scheduler in ((-0.2, "none"), (0.2, "sbq")):
            where = {"driver": driver, "time_scale": scale_of(rows), "scheduler": scheduler}
            values = at(rows, column, target=target, **where)
            if values.empty or values.isna().any():
                continue
            value = values.mean() / unit
            axis.bar(place + side, value, 0.36, color=COLOURS[scheduler])
            axis.text(place + side, value, _short(value), ha="center", va="bottom", fontsize=8)
    axis.set_xticks(range(len(drivers)), [DRIVERS[one].removesuffix(" driver") for one in drivers])
    axis.grid(axis="x", visible=False)
    axis.margins(y=0.15)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2f}"


def _scheduler_legend(figure: Figure, schedulers) -> None:
    handles = [Patch(color=COLOURS[name], label=NAMES[name]) for name in schedulers]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def price(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw what SBQ costs: latency at depth 1, and throughput without a network."""
    figure = Figure(figsize=(8, 3.6))
    axes = figure.subplots(1, 2)
    axes[0].set_title("latency at depth 1, relative to noop")
    axes[1].set_title("throughput without a network,\nrelative to noop")
    _latency_price(axes[0], published, measured)
    _local(axes[1], measured)
    _scheduler_legend(figure, [name for name in schedulers_in(measured) if name != "none"])
    figure.suptitle("What it costs")
    return figure


def _latency_price(axis: Axes, published: pd.DataFrame, measured: pd.DataFrame) -> None:
    groups = []
    for target, name in TARGETS.items():
        shown = rows_of(published, target=target, latency_kind="mean", io_depth=1)
        shown = shown.set_index("scheduler")["latency_us"]
        short = name.replace(" block device", "")
        groups.append((f"{short}\npublished", {"sbq": shown["sbq"] / shown["noop"]}, 0.5))
        for scale in sorted(set(measured["time_scale"])):
            where = {"target": target, "driver": "stock", "time_scale": scale, "depth": 1}
            noop = at(measured, MEAN, scheduler="none", **where)
            ratios = {
                scheduler: ratio.value
                for scheduler in schedulers_in(measured)
                if scheduler != "none"
                and (ratio := ratio_of(at(measured, MEAN, scheduler=scheduler, **where), noop))
            }
            groups.append((f"{short}\ntimes × {scale:g}", ratios, 1))
    _grouped(axis, groups)


def _local(axis: Axes, measured: pd.DataFrame) -> None:
    groups = []
    for target, name in TARGETS.items():
        for depth in (1, WHERE["depth"]):
            where = {"target": target, "driver": "local", "depth": depth}
            ratio = gain(measured, **where, time_scale=scale_of(measured))
            if ratio:
                label = f"{name.replace(' block device', '')}\ndepth {depth}"
                groups.append((label, {"sbq": ratio.value}, 1))
    if not groups:
        axis.set_axis_off()
        say(axis, "was not run")
        return
    _grouped(axis, groups)


def _grouped(axis: Axes, groups: list[tuple[str, dict[str, float], float]]) -> None:
    """Draw bars in groups, each with its value above, and a line at 1."""
    for place, (_, ratios, alpha) in enumerate(groups):
        width = 0.8 / max(1, len(ratios))
        for number, (scheduler, ratio) in enumerate(ratios.items()):
            x = place - 0.4 + width * (number + 0.5)
            axis.bar(x, ratio, width * 0.92, color=COLOURS[scheduler], alpha=alpha)
            axis.text(x, ratio, f"{ratio:.2g}", ha="center", va="bottom", fontsize=7)
    axis.axhline(1, color=GREY, linewidth=0.8)
    axis.set_xticks(range(len(groups)), [label for label, _, _ in groups], fontsize=7)
    axis.grid(axis="x", visible=False)
    axis.margins(y=0.12)


def knobs(measured: pd.DataFrame) -> Figure:
    """Draw the gain for each pair of knobs: requests a batch, and time to wait for them."""
    figure = Figure(figsize=(5.5, 3.8))
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
        axis.set_axis_off()
        say(axis, "was not run")
        return figure
    (target, driver, scale), some = swept[0]
    where = {"target": target, "driver": driver, "time_scale": scale}
    noop = at(measured, "throughput_iops", scheduler="none", **where).mean()
    if pd.isna(noop):
        axis.set_axis_off()
        say(axis, "noop was not run beside it")
        return figure
    mean = some.groupby(["batch_nr", "batch_timeout_us"])[["throughput_iops", "batch_requests"]]
    table = mean.mean().unstack()
    ratio = table["throughput_iops"] / noop
    axis.imshow(ratio, cmap="PuOr_r", vmin=0, vmax=2, aspect="auto")
    for y, batch_nr in enumerate(ratio.index):
        for x, timeout_us in enumerate(ratio.columns):
            gained = ratio.loc[batch_nr, timeout_us]
            size = table["batch_requests"].loc[batch_nr, timeout_us]
            ran = not pd.isna(gained)  # SBQ's own pair may be none of those swept
            words = f"{gained:.2f}×\n({size:.0f} a batch)" if ran else "was not run"
            axis.text(x, y, words, ha="center", va="center", fontsize=8)
    axis.set_xticks(range(len(ratio.columns)), [f"{x:g}" for x in ratio.columns])
    axis.set_yticks(range(len(ratio.index)), [f"{y:g}" for y in ratio.index])
    axis.grid(visible=False)
    axis.set_xlabel(f"batch_timeout_us (here × {scale:g})")
    axis.set_ylabel("batch_nr")
    axis.set_title(f"{TARGETS[target]}, {DRIVERS[driver]}, depth 64", fontsize=9)
    figure.suptitle("The knobs: throughput relative to noop")
    return figure


def unscaled(measured: pd.DataFrame) -> Figure:
    """Draw the gain at depths 1 and 64 with all times as they are, beside the scaled ones."""
    figure = Figure(figsize=(8, 3.2))
    axes = figure.subplots(1, 2, sharey=True)
    for axis, target in zip(axes, TARGETS, strict=True):
        labels, place = [], 0
        for driver in drivers_in(measured):
            for scale in sorted(set(measured["time_scale"])):
                where = {"target": target, "driver": driver, "time_scale": scale}
                ratios = dict(_both_ends(measured, where))
                if not ratios:
                    continue
                for side, (depth, value) in enumerate(ratios.items()):
                    x = place + 0.4 * side - 0.2
                    axis.bar(x, value, 0.36, color=COLOURS["sbq"], alpha=0.45 if side == 0 else 1)
                    words = f"{value:.2f}\n(d. {depth})"
                    axis.text(x, value, words, ha="center", va="bottom", fontsize=7)
                labels.append(f"{DRIVERS[driver].removesuffix(' driver')}\ntimes × {scale:g}")
                place += 1
        axis.axhline(1, color=GREY, linewidth=0.8)
        axis.set_xticks(range(place), labels, fontsize=8)
        axis.grid(axis="x", visible=False)
        axis.margins(y=0.2)
        axis.set_title(TARGETS[target])
    axes[0].set_ylabel("throughput, SBQ / noop")
    figure.suptitle("The scale of time: SBQ / noop at depths 1 (light) and 64")
    return figure


def _both_ends(measured: pd.DataFrame, where: dict):
    for depth in (1, WHERE["depth"]):
        if ratio := gain(measured, **where, depth=depth):
            yield depth, ratio.value
