"""How much the choice of a scheduler gains."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....showing.panels import error
from ....showing.style import COLOURS, GREY
from ...kit.cells import in_order, rows_of
from ..measures import SCHEDULERS, TESTS, gain
from .panels import panels

ARTICLE_PERCENT = 30


def gains(rows: pd.DataFrame) -> Figure:
    """Draw the gain of the best scheduler over the worst, by test."""
    shown = list(panels(rows))
    figure = Figure(figsize=(1.6 + 2.2 * len(shown), 3.0))
    axes = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for axis, (title, some) in zip(axes, shown, strict=True):
        _gains(axis, some)
        axis.set_title(title)
        axis.set_xlabel("gain of the best\nover the worst, %")
    axes[0].set_yticks(range(len(TESTS)), list(TESTS.values()))
    axes[0].set_ylim(len(TESTS) - 0.5, -0.5)
    best = in_order(rows, "scheduler", SCHEDULERS)
    for name in best:
        axes[0].plot([], [], "o", color=COLOURS[name], label=f"best: {name}")
    figure.legend(loc="outside lower center", ncols=len(best))
    figure.suptitle("How much does the choice gain?")
    return figure


def _gains(axis: Axes, rows: pd.DataFrame) -> None:
    axis.axvspan(0, ARTICLE_PERCENT, color="#EFEFEF", zorder=0)
    fewest, most = rows["threads"].min(), rows["threads"].max()
    values = []
    for place, test in enumerate(TESTS):
        for threads in sorted({fewest, most}):
            found = gain(rows_of(rows, test=test, threads=threads))
            if found is None:
                continue
            name, _, percent = found
            values.append(percent.value)
            axis.errorbar(
                percent.value,
                place + (0.15 if threads == most != fewest else -0.15),
                xerr=error(percent),
                color=COLOURS[name],
                marker="o",
                markerfacecolor=COLOURS[name] if threads == fewest else "white",
                ecolor=GREY,
                elinewidth=1,
                capsize=2,
            )
    axis.set_xlim(0, 1.25 * max([ARTICLE_PERCENT, *values]))
    axis.grid(axis="y", visible=False)
