"""The drawing of the study's figures: the devices and variants of a run, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...analysis.friedman import Friedman
from ...analysis.intervals import mean_interval
from ...plugins.schedulers import marker_of, shown_name
from ...showing.estimates import dots, estimates, offset
from ...showing.panels import curve, facets, panels_of, say
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
from .measures import HERE, SCHEDULERS, TESTS, VARIANTS, devices_in, gain, over_tests, ranking
from .published import points

SHORT = {
    "notebook-5400": "notebook drive",
    "desktop-7200": "desktop drive",
    "single_server_disk": "disk without an arm",
    "sata_ssd": "SATA SSD",
    "nvme_ssd": "NVMe SSD",
    "ram_disk": "RAM disk",
    "file_backed": "file-backed",
    "disk": "disk",
    "as_published": "as published",
    "direct": "direct (-I)",
}


def panels(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a title and the rows of each device and variant that was measured."""
    for arm in devices_in(rows):
        for variant in VARIANTS:
            some = rows_of(rows, arm=arm, variant=variant)
            if len(some):
                yield f"{SHORT.get(arm, arm)}\n{SHORT[variant]}", some


def points_won(rows: pd.DataFrame) -> Figure:
    """Draw the printed points, and those of every device and variant."""
    names = in_order(rows, "scheduler", [*SCHEDULERS]) if len(rows) else [*HERE.values()]
    measured = list(panels(rows))
    columns = 1 + math.ceil(len(measured) / 2)
    figure = Figure(figsize=(column_width(0.8 + 1.24 * columns), 3.9))
    grid = figure.subplots(2, columns, squeeze=False, sharey=True)
    by_computer = points().groupby("computer", sort=False)
    for axis, (computer, printed) in zip(grid[:, 0], by_computer, strict=True):
        _printed_points(axis, printed, names)
        axis.set_title(f"printed:\n{computer}")
    others = grid[:, 1:].T.ravel()
    for axis, (title, some) in zip(others, measured, strict=False):
        _measured_points(axis, some, names)
        axis.set_title(title)
    for axis in others[len(measured) :]:
        axis.set_visible(False)
    figure.suptitle("Points for ranks")
    return figure


def _look(name: str, _: None) -> dict[str, Any]:
    return look_of(name)


def _printed_look(name: str, _: None) -> dict[str, Any]:
    return look_of_published(name)


def _printed_points(axis: Axes, printed: pd.DataFrame, names: list[str]) -> None:
    dots(axis, estimates(printed, "descendant", "points"), names, _printed_look)
    for name in set(HERE.values()).intersection(names).difference(printed["descendant"]):
        axis.text(1, names.index(name), "not printed", va="center", color=GREY)
    axis.set(xlim=(0, 30), xlabel="points")


