"""What the device does meanwhile: idle while a commit waits, and group commit."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ....analysis.intervals import Interval
from ....showing.bars import estimates
from ....showing.panels import slant
from ....showing.style import COLOURS, GREY
from ...kit.cells import rows_of
from ..measures import SWEEP, TABLE
from .panels import DURABLE_CELL, legend_of_threads, of_threads, schedulers_in


def idle(rows: pd.DataFrame) -> Figure:
    """Draw the share of the time in which a request waited and the device had none."""
    figure = Figure(figsize=(7, 3.2))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    table = rows_of(rows, experiment=TABLE, **DURABLE_CELL)
    known = table["idle_while_waiting_ratio"].notna().any()
    of_threads(left, _shares(table, "scheduler"), schedulers_in(table))
    slant(left)
    left.set_title("as it comes" if known else "not known: the kernel offers no tracepoints")
    left.set_ylabel("idle while a request waited,\nshare of the time")
    sweep = rows_of(rows, experiment=SWEEP, idling="strict_guarantees")
    sweep = sweep.assign(wait=sweep["slice_idle_ms"].map("{:g}".format))
    waits = [f"{wait:g}" for wait in sorted(set(sweep["slice_idle_ms"]))]
    of_threads(right, _shares(sweep, "wait"), waits, dict.fromkeys(waits, COLOURS["bfq"]))
    right.set_xlabel("slice_idle, ms")
    right.set_title("bfq, strict_guarantees" + ("" if waits else ": not run"))
    legend_of_threads(left, table["threads"])
    left.set_ylim(0, min(left.get_ylim()[1], 1))
    figure.suptitle("The device stands idle while a commit waits")
    return figure


def _shares(rows: pd.DataFrame, group: str) -> dict[tuple[str, int], Interval]:
    """Return the means of a share of the time, which no interval makes negative or more than 1."""
    found = estimates(rows, group, "idle_while_waiting_ratio", "threads")
    return {key: one.map(lambda end: min(max(end, 0.0), 1.0)) for key, one in found.items()}


def group_commit(rows: pd.DataFrame) -> Figure:
    """Draw what reaches the device for each commit."""
    figure = Figure(figsize=(7, 3.2))
    axes = figure.subplots(1, 2)
    table = rows_of(rows, experiment=TABLE, **DURABLE_CELL)
    quantities = {"writes_per_commit": "writes a commit", "fsyncs_per_commit": "fsyncs a commit"}
    for axis, (quantity, name) in zip(axes, quantities.items(), strict=True):
        heights = estimates(table, "scheduler", quantity, "threads")
        of_threads(axis, heights, schedulers_in(table))
        slant(axis)
        axis.set_title(name)
        axis.axhline(1, color=GREY, linewidth=0.8)
    legend_of_threads(axes[1], table["threads"])
    figure.suptitle("Group commit: with more threads one write and one flush serve several commits")
    return figure
