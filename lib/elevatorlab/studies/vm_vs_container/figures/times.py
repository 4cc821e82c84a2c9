"""Counterparts of the article's Figures 1 to 4 and of its Table 5: times, side by side."""

from __future__ import annotations

from typing import Any, cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ....analysis.intervals import geometric_interval
from ....judging.matching import emulated_apart
from ....plugins.schedulers import shown_name
from ....showing.dots import dots, offset
from ....showing.estimates import estimates
from ....showing.panels import curve, log_marks, marks
from ....showing.style import COLOURS, LINES, MARKERS, arm_handles, entitle, face_colour
from ...kit.cells import in_order, rows_of
from ..measures import ARMS
from ..published import TEST_1, TEST_2
from .panels import VARIANTS, arms_in, draw_columns

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
    apart = emulated_apart(measured, ARMS)

    def draw(axis: Axes, rows: pd.DataFrame) -> None:
        _lines(axis, rows, scheduler)
        # The same range in all panels of a row, and for each scheduler, so that they compare.
        if "variant" in rows and set(rows["arm"]) <= set(apart):
            _limit(axis, measured[measured["arm"].isin(apart)])
        else:
            _limit(axis, published, measured[~measured["arm"].isin(apart)])

    figure, left = draw_columns(*tables, nothing, draw)
    _name_once(figure, left)
    for axis in left:
        axis.set_ylabel("time to read (ms, log scale)")
    arms = arms_in(*tables)
    figure.legend(handles=arm_handles(arms, ARMS), loc="outside lower center", ncols=len(arms))
    entitle(figure, f"{name}: time to read a file while another is written")
    return figure


def _name_once(figure: Figure, left: list[Axes]) -> None:
    """Label the marks of the vertical axis only in the leftmost panels."""
    for axis in figure.axes:
        axis.tick_params(axis="y", labelleft=axis in left)


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


def _limit(axis: Axes, *tables: pd.DataFrame) -> None:
    """Fit the axis to all repetitions. An interval that goes further is cut off at the frame."""
    shown = [rows[rows["variant"].isin(VARIANTS)] if "variant" in rows else rows for rows in tables]
    times_ms = [1000 * time for rows in shown for time in rows_of(rows, test=TEST_1)["time_s"]]
    low, high = min(times_ms) / 1.6, max(times_ms) * 1.9
    axis.set_ylim(low, high)
    log_marks(axis.yaxis, low, high, "{:g}")


def _size_label(rows: pd.DataFrame) -> str:
    if "size_mib" not in rows:
        return "file size (MB)\n"
    factor = (rows["published_size_mb"] / rows["size_mib"]).mean()
    return "file size (MB)\n" + ("" if factor < 1.1 else f"read here: 1/{factor:.3g} of it")


def _tree_size(rows: pd.DataFrame) -> str:
    """Return the size of the tree in words: variants that reach the disk read fewer files."""
    if "size_mib" not in rows:
        return "tree: size not given"
    return f"tree: {rows['size_mib'].mean():.2g} MiB"


def _rivals_of(rows: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that a panel's axis must fit, so that comparable panels have the same axis.

    For a rerun, these are all reruns with an emulated processor, or all others.
    """
    if "variant" not in rows:
        return rows
    apart = emulated_apart(measured, ARMS)
    shown = measured[measured["variant"].isin(VARIANTS)]
    is_apart = shown["arm"].isin(apart)
    return shown[is_apart] if set(rows["arm"]) <= set(apart) else shown[~is_apart]


def tree_times(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw the time to read the tree of small files, a line of dots for each scheduler."""
    tables = rows_of(published, test=TEST_2), rows_of(measured, test=TEST_2)
    nothing = "Test 2\nwas not run" if len(measured) else ""
    others = tables[1][~tables[1]["scheduler"].isin(TABLE_5)]
    order = [*TABLE_5, *in_order(others, "scheduler", ())]

    def look(scheduler: str, arm: str) -> dict[str, Any]:
        colour = COLOURS[scheduler]
        face = face_colour(arm, colour)
        return {"color": colour, "marker": MARKERS[arm], "markerfacecolor": face}

    def draw(axis: Axes, rows: pd.DataFrame) -> None:
        times = estimates(rows, "scheduler", "time_s", "arm", geometric_interval)
        dots(axis, times, order, look, arms_in(rows))
        # As in `_limit`: fit all repetitions, not all intervals, and use the same range for all
        # reruns that can be compared.
        axis.set_xlim(0, _rivals_of(rows, tables[1])["time_s"].max() * 1.3)
        axis.xaxis.set_major_locator(MaxNLocator(4))
        axis.set_xlabel(f"time to read (s)\n{_tree_size(rows)}")

    figure, left = draw_columns(*tables, nothing, draw)
    _name_once(figure, left)
    arms = arms_in(*tables)
    handles = arm_handles(arms, ARMS)
    for handle in handles:
        handle.set_linestyle("")
    figure.legend(handles=handles, loc="outside lower center", ncols=len(arms))
    entitle(figure, "Time to read a tree of small files while a big file is read")
    return figure
