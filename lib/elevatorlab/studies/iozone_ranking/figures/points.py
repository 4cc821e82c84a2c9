"""The article's points: as printed, and for every device and variant that was measured."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....showing.bars import estimates, grouped_bars
from ....showing.panels import say
from ....showing.style import COLOURS, GREY
from ...kit.cells import in_order
from ..measures import HERE, SCHEDULERS, ranking
from ..published import points
from .panels import panels


def points_won(rows: pd.DataFrame) -> Figure:
    """Draw the printed points, and those of every device and variant."""
    measured = list(panels(rows))
    count = 2 + len(measured)
    figure = Figure(figsize=(0.8 + 1.75 * count, 3.6))
    axes = figure.subplots(1, count, squeeze=False)[0]
    by_computer = points().groupby("computer", sort=False)
    for axis, (computer, printed) in zip(axes[:2], by_computer, strict=True):
        _printed_points(axis, printed)
        axis.set_title(f"printed:\n{computer}\n")
        axis.set_ylim(0, 30)
    for axis, (title, some) in zip(axes[2:], measured, strict=True):
        _measured_points(axis, some)
        axis.set_title(f"{title}\n")
    for axis in axes:
        axis.tick_params(axis="x", rotation=60, labelsize=8)
    axes[0].set_ylabel("points")
    figure.suptitle("Points for places")
    return figure


def _printed_points(axis: Axes, printed: pd.DataFrame) -> None:
    colours = dict(zip(printed["scheduler"], printed["descendant"].map(COLOURS.get), strict=True))
    absent = [name for name in HERE if name not in colours]
    grouped_bars(
        axis,
        estimates(printed, "scheduler", "points"),
        [*colours, *absent],
        lambda name, _: {"facecolor": colours[name]},
        write=lambda points: f"{points:g}",
    )
    for place in range(len(colours), len(HERE)):
        axis.text(place, 0.3, "not\nprinted", ha="center", va="bottom", fontsize=7, color=GREY)


def _measured_points(axis: Axes, rows: pd.DataFrame) -> None:
    schedulers = in_order(rows, "scheduler", SCHEDULERS)
    found = ranking(rows, tuple(schedulers))
    if found is None:
        say(axis, "fewer than\ntwo schedulers")
        return
    most = found.comparisons * (len(found.total) - 1)
    there = [name for name in schedulers if name in found.total]
    heights = {(name, None): found.interval[name] for name in there}
    grouped_bars(axis, heights, there, lambda name, _: {"facecolor": COLOURS[name]})
    for place, name in enumerate(there):
        if not math.isnan(found.wins[name]):
            words = f"{found.wins[name]:.0%}"
            axis.text(place, most, words, ha="center", va="bottom", fontsize=7.5)
    axis.set_ylim(0, most)
    axis.set_xlabel(f"{found.comparisons} comparisons\nwinner: {found.says}", fontsize=7.5)
