"""The drawing of the study's figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...analysis.intervals import Interval
from ...showing.estimates import dots, estimates, say_where_cut
from ...showing.panels import curve, log_marks, say
from ...showing.style import (
    COLOURS,
    GREY,
    PUBLISHED,
    TWO_COLUMNS,
    column_width,
    look_of,
    look_of_published,
    of_threads,
    thread_handles,
)
from ..kit.cells import in_order, rows_of
from .measures import NO_CACHE, SCHEDULERS, SWEEP, TABLE, ratio
from .trials import DURABLE, IDLING, LAZY

_DURABLE_CELL = {"flush_log_at_trx_commit": DURABLE}


def _schedulers_in(rows: pd.DataFrame) -> list[str]:
    """Return the schedulers of some rows in the order in which they are shown."""
    return in_order(rows, "scheduler", SCHEDULERS)


def _of_threads(
    axis: Axes,
    values: Mapping[tuple[str, int], Interval],
    order: Sequence[str],
    schedulers: Mapping[str, str] | None = None,
    drawn_as: Callable[[str], dict[str, Any]] = look_of,
) -> None:
    """Draw a line of dots for each group, one dot for each number of threads.

    `values`: The estimates, by group and number of threads. `schedulers`: The scheduler of each
    group whose name is not that of its scheduler. `drawn_as`: The look of a scheduler.
    """
    known, numbers = schedulers or {}, sorted({threads for _, threads in values})

    def look(group: str, threads: int) -> dict[str, Any]:
        return of_threads(drawn_as(known.get(group, group)), many=threads > numbers[0])

    dots(axis, values, order, look, numbers)


def _legend_of_threads(figure: Figure, threads: Iterable[int]) -> None:
    """Draw a legend below the panels, with the marker of each number of threads."""
    handles = thread_handles(threads)
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


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
    groups = [_LAZY, *_schedulers_in(pd.DataFrame({"scheduler": names}))]
    shown = [group for group in groups if group in there]
    figure = Figure(figsize=(column_width(0.9 + 2.05 * len(panels)), 1.3 + 0.24 * len(shown)))
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axis, (name, ratios) in zip(axes, found.items(), strict=True):
        if not ratios:
            say(axis, "mq-deadline with 1 thread\nwas not run")
            continue
        drawn_as = look_of_published if name == "printed" else look_of
        _of_threads(axis, ratios, shown, {_LAZY: "mq-deadline"}, drawn_as)
        axis.axvline(1, color=GREY, linewidth=0.8)
        axis.set_title(name)
    _limit(axes[0], [one.value for ratios in found.values() for one in ratios.values()])
    for axis in axes:
        say_where_cut(axis, "x")
    _legend_of_threads(figure, {*published["threads"], *rows["threads"]})
    axes[len(axes) // 2].set_xlabel(
        "commits per second, relative to\nmq-deadline with 1 thread (log scale)"
    )
    figure.suptitle("Commits per second, by scheduler and number of threads")
    return figure


def _limit(axis: Axes, values: list[float]) -> None:
    """Fit the axis to the estimates: intervals of two repetitions may be several times longer."""
    log_marks(axis.xaxis, min(values) / 1.1, max(values) * 1.1, "{:g}×", most=5)


def _relative(rows: pd.DataFrame) -> dict[tuple[str, int], Interval]:
    """Return the ratios to mq-deadline with one thread, by group and number of threads.

    Empty if mq-deadline was not run with one thread.
    """
    settings = {_LAZY: ("mq-deadline", LAZY)}
    settings |= {name: (name, DURABLE) for name in _schedulers_in(rows)}
    found = {}
    for group, (scheduler, flush) in settings.items():
        for threads in sorted(set(rows["threads"])):
            cell = {"scheduler": scheduler, "flush_log_at_trx_commit": flush, "threads": threads}
            if one := ratio(rows, cell, _REFERENCE):
                found[group, threads] = one
    return found


def idle(rows: pd.DataFrame) -> Figure:
    """Draw the share of the time in which a request waited while the device was idle."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.9))
    left, right = figure.subplots(1, 2, sharex=True, width_ratios=(3, 2))
    table = rows_of(rows, experiment=TABLE, **_DURABLE_CELL)
    known = table["idle_while_waiting_ratio"].notna().any()
    _shares_of_threads(left, table, "scheduler", _schedulers_in(table))
    left.set_title("as shipped" if known else "not known: the kernel offers no tracepoints")
    sweep = rows_of(rows, experiment=SWEEP, idling="strict_guarantees")
    sweep = sweep.assign(wait=sweep["slice_idle_ms"].map("{:g}".format))
    waits = [f"{wait:g}" for wait in sorted(set(sweep["slice_idle_ms"]))]
    _shares_of_threads(right, sweep, "wait", waits, dict.fromkeys(waits, "bfq"))
    right.set_ylabel("slice_idle (ms)")
    right.set_title("bfq, strict_guarantees" + ("" if waits else ": not run"))
    left.set_xlim(-0.03, 1.03)
    for axis in (left, right):
        axis.set_xlabel("device idle while a request waited,\nshare of the time")
    _legend_of_threads(figure, table["threads"])
    figure.suptitle("The device stands idle while a commit waits")
    return figure


