"""The study's figures."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from ...analysis.intervals import Interval, mean_interval
from ...drawing import Drawn, of_every_run
from ...figures import COLOURS, GREY, WARNING
from ...matching import Run
from .measures import ARMS, NO_CACHE, SCHEDULERS, SWEEP, TABLE, first_arm, ratio, rows_of
from .tables import MAPPED
from .trials import DURABLE, LAZY

_BARS = (
    "Error bars are 95 % confidence intervals over repetitions; where none is seen it is too "
    "small, or there was one repetition. One that is too long for the frame ends in an arrow, with "
    "the value that it reaches."
)
CAPTIONS = {
    "commits": "Counterpart of the article's table: commits a second relative to deadline with 1 "
    "thread, as printed and as measured, with the log flushed at each commit and (flush=0) once a "
    f"second. {MAPPED} {_BARS}",
    "slice-idle": "Commits a second with bfq, relative to mq-deadline with as many threads, "
    "against slice_idle, the time that bfq may wait for the next request of a process; left as it "
    "comes, right with strict_guarantees (it always idles, and lets only one request into the "
    "device). What is lost with slice_idle 0, too, is not slice_idle's doing. The dotted line is "
    "the article's cfq with 8 threads, relative to its deadline. More threads are drawn a little "
    f"to the right. {_BARS}",
    "idle": "Share of the time in which requests waited in the scheduler and none was at the "
    "device, from the kernel's block tracepoints, with the log flushed at each commit. Left: each "
    "scheduler as it comes. Right: bfq with strict_guarantees, by slice_idle: what is there with "
    f"0, too, is not slice_idle's doing. {_BARS} A share is between 0 and 1, and there its "
    "interval ends.",
    "group-commit": "Writes that reached the device, and flushes that the server asked for, for "
    "each commit: with 8 threads one flush serves several commits. A flush of a device without "
    f"volatile cache ends in the kernel. {_BARS}",
}
"""What each figure shows; where it was measured is added to it."""

_DURABLE_CELL = {"flush_log_at_trx_commit": DURABLE}
_REFERENCE = {"scheduler": "mq-deadline", "flush_log_at_trx_commit": DURABLE, "threads": 1}
_HATCH = {1: "", 8: "////"}


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures.

    Parameters
    ----------
    published : pandas.DataFrame
        From `published.table()`.
    measured : pandas.DataFrame
        Tidy measured table; empty for published data alone.

    Returns
    -------
    dict of str to Drawn
        "commits", and of a measurement "idle", "group-commit" and "slice-idle", for each run (see
        `drawing.of_every_run`).
    """

    def draw(run: Run | None) -> dict[str, Figure]:
        rows = first_arm(measured if run is None else run.rows)
        drawn = {"commits": _commits(published, rows)}
        if len(rows):
            drawn["idle"] = _idle(rows)
            drawn["group-commit"] = _group_commit(rows)
        if SWEEP in set(rows["experiment"]):
            drawn["slice-idle"] = _sweep(published, rows)
        return drawn

    return of_every_run(measured, draw, CAPTIONS, ARMS)


def _commits(published: pd.DataFrame, rows: pd.DataFrame) -> Figure:
    panels = {"printed, for deadline and cfq": published}
    names = {TABLE: "measured, write-behind cache", NO_CACHE: "measured, without the cache"}
    real = len(rows) and not rows["device"].str.contains("raid").any()
    for experiment, name in names.items():
        if experiment in set(rows["experiment"]):
            panels["measured" if real else name] = rows_of(rows, experiment=experiment)
    figure = Figure(figsize=(2.6 * len(panels) + 1.4, 3.4))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, (name, some) in zip(axes, panels.items(), strict=True):
        _relative(axis, some.assign(repetition=some.get("repetition", 1)))
        axis.set_title(name)
    axes[0].set_ylabel("commits a second,\nrelative to deadline, 1 thread")
    _legend(axes[0], {*published["threads"], *rows["threads"]})
    # By the bars: the interval of two repetitions may be several times as long.
    axes[0].set_ylim(0, 1.6 * max(bar.get_height() for axis in axes for bar in axis.patches))
    for axis in axes:
        _point_on(axis)
    figure.suptitle("Rows into InnoDB, each a transaction")
    return figure


