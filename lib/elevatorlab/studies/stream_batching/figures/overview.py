"""The study at a glance: the gain by depth, and what a request costs."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....showing.panels import marks, say
from ....showing.style import COLOURS, GREY, PUBLISHED, TWO_COLUMNS
from ...kit.cells import rows_of
from ..measures import TARGETS, gains, scale_of
from ..published import gain_by_depth
from .costs import draw_costs
from .panels import (
    LOCAL,
    compared_schedulers,
    drivers_in,
    line,
    scheduler_handles,
    source_handles,
)

DEPTHS = (1, 4, 16, 64, 256, 1024)


def overview(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw SBQ's throughput relative to noop's against depth, and the cost of a request."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.9))
    axes = figure.subplots(1, 3, width_ratios=[1, 1, 0.9])
    axes[1].sharey(axes[0])
    for axis, target in zip(axes, TARGETS, strict=False):
        _gains(axis, published, measured, target)
    axes[0].set_ylim(bottom=0)  # of both panels, once all is drawn
    axes[0].set_ylabel("throughput, SBQ / noop (ratio)")
    _costs(axes[2], measured)
    drivers = drivers_in(measured)
    handles = scheduler_handles(compared_schedulers(measured))
    handles += source_handles([*drivers, LOCAL] if len(measured) else [])
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle("SBQ holds requests back:\nwhat it gains, and where the gain comes from")
    return figure


def _gains(axis: Axes, published: pd.DataFrame, measured: pd.DataFrame, target: str) -> None:
    ratio = gain_by_depth(published, target)
    axis.plot(ratio.index, ratio, color=COLOURS["sbq"], **PUBLISHED)
    where: dict[str, Any] = {"target": target, "time_scale": scale_of(measured)}
    for driver in drivers_in(measured):
        for scheduler in compared_schedulers(measured)[1:]:
            points = gains(measured, "depth", scheduler, **where, driver=driver)
            line(axis, points, scheduler, driver)
    for scheduler in compared_schedulers(measured)[1:] if len(measured) else []:
        local = gains(measured, "depth", scheduler, **where, driver=LOCAL)
        line(axis, local, scheduler, LOCAL, linestyle="none")
    axis.axhline(1, color=GREY, linewidth=0.8)
    axis.set(xscale="log", xlabel="I/O depth (requests, log scale)", title=TARGETS[target])
    marks(axis.xaxis, DEPTHS)


def _costs(axis: Axes, measured: pd.DataFrame) -> None:
    """Draw the processor's time per request with a RAM target, by scheduler and driver."""
    drivers = drivers_in(rows_of(measured, target="ram"))
    if not drivers:
        say(axis, "was not run" if len(measured) else "not measured")
        return
    draw_costs(axis, measured, "ram", "busy_ns_per_request")
    axis.set(title="RAM target, depth 64", xlabel="processor time per request (us)")
