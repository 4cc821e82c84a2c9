"""Counterparts of the article's Figures 1 to 4 and of its Table 5: times, side by side."""

from __future__ import annotations

from typing import cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ....analysis.intervals import geometric_interval
from ....plugins.schedulers import shown_name
from ....showing.bars import estimates, grouped_bars
from ....showing.dots import offset
from ....showing.panels import curve, log_marks, marks, slant
from ....showing.style import (
    COLOURS,
    GREY,
    HATCHES,
    LINES,
    MARKERS,
    arm_handles,
    face_colour,
)
from ...kit.cells import in_order, rows_of
from ..measures import ARMS
from ..published import TEST_1, TEST_2
from .panels import arms_in, draw_columns

TABLE_5 = ("none", "mq-deadline", "kyber", "bfq")
"""The schedulers in the order of the article's Table 5."""

BESIDE = 1.1
"""How far apart the arms of one size are drawn, as a factor of the size."""


def times_against_size(published: pd.DataFrame, measured: pd.DataFrame, scheduler: str) -> Figure:
    """Draw the time to read one file against its size, under one scheduler."""
    in_test = {"test": TEST_1, "scheduler": scheduler}
    tables = rows_of(published, **in_test), rows_of(measured, **in_test)
    name = shown_name(scheduler)
    nothing = f"{name}\nwas not run" if len(measured) else ""

    def draw(axis: Axes, rows: pd.DataFrame) -> None:
        _lines(axis, rows, scheduler)
        # The same range under every scheduler, so that figures can be held side by side.
        beside = (
            rows_of(measured, variant=rows["variant"].iloc[0]) if "variant" in rows else published
        )
        _limit(axis, rows_of(beside[beside["arm"].isin(rows["arm"])], test=TEST_1))

    figure, left = draw_columns(*tables, nothing, draw)
    for axis in left:
        axis.set_ylabel("time to read a file (ms, log scale)")
    arms = arms_in(*tables)
    figure.legend(handles=arm_handles(arms, ARMS), loc="outside lower center", ncols=len(arms))
    figure.suptitle(f"{name}: time to read a file while another is written")
    return figure


def _lines(axis: Axes, rows: pd.DataFrame, scheduler: str) -> None:
    arms = arms_in(rows)
    for number, arm in enumerate(arms):
        beside = BESIDE ** offset(number, len(arms))  # so that no interval hides another
        points = [
            (cast(float, size) * beside, geometric_interval(one["time_s"] * 1000))
            for size, one in rows_of(rows, arm=arm).groupby("published_size_mb")
        ]
        face = face_colour(arm, COLOURS[scheduler])
        look = {"linestyle": LINES[arm], "marker": MARKERS[arm], "markerfacecolor": face}
        curve(axis, points, COLOURS[scheduler], **look)
    axis.set(xscale="log", yscale="log", xlabel=_size_label(rows))
    axis.set_xlim(10 / 1.15, 100 * 1.15)
    marks(axis.xaxis, (10, 20, 50, 100))


def _limit(axis: Axes, rows: pd.DataFrame) -> None:
    """Leave room for every repetition; an interval that knows less than that leaves the panel."""
    low, high = rows["time_s"].min() * 1000 / 1.6, rows["time_s"].max() * 1000 * 1.9
    axis.set_ylim(low, high)
    log_marks(axis.yaxis, low, high, "{:g}")


def _size_label(rows: pd.DataFrame) -> str:
    if "size_mib" not in rows:
        return "file size (MB)\n"
    factor = (rows["published_size_mb"] / rows["size_mib"]).mean()
    return "file size (MB)\n" + ("" if factor < 1.1 else f"read here: 1/{factor:.3g} of it")


def tree_times(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw the time to read the tree of small files, as bars."""
    tables = rows_of(published, test=TEST_2), rows_of(measured, test=TEST_2)
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
    grouped_bars(
        axis,
        estimates(rows, "scheduler", "time_s", "arm", geometric_interval),
        in_order(rows, "scheduler", TABLE_5),
        lambda name, arm: {"facecolor": COLOURS[name], "hatch": HATCHES[arm]},
        arms_in(rows),
    )
    # As for the lines: room for every repetition, not for every interval.
    axis.set_ylim(0, rows["time_s"].max() * 1.3)
    slant(axis)
    axis.yaxis.set_major_locator(MaxNLocator(6))