def _relative(axis: Axes, rows: pd.DataFrame) -> None:
    settings = [("mq-deadline", LAZY)] + [(name, DURABLE) for name in SCHEDULERS]
    shown = []
    for scheduler, flush in settings:
        cell = {"scheduler": scheduler, "flush_log_at_trx_commit": flush}
        found = {
            threads: ratio(rows, {**cell, "threads": threads}, _REFERENCE)
            for threads in sorted(set(rows["threads"]))
        }
        if any(found.values()):
            shown.append((scheduler, flush, found))
    for place, (scheduler, flush, found) in enumerate(shown):
        _bars(axis, place, scheduler, found, faint=flush == LAZY)
    labels = [("flush=0\n" if flush == LAZY else "") + scheduler for scheduler, flush, _ in shown]
    axis.set_xticks(range(len(shown)), labels, rotation=35, ha="right")
    axis.axhline(1, color=GREY, linewidth=0.8)


def _bars(
    axis: Axes, place: float, scheduler: str, found: dict[int, Interval | None], faint: bool = False
) -> None:
    """Draw one bar a number of threads, side by side."""
    width = 0.8 / len(found)
    for number, (threads, value) in enumerate(found.items()):
        if value is None:
            continue
        error = [[value.value - value.low], [value.high - value.value]] if value.bounded else None
        axis.bar(
            place + (number - (len(found) - 1) / 2) * width,
            value.value,
            width * 0.92,
            yerr=error,
            color=COLOURS[scheduler],
            alpha=0.35 if faint else 1,
            hatch=_HATCH.get(threads, "...."),
            edgecolor="white",
            error_kw={"elinewidth": 1, "ecolor": "black"},
        )


def _point_on(axis: Axes) -> None:
    """Draw an arrow where an interval leaves the frame, and say how far it goes."""
    top = axis.get_ylim()[1]
    for drawn in axis.containers:
        if not isinstance(drawn, ErrorbarContainer):
            continue
        (intervals,) = drawn.lines[2]
        for place, high in [line[-1] for line in intervals.get_segments() if len(line)]:
            if high > top:
                colour = intervals.get_color()[0]
                axis.plot(place, top, "^", color=colour, markersize=4, clip_on=False, zorder=4)
                axis.annotate(
                    f"to {high:.3g}",
                    (place, top),
                    xytext=(4, -1),
                    textcoords="offset points",
                    **{"fontsize": 7, "va": "top"},
                )


def _legend(axis: Axes, threads: set[int]) -> None:
    for number in sorted(threads):
        name = f"{number} thread{'s' if number > 1 else ''}"
        axis.bar([0], [0], color=GREY, hatch=_HATCH.get(number, "...."), edgecolor="w", label=name)
    if threads:
        axis.set_ylim(top=axis.get_ylim()[1] * 1.15)
        axis.legend(fontsize=7.5, ncols=2, loc="upper right")


def _means(rows: pd.DataFrame, quantity: str) -> dict[int, Interval | None]:
    found = {}
    for threads, some in rows.groupby("threads"):
        values = some[quantity].astype(float).dropna()
        found[threads] = mean_interval(values) if len(values) else None
    return found


def _shares(rows: pd.DataFrame) -> dict[int, Interval | None]:
    """Return the means of a share of the time, which no interval makes negative or more than 1."""
    found = _means(rows, "idle_while_waiting_ratio")
    return {
        threads: value and value.map(lambda bound: min(max(bound, 0.0), 1.0))
        for threads, value in found.items()
    }


def _idle(rows: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 3.2))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    table = rows_of(rows, experiment=TABLE, **_DURABLE_CELL)
    schedulers = [name for name in SCHEDULERS if name in set(table["scheduler"])]
    known = table["idle_while_waiting_ratio"].notna().any()
    for place, name in enumerate(schedulers):
        some = rows_of(table, scheduler=name)
        _bars(left, place, name, _shares(some))
    left.set_xticks(range(len(schedulers)), schedulers)
    left.set_title("as it comes" if known else "not known: the kernel offers no tracepoints")
    left.set_ylabel("idle while a request waited,\nshare of the time")
    sweep = rows_of(rows, experiment=SWEEP, idling="strict_guarantees")
    waits = sorted(set(sweep["slice_idle_ms"]))
    for place, wait in enumerate(waits):
        some = rows_of(sweep, slice_idle_ms=wait)
        _bars(right, place, "bfq", _shares(some))
    right.set_xticks(range(len(waits)), [f"{wait:g}" for wait in waits])
    right.set_xlabel("slice_idle, ms")
    right.set_title("bfq, strict_guarantees" + ("" if waits else ": not run"))
    _legend(left, set(table["threads"]))
    left.set_ylim(0, min(left.get_ylim()[1], 1))
    figure.suptitle("The device stands idle while a commit waits")
    return figure


