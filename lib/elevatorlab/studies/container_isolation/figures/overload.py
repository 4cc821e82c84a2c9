"""Figure 6 of the paper: waits beside an overloaded container."""

from __future__ import annotations

from typing import cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ....analysis.intervals import mean_interval
from ....showing.labels import End, label_ends
from ....showing.panels import curve
from ....showing.style import GREY, TWO_COLUMNS
from ..measures.interference import rises, waits
from ..published import printed_wait_ms
from .curves import MEASURED

OVERLOADED_COLOUR = "#882255"
SUM_COLOUR = GREY


def overload(measured: pd.DataFrame) -> Figure:
    """Draw waits with and without an overloaded container, and how much they rise (dW and dSW)."""
    figure = Figure(figsize=(TWO_COLUMNS, 3.0))
    left, right = figure.subplots(1, 2)
    found = waits(measured)
    for column, overloaded, colour, face, label in (
        ("normal_ms", 0, MEASURED, "white", "normal, without overload"),
        ("normal_ms", 1, MEASURED, MEASURED, "normal, beside overload"),
        ("overloaded_ms", 1, OVERLOADED_COLOUR, OVERLOADED_COLOUR, "overloaded"),
    ):
        rows = found[found["overloaded"] == overloaded]
        _line(left, rows[rows["containers"] < 10], column, colour, face, label)
    for containers, who, colour, face in (
        (0, "overloaded, alone", OVERLOADED_COLOUR, OVERLOADED_COLOUR),
        (1, "normal, before", MEASURED, "white"),
        (1, "normal, with overload (in the subtraction)", MEASURED, MEASURED),
        (1, "overloaded, with normal", OVERLOADED_COLOUR, OVERLOADED_COLOUR),
    ):
        _star(left, containers, printed_wait_ms(who), colour, face)
    rise = rises(measured)
    names = []
    for column, colour, label in (
        ("rise_ms", MEASURED, "ΔW, a normal one"),
        ("overloaded_rise_ms", OVERLOADED_COLOUR, "ΔW, the overloaded one"),
        ("system_rise_ms", SUM_COLOUR, "ΔSW, sum over all"),
    ):
        _line(right, rise, column, colour, colour, label)
        known = rise.dropna(subset=[column])
        if len(known):
            last = known[known["containers"] == known["containers"].max()]
            names.append(End(label, colour, float(last[column].mean())))
    for who, colour in (("normal", MEASURED), ("overloaded", OVERLOADED_COLOUR)):
        _star(right, 1, printed_wait_ms(f"{who}, difference"), colour, colour)
    for axis, name in ((left, "wait (ms)"), (right, "rise of the wait (ms)")):
        axis.set_xlabel("normal containers")
        axis.set_ylabel(name)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_ylim(bottom=0)
    left.set_ylim(top=1.35 * left.get_ylim()[1])  # room for the legend
    handles, _ = left.get_legend_handles_labels()
    star = Line2D([], [], color=GREY, marker="*", markersize=9, linestyle="")
    star.set_label("published, in these colours")
    left.legend(handles=[*handles, star])
    label_ends(right, names)
    figure.suptitle("What an overloaded container does to the waits of the others")
    return figure


def _star(axis: Axes, containers: int, wait_ms: float, colour: str, face: str) -> None:
    """Draw a published value in the colours of its measured counterpart."""
    axis.plot(
        *(containers, wait_ms, "*"),
        markeredgecolor=colour,
        markerfacecolor=face,
        markersize=9,
        zorder=5,
    )


def _line(axis: Axes, rows: pd.DataFrame, column: str, colour: str, face: str, label: str) -> None:
    points = {
        cast(float, count): mean_interval(values)
        for count, values in rows.dropna(subset=[column]).groupby("containers")[column]
    }
    curve(
        axis, points.items(), colour, ecolor=colour, marker="o", markerfacecolor=face, label=label
    )