def _shares_of_threads(
    axis: Axes,
    rows: pd.DataFrame,
    group: str,
    order: Sequence[str],
    schedulers: Mapping[str, str] | None = None,
) -> None:
    """Draw the mean for each group and number of threads, and every repetition as a thin stroke."""
    threads = sorted(set(rows["threads"]))
    if rows["idle_while_waiting_ratio"].notna().any():
        sns.stripplot(
            rows.astype({"idle_while_waiting_ratio": float}),
            ax=axis,
            x="idle_while_waiting_ratio",
            y=group,
            hue="threads",
            order=order,
            hue_order=threads,
            palette=[GREY] * len(threads),
            dodge=True,
            jitter=False,
            marker="|",
            size=7,
            linewidth=0.8,
            zorder=2,  # under the means
            legend=False,
        )
    _of_threads(axis, _shares(rows, group), order, schedulers)
    axis.set_ylabel("")


def _shares(rows: pd.DataFrame, group: str) -> dict[tuple[str, int], Interval]:
    """Return the mean shares of idle time, with intervals cut at 0 and 1."""
    found = estimates(rows, group, "idle_while_waiting_ratio", "threads")
    return {key: one.map(lambda end: min(max(end, 0.0), 1.0)) for key, one in found.items()}


def group_commit(rows: pd.DataFrame) -> Figure:
    """Draw the writes that reach the device, and the server's fsyncs, per commit."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.5))
    axes = figure.subplots(1, 2, sharey=True)
    table = rows_of(rows, experiment=TABLE, **_DURABLE_CELL)
    quantities = {
        "writes_per_commit": "writes per commit",
        "fsyncs_per_commit": "fsyncs per commit",
    }
    for axis, (quantity, name) in zip(axes, quantities.items(), strict=True):
        _of_threads(axis, estimates(table, "scheduler", quantity, "threads"), _schedulers_in(table))
        axis.set_xlabel(name)
        axis.set_xlim(0, 1.1 * axis.get_xlim()[1])  # no marker on the frame
        axis.axvline(1, color=GREY, linewidth=0.8)
    _legend_of_threads(figure, table["threads"])
    figure.suptitle("With more threads, one write and one flush serve several commits")
    return figure


def slice_idle(published: pd.DataFrame, rows: pd.DataFrame) -> Figure:
    """Draw bfq's commits per second against slice_idle, relative to mq-deadline."""
    sweep = rows_of(rows, experiment=SWEEP)
    idlings = in_order(sweep, "idling", IDLING)
    figure = Figure(figsize=(column_width(2.5 * len(idlings) + 0.8), 3.0))
    axes = figure.subplots(1, len(idlings), sharey=True, squeeze=False)[0]
    base = rows_of(rows, experiment=TABLE, scheduler="mq-deadline", **_DURABLE_CELL)
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
    if points:
        _legend_of_threads(figure, sweep["threads"])
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
    found: list[tuple[float, Interval]] = []
    for wait, some in rows.groupby("slice_idle_ms"):
        both = pd.concat([some.assign(side=1), base.assign(side=0)])
        if (one := ratio(both, {"side": 1}, {"side": 0})) is not None:
            found.append((cast(float, wait) + number / 5, one))
    look = of_threads(look_of("bfq"), many=number > 0)
    colour = look.pop("color")
    curve(axis, found, colour, **look, ecolor=colour)


def _article(published: pd.DataFrame) -> float:
    cells = rows_of(published, threads=8, **_DURABLE_CELL).set_index("scheduler")["tps"]
    return float(cells["cfq"] / cells["mq-deadline"])
