"""Beyond the paper: each mechanism in all its settings, and the front of the best ones."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....showing.panels import marks
from ....showing.style import GREY, TWO_COLUMNS
from ...kit.cells import in_order, mean_of
from ..measures.frontier import CELL, cells_of, front, points
from ..measures.mechanisms import FRONTIER_LABELS, FRONTIER_LOADS
from .colours import FRONTIER_COLOURS, marker_of

MOST_COLUMNS = 3
WIDEST = 1.5
"""Settings with a wait above this multiple of the SLA are not drawn: the best lie near the SLA."""
SHOWN_APART = "alone"
"""The mechanism that is not drawn: without offenders, there is no rate to show."""


def frontier(measured: pd.DataFrame) -> Figure:
    """Draw, for each load, the offenders' rate against the normal containers' longest wait."""
    found = points(measured)
    sla_ms = measured["sla_wait_ms"].dropna().iloc[0]
    near = found["wait_ms"] <= WIDEST * sla_ms
    found = found[near & (found["mechanism"] != SHOWN_APART)]
    loads = [load for load in FRONTIER_LOADS if load in set(found["load"])]
    columns = min(len(loads), MOST_COLUMNS)
    lines = math.ceil(len(loads) / columns)
    figure = Figure(figsize=(TWO_COLUMNS, 1.5 + 2.3 * lines))
    grid = figure.subplots(lines, columns, sharex=True, squeeze=False).ravel()
    for place, (axis, load) in enumerate(zip(grid, loads, strict=False)):
        _panel(axis, found[found["load"] == load])
        axis.axvline(sla_ms, color=GREY, linestyle=":", linewidth=1)
        axis.set_title(FRONTIER_LOADS[load])
        if place + columns >= len(loads):  # the lowest panel of its column
            axis.tick_params(labelbottom=True)
            axis.set_xlabel("longest wait, normal (ms, log)")
    for axis in grid[len(loads) :]:
        axis.set_axis_off()
    figure.supylabel("offenders (MB/s)", fontsize=8)
    figure.suptitle("What each mechanism can reach")
    figure.legend(handles=_handles(found), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _handles(found: pd.DataFrame) -> list[Line2D]:
    """Return the legend: each mechanism, the two kinds of dot, and the SLA."""
    handles = [
        Line2D(
            [],
            [],
            color=FRONTIER_COLOURS[name],
            marker=marker_of(name),
            label=FRONTIER_LABELS[name],
        )
        for name in in_order(found, "mechanism", FRONTIER_LABELS)
    ]
    for fill, label in ((GREY, "no second missed"), ("white", "some missed")):
        dot = Line2D([], [], color=GREY, marker="o", markerfacecolor=fill, linestyle="")
        dot.set_label(label)
        handles.append(dot)
    return [*handles, Line2D([], [], color=GREY, linestyle=":", label="SLA")]


def _panel(axis: Axes, found: pd.DataFrame) -> None:
    """Draw every setting as a dot with its interval, and each mechanism's front as a line."""
    for name, of_one in found.groupby("mechanism"):
        colour = FRONTIER_COLOURS[str(name)]
        for _, cell in of_one.groupby(CELL):
            rate = mean_of(cell["offenders_mb_s"])
            assert rate is not None  # every cell has a trial
            filled = colour if not cell["missed_s"].any() else "white"
            wait_ms = cell["wait_ms"].mean()
            look: dict[str, Any] = {"color": colour, "markerfacecolor": filled}
            look["marker"] = marker_of(str(name))
            axis.plot(wait_ms, rate.value, markersize=5, zorder=3, **look)
            if rate.bounded:
                axis.plot(
                    [wait_ms] * 2, (rate.low, rate.high), color=colour, linewidth=0.8, zorder=2
                )
        best = front(cells_of(of_one), cost="wait_ms")
        axis.plot(best["wait_ms"], best["offenders_mb_s"], color=colour, linewidth=1, zorder=1)
    axis.set_xscale("log")
    marks(axis.xaxis, (4, 5, 6, 7))
