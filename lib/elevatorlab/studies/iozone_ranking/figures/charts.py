"""The article's charts: each test, by number of threads and scheduler."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....analysis.intervals import mean_interval
from ....plugins.schedulers import marker_of, shown_name
from ....showing.dots import offset
from ....showing.panels import curve, facets, panels_of
from ....showing.style import COLOURS, GREY, TWO_COLUMNS, look_of
from ...kit.cells import in_order, rows_of
from ..measures import SCHEDULERS, TESTS, devices_in
from .panels import SHORT

_CELL = ["arm", "test", "threads", "repetition"]


def charts(rows: pd.DataFrame) -> Figure:
    """Draw each scheduler's throughput relative to the mean of all, one panel per device and test.

    `rows`: Rows of one run of the study, and of one variant.
    """
    logs = np.log(rows["throughput_kib_s"])
    beyond = np.exp(logs - logs.groupby([rows[name] for name in _CELL]).transform("mean")) - 1
    shown, devices = rows.assign(percent=100 * beyond), devices_in(rows)
    schedulers = in_order(rows, "scheduler", SCHEDULERS)
    grid = facets(
        shown,
        (TWO_COLUMNS, 0.9 + 1.25 * len(devices)),
        **{"row": "arm", "row_order": devices, "col": "test", "col_order": list(TESTS)},
        **{"sharex": False, "sharey": True},
    )
    for axis, some in panels_of(grid):
        _panel(axis, some, schedulers)
    grid.set_titles("")
    for axis, title in zip(grid.axes[0], TESTS.values(), strict=True):
        axis.set_title(title)
    for axis in grid.axes[-1]:
        axis.set_xlabel("threads\nmean (MiB/s)")
    most = 1.1 * max(abs(end) for axis in grid.axes.flat for end in axis.dataLim.intervaly)
    grid.axes[0][0].set_ylim(-most - 1, most + 1)
    for line, device in zip(grid.axes, devices, strict=True):
        line[0].set_ylabel(SHORT.get(device, device).replace(" without", "\nwithout"))
    handles = [
        Line2D([], [], linestyle="", label=shown_name(name), **look_of(name)) for name in schedulers
    ]
    figure: Figure = grid.figure
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    figure.supylabel("throughput beyond the mean (%)")
    figure.suptitle("Throughput with each scheduler, relative to the mean of all")
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, schedulers: list[str]) -> None:
    threads = sorted(rows["threads"].unique())
    for number, name in enumerate(schedulers):
        shift = offset(number, len(schedulers), spread=0.7)
        of_name = rows_of(rows, scheduler=name)
        points = [
            (threads.index(count) + shift, mean_interval(some["percent"]))
            for count, some in of_name.groupby("threads")
        ]
        curve(axis, points, COLOURS[name], marker=marker_of(name), linestyle="none", markersize=3.5)
    means = rows.groupby("threads")["throughput_kib_s"].mean() / 1024
    axis.set_xticks(range(len(threads)), [f"{count:g}\n{means[count]:.0f}" for count in threads])
    axis.set_xlim(-0.5, len(threads) - 0.5)
    axis.grid(axis="x", visible=False)
    axis.axhline(0, color=GREY, linewidth=0.8)
