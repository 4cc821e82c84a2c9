"""Grouped bars with the project's own intervals, and words where one leaves its frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.patches import Rectangle

from ..analysis.intervals import Interval, mean_interval
from ..plugins.schedulers import shown_name
from .panels import errors

Estimates = Mapping[tuple[Any, Any], Interval]
"""The heights of bars, by group and member of the group."""


def estimates(
    rows: pd.DataFrame,
    x: str,
    y: str,
    hue: str | None = None,
    interval: Callable[[pd.Series[float]], Interval] = mean_interval,
) -> dict[tuple[Any, Any], Interval]:
    """Estimate the heights of bars from repetitions, as verdicts do.

    Parameters
    ----------
    rows : pandas.DataFrame
        One row a repetition; those without a number are left out.
    x, y, hue : str
        Columns: what a group of bars stands for, the quantity, and what a bar of a group does.
    interval : callable
        Of `analysis.intervals`.
    """
    whole = rows[rows[y].notna()].astype({y: float})
    keys = [x] if hue is None else [x, hue]
    return {
        (key[0], key[1] if hue else None): interval(some[y])
        for key, some in whole.groupby(keys, sort=False)
    }


def grouped_bars(
    axis: Axes,
    heights: Estimates,
    order: Sequence[Hashable],
    look: Callable[[Any, Any], Mapping[str, Any]],
    members: Sequence[Hashable] = (None,),
    write: Callable[[float], str] | None = None,
) -> None:
    """Draw a bar for each group and member of it, with its confidence interval.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    heights : mapping
        By group and member; what is not there has no bar.
    order : sequence
        The groups from left to right.
    look : callable
        Called with a group and a member; returns how the bar is painted: facecolor, hatch, alpha.
    members : sequence
        The bars of a group from left to right.
    write : callable, optional
        What stands above a bar, of its height.
    """
    shown = pd.DataFrame(
        [
            (place, member, heights[group, name].value)
            for place, group in enumerate(order)
            for member, name in enumerate(members)
            if (group, name) in heights
        ],
        columns=["group", "member", "height"],
    )
    drawn = len(axis.containers)
    if len(shown):
        sns.barplot(
            shown,
            ax=axis,
            x="group",
            y="height",
            hue="member",
            order=range(len(order)),
            hue_order=range(len(members)),
            errorbar=None,
            palette=["grey"] * len(members),
            saturation=1,
            gap=0.08,
            edgecolor="white",
            legend=False,
        )
    for name, bars in zip(members, axis.containers[drawn:], strict=False):
        for bar in list(bars):
            middle = bar.get_x() + bar.get_width() / 2
            group = order[round(middle)]
            bar.set(**look(group, name))
            _interval(axis, middle, heights[group, name])
            if write:
                axis.annotate(
                    write(bar.get_height()),
                    (middle, bar.get_height()),
                    xytext=(0, 1),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    fontsize=7,
                )
    axis.set(xlabel="", ylabel="", xlim=(-0.6, len(order) - 0.4))
    axis.set_xticks(range(len(order)), [shown_name(group) for group in order])
    axis.grid(axis="x", visible=False)


def _interval(axis: Axes, place: float, height: Interval) -> None:
    if ends := errors([height]):
        axis.errorbar(
            [place], [height.value], ends, fmt="none", ecolor="black", elinewidth=1, capsize=2
        )


def tallest(axis: Axes) -> float:
    """Return the height of the tallest bar; 0 without any."""
    bars = (patch for patch in axis.patches if isinstance(patch, Rectangle))
    return max((bar.get_height() for bar in bars if math.isfinite(bar.get_height())), default=0)


def say_where_cut(axis: Axes) -> None:
    """Draw an arrow where an interval leaves the frame above, and say how far it goes."""
    top = axis.get_ylim()[1]
    for drawn in axis.containers:
        if not isinstance(drawn, ErrorbarContainer):
            continue
        for bars in drawn.lines[2]:
            colour = bars.get_color()[0]
            for place, high in [ends[-1] for ends in bars.get_segments() if len(ends)]:
                if high > top:
                    axis.plot(place, top, "^", color=colour, markersize=4, clip_on=False, zorder=4)
                    axis.annotate(
                        f"to {high:.3g}",
                        (place, top),
                        xytext=(4, -1),
                        textcoords="offset points",
                        fontsize=7,
                        va="top",
                    )
