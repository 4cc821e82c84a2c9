"""The article's charts: each test, each run."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...figures import COLOURS
from .measures import ARMS, SCHEDULERS, TESTS, VARIANTS, rows_of

_WIDTH = 0.8
"""Of a number of threads; the bars of all schedulers share it."""


def charts(rows: pd.DataFrame) -> Figure:
    """Draw throughput by number of threads, one chart a test and run.

    Parameters
    ----------
    rows : pandas.DataFrame
        Rows of one run of the study, device and variant.
    """
    runs = sorted(rows["repetition"].unique())
    figure = Figure(figsize=(9.6, 1.3 + 1.5 * len(runs)))
    grid = figure.subplots(len(runs), len(TESTS), squeeze=False, sharex=True)
    for line, run in zip(grid, runs, strict=True):
        for axis, (test, title) in zip(line, TESTS.items(), strict=True):
            _chart(axis, rows_of(rows, test=test, repetition=run))
            if run == runs[0]:
                axis.set_title(title)
            if run == runs[-1]:
                axis.set_xlabel("threads")
        line[0].set_ylabel(f"run {run}\nMiB/s")
    handles, names = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    arm, variant = rows["arm"].iloc[0], rows["variant"].iloc[0]
    figure.suptitle(f"{ARMS[arm]}, {VARIANTS[variant]}")
    return figure


def _chart(axis: Axes, rows: pd.DataFrame) -> None:
    there = [name for name in SCHEDULERS if name in set(rows["scheduler"])]
    width = _WIDTH / max(len(there), 1)
    for place, scheduler in enumerate(there):
        some = rows_of(rows, scheduler=scheduler)
        axis.bar(
            some["threads"] + (place - (len(there) - 1) / 2) * width,
            some["throughput_kib_s"] / 1024,
            width=width,
            color=COLOURS[scheduler],
            label=scheduler,
        )
    axis.grid(axis="x", visible=False)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.yaxis.set_major_locator(MaxNLocator(4))
    axis.tick_params(labelsize=7.5)