def _measured_points(axis: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    found = ranking(rows, tuple(in_order(rows, "scheduler", SCHEDULERS)))
    if found is None:
        say(axis, "fewer than\ntwo schedulers")
        return
    values = {(name, None): found.interval[name] for name in found.total.index}
    dots(axis, values, names, _look)
    for name in found.total.index:
        if not math.isnan(found.wins[name]):
            place, beside = (1.02, names.index(name)), ("axes fraction", "data")
            axis.annotate(f"{found.wins[name]:.0%}", place, xycoords=beside, va="center")
    axis.annotate("wins", (1.02, 1.0), xycoords="axes fraction", va="bottom", color=GREY)
    axis.set_xlim(0, found.comparisons * (len(found.total) - 1))
    axis.set_xlabel(f"points\n(winner: {found.says})")


LEVEL = 0.05
"""Two schedulers are told apart if Nemenyi's p-value is below this level."""


def critical_difference(rows: pd.DataFrame) -> Figure:
    """Draw the mean ranks, and which of them Nemenyi's test does not tell apart."""
    shown = [
        (title, found)
        for title, some in panels(rows)
        if (found := over_tests(some, tuple(in_order(some, "scheduler", SCHEDULERS))))
    ]
    lines = max(1, -(-len(shown) // 2))
    most = max([len(found.ranks) for _, found in shown], default=2)
    figure = Figure(figsize=(TWO_COLUMNS, 0.5 + (1.0 + 0.17 * most) * lines))
    axes = figure.subplots(lines, 2, sharex=True).ravel()
    for axis in axes[len(shown) :]:
        axis.set_axis_off()
    for axis, (title, found) in zip(axes, shown, strict=False):
        _diagram(axis, found)
        p_value = "" if math.isnan(found.p_value) else f"p = {found.p_value:.2g}, "
        details = f"{p_value}critical difference {found.critical_difference:.2g}"
        axis.set_title(f"{title.replace(chr(10), ', ')}\n{details}")
        axis.set_xlabel("mean rank (1 is best)")
    figure.suptitle("Mean ranks and the critical difference")
    return figure


def _diagram(axis: Axes, found: Friedman) -> None:
    """Draw a line of the panel for each scheduler, and black bars above that join schedulers.

    Each scheduler has its own line, so equal ranks do not hide one another.
    """
    joined = alike(found)
    for place, (name, rank) in enumerate(found.ranks.items()):
        look = look_of(str(name))
        axis.plot([rank, rank], [-1 - len(joined), place], color=look["color"], linewidth=1)
        axis.plot(rank, place, linestyle="", zorder=3, **look)
    for number, (best, worst) in enumerate(joined, 1):
        ends = found.ranks.iloc[[best, worst]]
        axis.plot(ends, [-number] * 2, color="black", linewidth=2.5, solid_capstyle="butt")
    names = [f"{shown_name(name)} ({rank:.2f})" for name, rank in found.ranks.items()]
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -1.2 - len(joined))
    axis.margins(x=0.06)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)


def alike(found: Friedman) -> list[tuple[int, int]]:
    """Return the first and the last place of each group that the test does not tell apart.

    The places count along `found.ranks`. A group inside another group is left out.
    """
    names, groups = list(found.ranks.index), list[tuple[int, int]]()
    for first, best in enumerate(names):
        near = [place for place, name in enumerate(names) if found.pairs.loc[best, name] >= LEVEL]
        last = max([first, *near])
        if last > max([first, *(end for _, end in groups)]):
            groups.append((first, last))
    return groups


ARTICLE_PERCENT = 30


def gains(rows: pd.DataFrame) -> Figure:
    """Draw the gain of the best scheduler over the worst, by test."""
    shown = list(panels(rows))
    columns = max(1, -(-len(shown) // 2))
    figure = Figure(figsize=(column_width(1.2 + 1.45 * columns), 4.2))
    grid = figure.subplots(2, columns, squeeze=False, sharey=True)
    for axis, (title, some) in zip(grid.T.ravel(), shown, strict=False):
        _gains(axis, some)
        axis.set_title(title)
    for axis in grid.T.ravel()[len(shown) :]:
        axis.set_visible(False)
    for axis in grid[-1]:
        axis.set_xlabel("gain (%)")
    best = in_order(rows, "scheduler", SCHEDULERS)
    handles = [
        Line2D([], [], linestyle="", label=f"best: {shown_name(name)}", **look_of(name))
        for name in best
    ]
    handles += thread_handles(_ends(rows))
    handles.append(
        Line2D([], [], color=GREY, label=f"{ARTICLE_PERCENT} %, the article's gain", **PUBLISHED)
    )
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle("Gain of the best scheduler over the worst")
    return figure


def _ends(rows: pd.DataFrame) -> list[int]:
    """Return the smallest and the largest number of threads."""
    return sorted({int(rows["threads"].min()), int(rows["threads"].max())}) if len(rows) else []


def _gains(axis: Axes, rows: pd.DataFrame) -> None:
    axis.axvline(ARTICLE_PERCENT, color=GREY, **PUBLISHED)
    ends = _ends(rows)
    found = {
        (test, threads): one
        for test in TESTS
        for threads in ends
        if (one := gain(rows_of(rows, test=test, threads=threads)))
    }

    def look(test: str, threads: int) -> dict[str, Any]:
        return of_threads(look_of(found[test, threads][0]), many=threads > ends[0])

    percent = {key: gained for key, (_, _, gained) in found.items()}
    dots(axis, percent, list(TESTS), look, ends)
    axis.set_yticks(range(len(TESTS)), list(TESTS.values()))
    furthest = max([ARTICLE_PERCENT, *(one.value for one in percent.values())])
    axis.set_xlim(-0.03 * furthest, 1.25 * furthest)


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
    how = VARIANTS[rows["variant"].iloc[0]]
    figure.suptitle(f"Throughput relative to the mean of all schedulers, {how}")
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
