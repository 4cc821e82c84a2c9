"""The mean ranks behind the points, and which of them differ."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....analysis.friedman import Friedman
from ....plugins.schedulers import shown_name
from ....showing.style import TWO_COLUMNS, look_of
from ...kit.cells import in_order
from ..measures import SCHEDULERS, over_tests
from .panels import panels

LEVEL = 0.05
"""Two schedulers are told apart if Nemenyi's p-value is below this level."""


def critical_difference(rows: pd.DataFrame) -> Figure:
    """Draw the mean ranks, and which of them Nemenyi's test does not tell apart."""
    shown = [(title, found) for title, some in panels(rows) if (found := _ranks(some))]
    lines = max(1, -(-len(shown) // 2))
    most = max([len(found.ranks) for _, found in shown], default=2)
    figure = Figure(figsize=(TWO_COLUMNS, 0.5 + (1.0 + 0.17 * most) * lines))
    axes = figure.subplots(lines, 2).ravel()
    for axis in axes[len(shown) :]:
        axis.set_axis_off()
    for axis, (title, found) in zip(axes, shown, strict=False):
        _diagram(axis, found)
        p_value = "" if math.isnan(found.p_value) else f"p = {found.p_value:.2g}, "
        details = f"{p_value}critical difference {found.critical_difference:.2g}"
        axis.set_title(f"{title.replace(chr(10), ', ')}\n{details}")
        axis.set_xlabel("mean rank (1 is best)")
    figure.suptitle("Mean ranks and the critical difference")
    return figure


def _diagram(axis: Axes, found: Friedman) -> None:
    """Draw a line of the panel for each scheduler, and black bars above that join schedulers.

    Each scheduler has its own line, so equal ranks do not hide one another.
    """
    joined = alike(found)
    for place, (name, rank) in enumerate(found.ranks.items()):
        look = look_of(str(name))
        axis.plot([rank, rank], [-1 - len(joined), place], color=look["color"], linewidth=1)
        axis.plot(rank, place, linestyle="", zorder=3, **look)
    for number, (best, worst) in enumerate(joined, 1):
        ends = found.ranks.iloc[[best, worst]]
        axis.plot(ends, [-number] * 2, color="black", linewidth=2.5, solid_capstyle="butt")
    names = [f"{shown_name(name)} ({rank:.2f})" for name, rank in found.ranks.items()]
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -1.2 - len(joined))
    axis.margins(x=0.06)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)


def alike(found: Friedman) -> list[tuple[int, int]]:
    """Return the first and the last place of each group that the test does not tell apart.

    The places count along `found.ranks`. A group inside another group is left out.
    """
    names, groups = list(found.ranks.index), list[tuple[int, int]]()
    for first, best in enumerate(names):
        near = [place for place, name in enumerate(names) if found.pairs.loc[best, name] >= LEVEL]
        last = max([first, *near])
        if last > max([first, *(end for _, end in groups)]):
            groups.append((first, last))
    return groups


def _ranks(rows: pd.DataFrame) -> Friedman | None:
    return over_tests(rows, tuple(in_order(rows, "scheduler", SCHEDULERS)))
