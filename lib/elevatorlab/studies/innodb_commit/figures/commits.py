"""The article's table: commits a second, relative to its deadline with one thread."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....showing.bars import say_where_cut, tallest
from ....showing.panels import say, slant
from ....showing.style import COLOURS, GREY, ONE_COLUMN
from ...kit.cells import rows_of
from ..measures import NO_CACHE, TABLE, ratio
from ..trials import DURABLE, LAZY
from .panels import legend_of_threads, of_threads, schedulers_in

_REFERENCE = {"scheduler": "mq-deadline", "flush_log_at_trx_commit": DURABLE, "threads": 1}


def commits(published: pd.DataFrame, rows: pd.DataFrame) -> Figure:
    """Draw the printed commits a second, and those measured with and without the cache."""
    panels = {"printed": published}
    names = {TABLE: "measured, with a cache", NO_CACHE: "measured, without it"}
    real = len(rows) and not rows["device"].str.contains("raid|drive").any()
    for experiment, name in names.items():
        if experiment in set(rows["experiment"]):
            panels["measured" if real else name] = rows_of(rows, experiment=experiment)
    figure = Figure(figsize=(max(ONE_COLUMN, 0.4 + 2.2 * len(panels)), 3.1))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, (name, some) in zip(axes, panels.items(), strict=True):
        _relative(axis, some.assign(repetition=some.get("repetition", 1)))
        axis.set_title(name)
    axes[0].set_ylabel("commits a second,\nrelative to deadline, 1 thread")
    # By the bars: the interval of two repetitions may be several times as long.
    axes[0].set_ylim(0, 1.25 * max(tallest(axis) for axis in axes))
    legend_of_threads(figure, {*published["threads"], *rows["threads"]})
    for axis in axes:
        say_where_cut(axis)
    figure.suptitle("Commits a second, by scheduler and number of threads")
    return figure


def _relative(axis: Axes, rows: pd.DataFrame) -> None:
    settings = {f"flush={LAZY}": ("mq-deadline", LAZY)}
    settings |= {name: (name, DURABLE) for name in schedulers_in(rows)}
    heights = {}
    for group, (scheduler, flush) in settings.items():
        for threads in sorted(set(rows["threads"])):
            cell = {"scheduler": scheduler, "flush_log_at_trx_commit": flush, "threads": threads}
            if found := ratio(rows, cell, _REFERENCE):
                heights[group, threads] = found
    shown = [group for group in settings if any(name == group for name, _ in heights)]
    if not shown:
        say(axis, "mq-deadline with 1 thread\nwas not run")
        return
    colours = {group: COLOURS[scheduler] for group, (scheduler, _) in settings.items()}
    of_threads(axis, heights, shown, colours, faint=next(iter(settings)))
    slant(axis)
    axis.axhline(1, color=GREY, linewidth=0.8)
