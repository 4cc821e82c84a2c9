"""Counterparts of the article's Figures 1 to 4 and of its Table 5: times, side by side."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ...analysis.intervals import Interval, geometric_interval
from ...figures import COLOURS, GREY, HATCHES, LINES, MARKERS, arm_handles, face_colour
from .measures import ARMS, rows_of
from .panels import arms_in, draw_columns, error, log_marks
from .published import TEST_1, TEST_2

TABLE_5 = ("none", "mq-deadline", "kyber", "bfq")
"""The schedulers in the order of the article's Table 5."""


def times_against_size(published: pd.DataFrame, measured: pd.DataFrame, scheduler: str) -> Figure:
    """Draw the time to read one file against its size, under one scheduler."""
    tables = [rows_of(table, test=TEST_1, scheduler=scheduler) for table in (published, measured)]
    nothing = f"{scheduler}\nwas not run" if len(measured) else ""

    def draw(axis: Axes, rows: pd.DataFrame) -> None:
        _lines(axis, rows, scheduler)

    figure, left = draw_columns(*tables, nothing, draw)
    for axis in left:
        axis.set_ylabel("time to read the file (ms, log scale)")
    arms = arms_in(*tables)
    figure.legend(handles=arm_handles(arms, ARMS), loc="outside lower center", ncols=len(arms))
    figure.suptitle(f"{scheduler}: time to read a file while another is written")
    return figure


def _lines(axis: Axes, rows: pd.DataFrame, scheduler: str) -> None:
    for arm in arms_in(rows):
        points = [
            (size, geometric_interval(one["time_s"] * 1000))
            for size, one in rows_of(rows, arm=arm).groupby("published_size_mb")
        ]
        _line(axis, points, scheduler, arm)
    axis.set(xscale="log", yscale="log", xlabel=_size_label(rows))
    axis.set_xlim(10 / 1.15, 100 * 1.15)
    axis.xaxis.set_major_locator(FixedLocator([10, 20, 50, 100]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda mark, _: f"{mark:g}"))
    # Room for every repetition; an interval that knows less than that leaves the panel.
    low, high = rows["time_s"].min() * 1000 / 1.6, rows["time_s"].max() * 1000 * 1.9
    axis.set_ylim(low, high)
    log_marks(axis.yaxis, low, high, "{:g}")


def _line(axis: Axes, points: list[tuple[float, Interval]], scheduler: str, arm: str) -> None:
    errors = None
    if all(time.bounded for _, time in points):
        errors = [
            [time.value - time.low for _, time in points],
            [time.high - time.value for _, time in points],
        ]
    axis.errorbar(
        [size for size, _ in points],
        [time.value for _, time in points],
        yerr=errors,
        color=COLOURS[scheduler],
        linestyle=LINES[arm],
        marker=MARKERS[arm],
        markerfacecolor=face_colour(arm, COLOURS[scheduler]),
        ecolor=GREY,
        elinewidth=1,
        capsize=2,
    )


def _size_label(rows: pd.DataFrame) -> str:
    if "size_mib" not in rows:
        return "file size (MB)"
    factor = (rows["published_size_mb"] / rows["size_mib"]).mean()
    scaled = "" if factor < 1.1 else f"\nread here: 1/{factor:.3g} of it"
    return f"file size in the article (MB){scaled}"


def tree_times(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw the time to read the tree of small files, as bars."""
    tables = [rows_of(table, test=TEST_2) for table in (published, measured)]
    nothing = "Test 2\nwas not run" if len(measured) else ""
    figure, left = draw_columns(*tables, nothing, _bars)
    for axis in left:
        axis.set_ylabel("time to read the tree (s)")
    arms = arms_in(*tables)
    patches = [
        Patch(facecolor=GREY, edgecolor="white", hatch=HATCHES[arm], label=ARMS[arm])
        for arm in arms
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(arms))
    figure.suptitle("Time to read a tree of small files while a big file is read")
    return figure


def _bars(axis: Axes, rows: pd.DataFrame) -> None:
    arms = arms_in(rows)
    order = [name for name in TABLE_5 if name in set(rows["scheduler"])]
    width = 0.8 / len(arms)
    for place, arm in enumerate(arms):
        for position, scheduler in enumerate(order):
            one = rows_of(rows, arm=arm, scheduler=scheduler)
            if one.empty:
                continue
            time_s = geometric_interval(one["time_s"])
            axis.bar(
                position - 0.4 + width * (place + 0.5),
                time_s.value,
                width * 0.92,
                yerr=error(time_s),
                color=COLOURS[scheduler],
                edgecolor="white",
                hatch=HATCHES[arm],
                error_kw={"ecolor": "black", "elinewidth": 1, "capsize": 2},
            )
    # As for the lines: room for every repetition, not for every interval; and for a word above.
    axis.set_ylim(0, rows["time_s"].max() * 1.3)
    axis.set_xlim(-0.6, len(order) - 0.4)
    axis.set_xticks(range(len(order)), order, rotation=30, ha="right", rotation_mode="anchor")
    axis.grid(axis="x", visible=False)
    axis.yaxis.set_major_locator(MaxNLocator(6))
