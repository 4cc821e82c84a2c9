"""How much the choice of a scheduler gains."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....plugins.schedulers import shown_name
from ....showing.dots import dots
from ....showing.style import GREY, PUBLISHED, column_width, look_of
from ...kit.cells import in_order, rows_of
from ..measures import SCHEDULERS, TESTS, gain
from .panels import panels

ARTICLE_PERCENT = 30


def gains(rows: pd.DataFrame) -> Figure:
    """Draw the gain of the best scheduler over the worst, by test."""
    shown = list(panels(rows))
    columns = max(1, -(-len(shown) // 2))
    figure = Figure(figsize=(column_width(1.2 + 1.45 * columns), 4.2))
    grid = figure.subplots(2, columns, squeeze=False, sharey=True)
    for axis, (title, some) in zip(grid.T.ravel(), shown, strict=False):
        _gains(axis, some)
        axis.set_title(title)
    for axis in grid.T.ravel()[len(shown) :]:
        axis.set_visible(False)
    for axis in grid[-1]:
        axis.set_xlabel("gain (%)")
    best = in_order(rows, "scheduler", SCHEDULERS)
    handles = [
        Line2D([], [], linestyle="", label=f"best: {shown_name(name)}", **look_of(name))
        for name in best
    ]
    ends = _ends(rows)
    handles += [
        Line2D([], [], color=GREY, marker="o", linestyle="", label=label, markerfacecolor=face)
        for label, face in zip(map(_threads, ends), (GREY, "white"), strict=False)
    ]
    handles.append(
        Line2D([], [], color=GREY, label=f"{ARTICLE_PERCENT} %, the article's gain", **PUBLISHED)
    )
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle("Gain of the best scheduler over the worst")
    return figure


def _ends(rows: pd.DataFrame) -> list[int]:
    """Return the smallest and the largest number of threads."""
    return sorted({int(rows["threads"].min()), int(rows["threads"].max())}) if len(rows) else []


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def _gains(axis: Axes, rows: pd.DataFrame) -> None:
    axis.axvline(ARTICLE_PERCENT, color=GREY, **PUBLISHED)
    ends = _ends(rows)
    found = {
        (test, threads): one
        for test in TESTS
        for threads in ends
        if (one := gain(rows_of(rows, test=test, threads=threads)))
    }

    def look(test: str, threads: int) -> dict[str, Any]:
        own = look_of(found[test, threads][0])
        return own if threads == ends[0] else {**own, "markerfacecolor": "white"}

    percent = {key: gained for key, (_, _, gained) in found.items()}
    dots(axis, percent, list(TESTS), look, ends)
    axis.set_yticks(range(len(TESTS)), list(TESTS.values()))
    furthest = max([ARTICLE_PERCENT, *(one.value for one in percent.values())])
    axis.set_xlim(-0.03 * furthest, 1.25 * furthest)
