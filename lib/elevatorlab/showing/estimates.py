"""Estimates of groups, made as verdicts make them, as dots; and arrows where an interval is cut."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from ..analysis.intervals import Interval, mean_interval
from ..plugins.schedulers import shown_name
from .panels import errors

Estimates = Mapping[tuple[Any, Any], Interval]
"""Estimates, by group and member of the group."""

SPREAD = 0.8
"""Share of a group's height that its members take; seaborn uses the same share."""


def estimates(
    rows: pd.DataFrame,
    x: str,
    y: str,
    hue: str | None = None,
    interval: Callable[[pd.Series[float]], Interval] = mean_interval,
) -> dict[tuple[Any, Any], Interval]:
    """Estimate a quantity of each group from repetitions, as verdicts do.

    `rows`: One row per repetition; rows without a number in `y` are left out. `x`, `y`, `hue`:
    Columns: the group, the quantity, and the member of the group. Returns: Intervals by group and
    member; without `hue`, the member is None.
    """
    whole = rows[rows[y].notna()].astype({y: float})
    keys = [x] if hue is None else [x, hue]
    return {
        (key[0], key[1] if hue else None): interval(some[y])
        for key, some in whole.groupby(keys, sort=False)
    }


def offset(number: int, count: int, spread: float = SPREAD) -> float:
    """Return the distance from a group's middle at which one of its `count` members is drawn."""
    return spread * ((number + 0.5) / count - 0.5)


def dots(
    axis: Axes,
    values: Estimates,
    order: Sequence[Hashable],
    look: Callable[[Any, Any], Mapping[str, Any]],
    members: Sequence[Hashable] = (None,),
) -> None:
    """Draw a dot with its confidence interval for each member of each group.

    `values`: Estimates by group and member; a pair without an estimate has no dot. look: Called
    with a group and a member; returns arguments of `matplotlib.axes.Axes.errorbar`.
    """
    usual = {"marker": "o", "ecolor": "black", "elinewidth": 0.9, "capsize": 2, "zorder": 3}
    for place, group in enumerate(order):
        for number, member in enumerate(members):
            found = values.get((group, member))
            if found is not None:
                height = place + offset(number, len(members))
                how = {**usual, **look(group, member)}
                axis.errorbar(found.value, height, xerr=errors([found]), **how)
    axis.set_yticks(range(len(order)), [shown_name(group) for group in order])
    axis.set_ylim(max(1, len(order)) - 0.5, -0.5)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)


def say_where_cut(axis: Axes, along: Literal["x", "y"] = "y") -> None:
    """Draw an arrow where the upper end of an interval leaves the panel, with its value."""
    number = "xy".index(along)
    edge = (axis.get_xlim(), axis.get_ylim())[number][1]
    for drawn in axis.containers:
        if not isinstance(drawn, ErrorbarContainer):
            continue
        for bars in drawn.lines[2]:
            colour = bars.get_color()[0]
            for end in [ends[-1] for ends in bars.get_segments() if len(ends)]:
                if end[number] > edge:
                    place = (edge, end[1]) if along == "x" else (end[0], edge)
                    arrow = ">" if along == "x" else "^"
                    axis.plot(*place, arrow, color=colour, markersize=4, clip_on=False, zorder=4)
                    axis.annotate(
                        f"to {end[number]:.3g}",
                        place,
                        xytext=(-3, 2) if along == "x" else (4, -1),
                        textcoords="offset points",
                        ha="right" if along == "x" else "left",
                        va="bottom" if along == "x" else "top",
                    )
