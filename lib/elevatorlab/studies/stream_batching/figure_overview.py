"""The study at a glance: the gain by depth, and what a request costs."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...figures import COLOURS, GREY
from .measures import DRIVERS, TARGETS, curve, gain, gains, rows_of, scale_of
from .panels import NAMES, PUBLISHED, drivers_in, line, marks, say, source_handles
from .published import gain_by_depth

DEPTHS = (1, 4, 16, 64, 256, 1024)


def overview(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw SBQ's throughput relative to noop's against depth, and the cost of a request."""
    figure = Figure(figsize=(9, 3.4))
    axes = figure.subplots(1, 3, width_ratios=[1, 1, 0.9])
    for axis, target in zip(axes, TARGETS, strict=False):
        _gains(axis, published, measured, target)
    axes[0].set_ylabel("throughput, SBQ / noop")
    _costs(axes[2], measured)
    drivers = drivers_in(measured)
    handles = source_handles([*drivers, "local"] if len(measured) else [])
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.suptitle("Stream Batch Queuing: what holding requests back gains and costs")
    return figure


def _gains(axis: Axes, published: pd.DataFrame, measured: pd.DataFrame, target: str) -> None:
    ratio = gain_by_depth(published, target)
    axis.plot(ratio.index, ratio, color=COLOURS["sbq"], **PUBLISHED)
    where = {"target": target, "time_scale": scale_of(measured)}
    for driver in drivers_in(measured):
        line(axis, gains(measured, "depth", **where, driver=driver), "sbq", driver)
    local = gains(measured, "depth", **where, driver="local") if len(measured) else []
    line(axis, local, "sbq", "local", color=GREY, linestyle="none", markeredgewidth=1.5)
    axis.axhline(1, color=GREY, linewidth=0.8)
    axis.set(xscale="log", xlabel="I/O depth (log scale)", title=TARGETS[target], ylim=(0, None))
    marks(axis.xaxis, DEPTHS)


def _costs(axis: Axes, measured: pd.DataFrame) -> None:
    """Show the processor's time for a request, by scheduler and driver, RAM target."""
    axis.set_title("RAM target, depth 64")
    drivers = drivers_in(rows_of(measured, target="ram"))
    if not drivers:
        axis.set_axis_off()
        say(axis, "was not run" if len(measured) else "not measured")
        return
    where = {"target": "ram", "time_scale": scale_of(measured)}
    for place, driver in enumerate(drivers):
        for side, scheduler in ((-0.2, "none"), (0.2, "sbq")):
            found = curve(
                measured,
                "busy_ns_per_request",
                "depth",
                **where,
                driver=driver,
                scheduler=scheduler,
                depth=64,
            )
            if found:
                cost_us = found[0][1].value / 1000
                axis.bar(place + side, cost_us, 0.36, color=COLOURS[scheduler])
                axis.text(place + side, cost_us, f"{cost_us:.0f}", ha="center", va="bottom")
        ratio = gain(measured, **where, driver=driver)
        name = DRIVERS[driver].replace(" driver", "")
        axis.text(
            place,
            -0.13,
            f"{name}\n{ratio.value:.2f}×" if ratio else name,
            transform=axis.get_xaxis_transform(),
            ha="center",
            va="center",
        )
    axis.set_xticks([])
    axis.grid(axis="x", visible=False)
    axis.set_ylabel("processor time a request (us)")
    axis.margins(y=0.32)
    for place, scheduler in enumerate(("none", "sbq")):
        axis.text(
            0.98,
            0.98 - 0.08 * place,
            NAMES[scheduler],
            color=COLOURS[scheduler],
            transform=axis.transAxes,
            ha="right",
            va="top",
            fontweight="bold",
        )