def _group_commit(rows: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 3.2))
    axes = figure.subplots(1, 2)
    table = rows_of(rows, experiment=TABLE, **_DURABLE_CELL)
    schedulers = [name for name in SCHEDULERS if name in set(table["scheduler"])]
    quantities = {"writes_per_commit": "writes a commit", "fsyncs_per_commit": "fsyncs a commit"}
    for axis, (quantity, name) in zip(axes, quantities.items(), strict=True):
        for place, scheduler in enumerate(schedulers):
            _bars(axis, place, scheduler, _means(rows_of(table, scheduler=scheduler), quantity))
        axis.set_xticks(range(len(schedulers)), schedulers)
        axis.set_title(name)
        axis.axhline(1, color=GREY, linewidth=0.8)
    _legend(axes[1], set(table["threads"]))
    figure.suptitle("Group commit: with more threads one write and one flush serve several commits")
    return figure


def _sweep(published: pd.DataFrame, rows: pd.DataFrame) -> Figure:
    idlings = [name for name in ("as shipped", "low_latency off", "strict_guarantees")]
    sweep = rows_of(rows, experiment=SWEEP)
    idlings = [name for name in idlings if name in set(sweep["idling"])]
    figure = Figure(figsize=(2.8 * len(idlings) + 1.2, 3.3))
    axes = figure.subplots(1, len(idlings), sharey=True, squeeze=False)[0]
    base = rows_of(rows, experiment=TABLE, scheduler="mq-deadline", **_DURABLE_CELL)
    for axis, idling in zip(axes, idlings, strict=True):
        some = rows_of(sweep, idling=idling)
        for number, threads in enumerate(sorted(set(some["threads"]))):
            beside = rows_of(base, threads=threads)
            _line(axis, rows_of(some, threads=threads), beside, "osD^v"[number % 5], number / 5)
        axis.axhline(1, color=GREY, linewidth=0.8)
        axis.axhline(_article(published), color=WARNING, linewidth=1, linestyle=":")
        axis.set(title=idling, xlabel="slice_idle, ms")
    points = [drawn.lines[0].get_ydata().max() for axis in axes for drawn in axis.containers]
    axes[0].set_ylim(0, max(2, 1.3 * max(points, default=1)))
    for axis in axes:
        _point_on(axis)
    axes[0].set_ylabel("commits a second,\nrelative to mq-deadline")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, fontsize=7.5, loc="outside lower center", ncols=len(names))
    axes[0].annotate(
        "the article's cfq, 8 threads",
        (0.02, _article(published)),
        xycoords=("axes fraction", "data"),
        **{"color": WARNING, "fontsize": 7.5, "va": "bottom"},
    )
    figure.suptitle("bfq by slice_idle, its time to wait for the same process")
    return figure


def _line(axis: Axes, rows: pd.DataFrame, base: pd.DataFrame, marker: str, shift: float) -> None:
    """Draw one number of threads, `shift` to the right, clear of the intervals of the others."""
    threads = int(rows["threads"].iloc[0])
    places, found = [], []
    for wait, some in rows.groupby("slice_idle_ms"):
        both = pd.concat([some.assign(side=1), base.assign(side=0)])
        if (one := ratio(both, {"side": 1}, {"side": 0})) is not None:
            places.append(wait + shift)
            found.append(one)
    errors = [
        [one.value - one.low if one.bounded else math.nan for one in found],
        [one.high - one.value if one.bounded else math.nan for one in found],
    ]
    axis.errorbar(
        places,
        [one.value for one in found],
        errors,
        marker=marker,
        color=COLOURS["bfq"],
        linestyle="-" if threads == 1 else "--",
        label=f"{threads} thread{'s' if threads > 1 else ''}",
        capsize=2,
    )


def _article(published: pd.DataFrame) -> float:
    cells = rows_of(published, threads=8, **_DURABLE_CELL).set_index("scheduler")["tps"]
    return cells["bfq"] / cells["mq-deadline"]
