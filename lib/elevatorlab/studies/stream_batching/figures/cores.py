"""Figures 3 and 4: throughput by cores, as published, predicted from one core, and emulated."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ....analysis.intervals import mean_interval
from ....judging.matching import runs
from ....showing.style import COLOURS, GREY, PREDICTED, PUBLISHED, TWO_COLUMNS
from ...kit.cells import rows_of
from ...kit.tables import cells
from ..measures import (
    DRIVERS,
    READ_PERCENT,
    TARGETS,
    THROUGHPUT,
    at,
    limit_kiops,
    predicted_kiops,
    where_of,
)
from ..published import SCHEDULER
from .latency import on_scale
from .panels import compared_schedulers, drivers_in, line, scheduler_handles, source_handles

OPERATIONS = {"randread": "(a) random read", "randwrite": "(b) random write"}


#: The look of values from emulated cores: no line, and a marker that no scheduler has.
EMULATED: dict[str, Any] = {"linestyle": "", "marker": "d", "markersize": 5.5, "zorder": 3}


def cores(
    published: pd.DataFrame, measured: pd.DataFrame, emulated: pd.DataFrame, target: str
) -> Figure:
    """Draw throughput against cores for one target.

    `measured`: Rows of one run in which host and target share their processors. Predictions come
    from these. `emulated`: Rows of all runs in which host and target have processors of their own.
    """
    rows = rows_of(measured, target=target)
    own = rows_of(emulated, target=target)
    figure = Figure(figsize=(TWO_COLUMNS, 3.1))
    axes = figure.subplots(1, 2)
    for axis, (operation, title) in zip(axes, OPERATIONS.items(), strict=True):
        shown = published[
            (published["target"] == target)
            & (published["operation"] == operation)
            & published["cores"].notna()
        ]
        for name, scheduler in SCHEDULER.items():
            some = rows_of(shown, scheduler=name)
            axis.plot(
                some["cores"], some["throughput_kiops"], color=COLOURS[scheduler], **PUBLISHED
            )
        _predicted(axis, rows, target, operation, int(shown["cores"].max()))
        _emulated(axis, own, operation)
        limit = limit_kiops(target, operation)
        if limit < 1.5 * shown["throughput_kiops"].max():
            axis.axhline(limit, color=GREY, linewidth=0.8)
            axis.text(
                0.98,
                limit,
                "link (100 Gb/s)" if target == "ram" else "SSD (as published)",
                transform=axis.get_yaxis_transform(),
                ha="right",
                va="bottom",
                color=GREY,
            )
            axis.set_ylim(top=1.15 * limit)  # room for those words
        axis.set(title=title, xlabel="cores")
        axis.set_ylim(bottom=0)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0].set_ylabel("throughput (kIOPS)")
    handles = [
        *scheduler_handles(compared_schedulers(rows)),
        *source_handles(drivers_in(rows)),
    ]
    handles += [
        Line2D([], [], color=GREY, label=f"predicted, {DRIVERS[driver]}", **_predicted_with(driver))
        for driver in drivers_in(rows)
    ]
    if not own.empty:
        handles.append(Line2D([], [], color=GREY, label="emulated cores", **EMULATED))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle(f"{TARGETS[target]}, 4 KiB, depth 64, by cores{on_scale(rows)}")
    return figure


def _predicted(
    axis: Axes, rows: pd.DataFrame, target: str, operation: str, most_cores: int
) -> None:
    """Draw the measured throughput of one core, and a line of what it predicts for more cores."""
    for driver in drivers_in(rows):
        for scheduler in compared_schedulers(rows):
            name = next((one for one, ours in SCHEDULER.items() if ours == scheduler), scheduler)
            what = {"target": target, "operation": operation, "driver": driver, "scheduler": name}
            found = at(rows, THROUGHPUT, **where_of(what, rows), scheduler=scheduler)
            if found.empty:
                continue
            numbers = range(1, most_cores + 1)
            found_kiops = (predicted_kiops(rows, what, number) for number in numbers)
            kiops = [rate for rate in found_kiops if rate is not None]
            axis.plot(numbers, kiops, color=COLOURS[scheduler], **_predicted_with(driver))
            scale = where_of(what, rows)["time_scale"]
            one_core = mean_interval(found * scale / 1000)
            line(axis, [(1, one_core)], scheduler, driver)


def _predicted_with(driver: str) -> dict[str, Any]:
    """Return how a prediction is drawn: with wide gaps for the stock driver."""
    return {**PREDICTED, "linestyle": (0, (1, 3))} if driver == "stock" else PREDICTED


def _emulated(axis: Axes, own: pd.DataFrame, operation: str) -> None:
    """Draw what each arrangement of the emulator gave for each number of cores."""
    for run in runs(own):
        for what, some in cells(run.rows, ("target", "driver", "time_scale", "cores", "scheduler")):
            where = {name: what[name] for name in ("target", "driver", "scheduler")}
            found = at(some, THROUGHPUT, **where, read_percent=READ_PERCENT[operation])
            if what["scheduler"] in compared_schedulers(own) and not found.empty:
                kiops = found.mean() * what["time_scale"] / 1000
                axis.plot(what["cores"], kiops, color=COLOURS[what["scheduler"]], **EMULATED)
