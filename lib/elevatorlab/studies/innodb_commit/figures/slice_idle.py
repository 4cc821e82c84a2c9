"""bfq by slice_idle, the time that it may wait for the next request of a process."""

from __future__ import annotations

from typing import cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....analysis.intervals import Interval
from ....showing.estimates import say_where_cut
from ....showing.panels import curve
from ....showing.style import COLOURS, GREY, PUBLISHED, column_width
from ...kit.cells import in_order, rows_of
from ..measures import SWEEP, TABLE, ratio
from ..trials import IDLING
from .panels import DURABLE_CELL, look_with, words


def slice_idle(published: pd.DataFrame, rows: pd.DataFrame) -> Figure:
    """Draw bfq's commits per second against slice_idle, relative to mq-deadline."""
    sweep = rows_of(rows, experiment=SWEEP)
    idlings = in_order(sweep, "idling", IDLING)
    figure = Figure(figsize=(column_width(2.5 * len(idlings) + 0.8), 3.0))
    axes = figure.subplots(1, len(idlings), sharey=True, squeeze=False)[0]
    base = rows_of(rows, experiment=TABLE, scheduler="mq-deadline", **DURABLE_CELL)
    for axis, idling in zip(axes, idlings, strict=True):
        some = rows_of(sweep, idling=idling)
        for number, threads in enumerate(sorted(set(some["threads"]))):
            beside = rows_of(base, threads=threads)
            _line(axis, rows_of(some, threads=threads), beside, number)
        axis.axhline(1, color=GREY, linewidth=0.8)
        axis.axhline(_article(published), color=COLOURS["cfq"], **PUBLISHED)
        axis.set(title=idling, xlabel="slice_idle (ms)")
    points = [drawn.lines[0].get_ydata().max() for axis in axes for drawn in axis.containers]
    axes[0].set_ylim(0, 1.15 * max([1, *points]))
    for axis in axes:
        say_where_cut(axis)
    axes[0].set_ylabel("commits per second,\nrelative to mq-deadline")
    handles, names = axes[0].get_legend_handles_labels()
    if names:
        figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    else:
        figure.supxlabel("mq-deadline was not run beside it", color=GREY)
    axes[0].annotate(
        "the article's cfq, 8 threads",
        (0.02, _article(published)),
        xycoords=("axes fraction", "data"),
        color=COLOURS["cfq"],
        va="bottom",
    )
    figure.suptitle(
        "bfq by slice_idle: how long bfq waits for\nthe next request of the same process"
    )
    return figure


def _line(axis: Axes, rows: pd.DataFrame, base: pd.DataFrame, number: int) -> None:
    """Draw the curve of one number of threads, shifted so that no interval hides another."""
    threads = int(rows["threads"].iloc[0])
    found: list[tuple[float, Interval]] = []
    for wait, some in rows.groupby("slice_idle_ms"):
        both = pd.concat([some.assign(side=1), base.assign(side=0)])
        if (one := ratio(both, {"side": 1}, {"side": 0})) is not None:
            found.append((cast(float, wait) + number / 5, one))
    look = look_with("bfq", threads)
    colour = look.pop("color")
    curve(axis, found, colour, **look, ecolor=colour, label=words(threads))


def _article(published: pd.DataFrame) -> float:
    cells = rows_of(published, threads=8, **DURABLE_CELL).set_index("scheduler")["tps"]
    return float(cells["cfq"] / cells["mq-deadline"])
