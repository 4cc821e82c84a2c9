"""What panels of any study need: words in place of data, tick marks, curves, cells, and facets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis, YAxis
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ..analysis.intervals import Interval
from .style import GREY


def say(axis: Axes, text: str, colour: str = GREY) -> None:
    """Fill a panel with words, in place of data."""
    axis.set_axis_off()
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", color=colour)


def marks(axis: Axis, values: Iterable[float], form: str = "{:g}") -> None:
    """Put tick marks at these values and nowhere else; this works on a logarithmic axis, too."""
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda mark, _: form.format(mark)))


MOST_MARKS = 7


def log_marks(
    axis: XAxis | YAxis, low: float, high: float, form: str = "{:g}", most: int = MOST_MARKS
) -> None:
    """Make an axis logarithmic, and end it at the tick marks around these values.

    `most`: Marks are in the finest steps that need no more.
    """
    seen: list[float] = []
    by_fineness = (
        (1,),
        (1, 3),
        (1, 2, 5),
        (1, 1.2, 1.5, 2, 3, 5),
        (1, 1.1, 1.2, 1.3, 1.5, 2, 3, 5),
    )
    for steps in by_fineness:
        fine = [step * 10.0**power for power in range(-6, 10) for step in steps]
        first = max(place for place, mark in enumerate(fine) if mark <= low)
        last = min(place for place, mark in enumerate(fine) if mark >= high)
        if seen and last + 1 - first > most:
            break
        seen = fine[first : last + 1]
    axis.axes.set(**{f"{axis.axis_name}scale": "log", f"{axis.axis_name}lim": (seen[0], seen[-1])})
    marks(axis, seen, form)


def marks_from_zero(axis: Axes, high: float, steps: int) -> None:
    """Let x begin at zero and end at a mark at or above `high`, with at most so many steps."""
    seen = MaxNLocator(steps).tick_values(0, high)
    marks(axis.xaxis, seen)
    axis.set_xlim(0, seen[-1])


def end_at_marks(axis: Axes) -> None:
    """Let an axis end at tick marks where its data go beyond the first or the last mark.

    Panels that share the axis are one. Data that leave the panel are left alone, as are marks that
    were chosen.
    """
    shared_x, shared_y = axis.get_shared_x_axes(), axis.get_shared_y_axes()
    for one, shared in ((axis.xaxis, shared_x), (axis.yaxis, shared_y)):
        locator = one.get_major_locator()
        if not isinstance(locator, MaxNLocator):
            continue
        low, high = one.get_view_interval()
        inside = [mark for mark in locator.tick_values(low, high) if low <= mark <= high]
        if len(inside) < 2:
            continue
        ends = [
            getattr(other.dataLim, f"interval{one.axis_name}")
            for other in shared.get_siblings(axis)
        ]
        least, most = min(end[0] for end in ends), max(end[1] for end in ends)
        step = inside[1] - inside[0]
        # Below zero there may be the end of an interval, which needs no mark.
        first = inside[0] - step if low <= least < inside[0] and inside[0] else low
        last = inside[-1] + step if inside[-1] < most <= high else high
        if (first, last) != (low, high):
            axis.set(**{f"{one.axis_name}lim": (first, last)})
            # The locator might choose other marks for the new range.
            beyond = {first, last} - {low, high}
            one.set_major_locator(FixedLocator(sorted({*inside, *beyond})))


def errors(found: Sequence[Interval]) -> list[list[float]] | None:
    """Return the lengths of intervals, down and up, for matplotlib; None without any interval."""
    if not any(one.bounded for one in found):
        return None
    return [
        [one.value - one.low if one.bounded else math.nan for one in found],
        [one.high - one.value if one.bounded else math.nan for one in found],
    ]


def curve(axis: Axes, points: Iterable[tuple[float, Interval]], colour: str, **look: Any) -> None:
    """Draw estimates along x with their confidence intervals, which are those of the verdicts.

    `points`: An estimate from one repetition is drawn as a point. look: Further arguments of
    `matplotlib.axes.Axes.errorbar`: marker, linestyle, label.
    """
    places, found = [], []
    for place, one in points:
        places.append(place)
        found.append(one)
    if not found:
        return
    usual = {"color": colour, "ecolor": GREY, "elinewidth": 1, "capsize": 2}
    axis.errorbar(places, [one.value for one in found], yerr=errors(found), **{**usual, **look})


def cells(
    axis: Axes, values: pd.DataFrame, words: pd.DataFrame, furthest: float, size: float = 8
) -> None:
    """Draw a table of ratios as coloured cells with words; the cell of a ratio near 1 is light.

    `values`: Ratios; their logarithms give the colours. A cell that was not run is NaN, and grey.
    `words`: The words in each cell, also in those that were not run. `furthest`: The darkest
    colours stand for this ratio and for its inverse.
    """
    logs = values.astype(float).map(math.log2)
    axis.set_facecolor("#F2F2F2")
    sns.heatmap(
        logs,
        ax=axis,
        cmap="PuOr_r",
        cbar=False,
        # Symmetric limits, so that the middle of the colours is a ratio of 1.
        vmin=-math.log2(furthest),
        vmax=math.log2(furthest),
        linewidths=0.8,
        linecolor="white",
    )
    for y, line in enumerate(words.to_numpy()):
        for x, text in enumerate(line):
            far = abs(float(logs.to_numpy()[y, x])) > 0.7 * math.log2(furthest)
            axis.text(
                x + 0.5,
                y + 0.5,
                text,
                ha="center",
                va="center",
                fontsize=size,
                color="white" if far else "black",
            )
    axis.tick_params(length=0)
    axis.tick_params(axis="y", rotation=0)
    axis.tick_params(axis="x", rotation=0)
    axis.set(xlabel="", ylabel="")


def facets(rows: pd.DataFrame, size: tuple[float, float], **grid: Any) -> sns.FacetGrid:
    """Return a grid of panels, one for each value of a column or of two.

    `size`: Width and height of the whole figure, in inches. `grid`: Further arguments of
    `seaborn.FacetGrid`: row, col, col_wrap, row_order, col_order, sharex, sharey.
    """
    # FacetGrid applies a tight layout while it is made; the figure then gets our own layout.
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        made = sns.FacetGrid(rows, despine=False, **grid)
    made.figure.set_size_inches(size)
    made.figure.set_layout_engine("constrained")
    pyplot.close(made.figure)  # or a notebook would show it a second time
    return made


def panels_of(grid: sns.FacetGrid) -> list[tuple[Axes, pd.DataFrame]]:
    """Return each panel of `facets` that has rows, and its rows."""
    return [
        (grid.facet_axis(row, column, modify_state=False), rows)
        for (row, column, _), rows in grid.facet_data()
        if len(rows)
    ]
