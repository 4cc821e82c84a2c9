"""The article's table: commits per second, relative to its deadline with one thread."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....analysis.intervals import Interval
from ....showing.estimates import say_where_cut
from ....showing.panels import log_marks, say
from ....showing.style import GREY, column_width
from ...kit.cells import rows_of
from ..measures import NO_CACHE, TABLE, ratio
from ..trials import DURABLE, LAZY
from .panels import legend_of_threads, of_threads, schedulers_in

_REFERENCE = {"scheduler": "mq-deadline", "flush_log_at_trx_commit": DURABLE, "threads": 1}
_LAZY = f"flush={LAZY}"


def commits(published: pd.DataFrame, rows: pd.DataFrame) -> Figure:
    """Draw the printed commits per second, and those measured with and without the cache."""
    panels = {"printed": published}
    titles = {TABLE: "measured, with a cache", NO_CACHE: "measured, without a cache"}
    real = len(rows) and not rows["device"].str.contains("raid|drive").any()
    for experiment, name in titles.items():
        if experiment in set(rows["experiment"]):
            panels["measured" if real else name] = rows_of(rows, experiment=experiment)
    found = {
        name: _relative(some.assign(repetition=some.get("repetition", 1)))
        for name, some in panels.items()
    }
    there = {group for ratios in found.values() for group, _ in ratios}
    names = [*published["scheduler"], *rows["scheduler"]]
    groups = [_LAZY, *schedulers_in(pd.DataFrame({"scheduler": names}))]
    shown = [group for group in groups if group in there]
    figure = Figure(figsize=(column_width(0.9 + 2.05 * len(panels)), 1.3 + 0.24 * len(shown)))
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axis, (name, ratios) in zip(axes, found.items(), strict=True):
        if not ratios:
            say(axis, "mq-deadline with 1 thread\nwas not run")
            continue
        of_threads(axis, ratios, shown, {_LAZY: "mq-deadline"})
        axis.axvline(1, color=GREY, linewidth=0.8)
        axis.set_title(name)
    _limit(axes[0], [one.value for ratios in found.values() for one in ratios.values()])
    for axis in axes:
        say_where_cut(axis, "x")
    legend_of_threads(figure, {*published["threads"], *rows["threads"]})
    axes[len(axes) // 2].set_xlabel(
        "commits per second, relative to\nmq-deadline with 1 thread (log scale)"
    )
    figure.suptitle("Commits per second, by scheduler and number of threads")
    return figure


def _limit(axis: Axes, values: list[float]) -> None:
    """Fit the axis to the estimates: intervals of two repetitions may be several times longer."""
    low, high = min(values) / 1.5, max(values) * 1.5
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    log_marks(axis.xaxis, low, high, "{:g}×")


def _relative(rows: pd.DataFrame) -> dict[tuple[str, int], Interval]:
    """Return the ratios to mq-deadline with one thread, by group and number of threads.

    Empty if mq-deadline was not run with one thread.
    """
    settings = {_LAZY: ("mq-deadline", LAZY)}
    settings |= {name: (name, DURABLE) for name in schedulers_in(rows)}
    found = {}
    for group, (scheduler, flush) in settings.items():
        for threads in sorted(set(rows["threads"])):
            cell = {"scheduler": scheduler, "flush_log_at_trx_commit": flush, "threads": threads}
            if one := ratio(rows, cell, _REFERENCE):
                found[group, threads] = one
    return found
