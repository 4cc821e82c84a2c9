"""What the device does while commits wait: how long it is idle, and what one commit costs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....analysis.intervals import Interval
from ....showing.estimates import estimates
from ....showing.style import GREY, TWO_COLUMNS
from ...kit.cells import rows_of
from ..measures import SWEEP, TABLE
from .panels import DURABLE_CELL, legend_of_threads, of_threads, schedulers_in


def idle(rows: pd.DataFrame) -> Figure:
    """Draw the share of the time in which a request waited while the device was idle."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.9))
    left, right = figure.subplots(1, 2, sharex=True, width_ratios=(3, 2))
    table = rows_of(rows, experiment=TABLE, **DURABLE_CELL)
    known = table["idle_while_waiting_ratio"].notna().any()
    _shares_of_threads(left, table, "scheduler", schedulers_in(table))
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
    legend_of_threads(figure, table["threads"])
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
    of_threads(axis, _shares(rows, group), order, schedulers)
    axis.set_ylabel("")


def _shares(rows: pd.DataFrame, group: str) -> dict[tuple[str, int], Interval]:
    """Return the mean shares of idle time, with intervals cut at 0 and 1."""
    found = estimates(rows, group, "idle_while_waiting_ratio", "threads")
    return {key: one.map(lambda end: min(max(end, 0.0), 1.0)) for key, one in found.items()}


def group_commit(rows: pd.DataFrame) -> Figure:
    """Draw the writes that reach the device, and the server's fsyncs, per commit."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.5))
    axes = figure.subplots(1, 2, sharey=True)
    table = rows_of(rows, experiment=TABLE, **DURABLE_CELL)
    quantities = {
        "writes_per_commit": "writes per commit",
        "fsyncs_per_commit": "fsyncs per commit",
    }
    for axis, (quantity, name) in zip(axes, quantities.items(), strict=True):
        of_threads(axis, estimates(table, "scheduler", quantity, "threads"), schedulers_in(table))
        axis.set_xlabel(name)
        axis.set_xlim(0, 1.1 * axis.get_xlim()[1])  # no marker on the frame
        axis.axvline(1, color=GREY, linewidth=0.8)
    legend_of_threads(figure, table["threads"])
    figure.suptitle("With more threads, one write and one flush serve several commits")
    return figure
