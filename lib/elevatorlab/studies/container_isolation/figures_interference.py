"""Figures 1 to 6 of the paper: what each of n containers gets, and how long it waits."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ...analysis.intervals import mean_interval
from ...analysis.models import CLOSED_BUSY, CLOSED_SHARE, LOGARITHMIC, POWER
from ...analysis.queueing import interactive_wait_ms, md1_wait_ms, mean_value_analysis, mm1_wait_ms
from ...showing.labels import End, label_ends
from ...showing.panels import curve
from ...showing.style import BLUE, GREY, ONE_COLUMN, PREDICTED, TWO_COLUMNS, WARNING
from .measures import ONE_SERVER, QUANTITIES, by_load, curves_over_containers, knee_of, rises, waits
from .published import endpoint, endpoints, printed_wait_ms
from .trials_containers import REQUEST_BYTES, THINK_US, service_ms

MEASURED, PUBLISHED = BLUE, "black"
_CLOSED = {"color": "#222222", "linestyle": "-", "marker": "."}
LAWS: dict[str, dict[str, Any]] = {
    POWER.name: {"color": "#5A5A5A", "linestyle": "--", "marker": "x"},
    LOGARITHMIC.name: {"color": "#8A8A8A", "linestyle": "-.", "marker": "+"},
    CLOSED_SHARE.name: _CLOSED,
    CLOSED_BUSY.name: _CLOSED,
}
"""Each law's line and the marker of its residuals; in greys, because colours mean schedulers."""
LABELS = {
    "iops": "Writes/s of a container",
    "write_kb_s": "KiB/s of a container",
    "utilization_percent": "Utilisation of a container's device",
    "queue_length": "Queue length of a container's device",
}
AXES = {
    "iops": "writes/s",
    "write_kb_s": "KiB/s",
    "utilization_percent": "utilisation (ratio)",
    "queue_length": "queue length (writes)",
}
UNITS = {
    "iops": "writes/s",
    "write_kb_s": "KiB/s",
    "utilization_percent": "ratio",
    "queue_length": "writes",
}
MOST = 20


def exact(quantity: str) -> pd.Series:
    """Return what exact mean-value analysis predicts, by number of containers.

    It assumes one server with the disk's mean service time.
    """
    table = mean_value_analysis(service_ms(), THINK_US / 1e3, MOST)
    if quantity == "iops":
        return table["iops"]
    if quantity == "write_kb_s":
        return table["iops"] * REQUEST_BYTES / 1024
    return table["utilization_ratio"]


def curves(measured: pd.DataFrame, quantity: str) -> Figure:
    """Draw a quantity over the number of containers, with rivals and residuals."""
    figure = Figure(figsize=(ONE_COLUMN, 3.8))
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    loads, column = by_load(measured), QUANTITIES[quantity]
    _published(top, quantity)
    law = exact(quantity)
    top.plot(law.index, law, color=GREY, **PREDICTED, label="exact MVA, one server")
    if len(loads):
        top.plot(
            loads["containers"],
            loads[column],
            "o",
            color=MEASURED,
            markersize=3,
            zorder=4,
            label="measured (each repetition)",
        )
        _fits(top, below, loads, quantity)
    top.set_ylabel(AXES[quantity])
    falls = law.iloc[0] > law.iloc[-1]  # so that its own corner is free
    top.legend(loc="upper right" if falls else "lower right")
    top.set_ylim(bottom=0)
    below.axhline(0, color=GREY, linewidth=0.8)
    below.set_ylabel(f"residual\n({UNITS[quantity]})")
    below.set_xlabel("equal containers")
    below.set_xlim(-0.2, MOST + 1.2)
    below.set_xticks((1, *range(5, MOST + 1, 5)))
    figure.suptitle(LABELS[quantity].replace(" of", "\nof", 1))
    return figure


def _published(axis: Axes, quantity: str) -> None:
    printed = endpoints()
    printed = printed[printed["quantity"] == quantity]
    scale = 100 if quantity == "utilization_percent" else 1
    axis.plot(
        printed["containers"],
        printed["value"] / scale,
        "*",
        color=PUBLISHED,
        markersize=11,
        markerfacecolor="white",  # open, as all that is published
        zorder=1,  # a measured dot at the same place is visible
        label="published ends",
    )


def _fits(top: Axes, below: Axes, loads: pd.DataFrame, quantity: str) -> None:
    found = curves_over_containers(loads, quantity)
    if found is None:
        below.text(
            0.5,
            0.5,
            "too few loads to compare curves",
            transform=below.transAxes,
            ha="center",
            va="center",
            color=WARNING,
        )
        return
    across = np.linspace(loads["containers"].min(), loads["containers"].max(), 200)
    for one in found.fits:
        if one.model.name not in LAWS:
            continue
        look = LAWS[one.model.name]
        curve = one.predict(across)
        label = one.model.name
        if one is found.best:
            label += f" (best of {len(found.fits)})"
            top.fill_between(across, curve.low, curve.high, color=GREY, alpha=0.2, linewidth=0)
        # Only the legend shows the marker beside the line; the curve itself has no points.
        top.plot(across, curve.value, **look, linewidth=1, markersize=5, markevery=[], label=label)
        below.plot(one.x, one.residuals, **look | {"linestyle": ""}, markersize=5)


TALLEST_MS = 45


def wait(measured: pd.DataFrame) -> Figure:
    """Draw the wait against the utilisation of a container's own device (closed load)."""
    figure = Figure(figsize=(ONE_COLUMN, 3.5))
    axis = figure.subplots()
    across = np.linspace(0.02, 0.97, 300)
    first_ms, first = printed_wait_ms("normal, before"), endpoint("utilization_percent", 1) / 100
    axis.plot(
        across,
        interactive_wait_ms(across, THINK_US / 1e3),
        color=GREY,
        **PREDICTED,
        label="closed law W = Z U / (1 - U), Z = 2.23 ms",
    )
    axis.plot(
        across,
        mm1_wait_ms(across, first_ms * (1 - first)),
        color=GREY,
        **PREDICTED | {"linestyle": "-."},
        label="M/M/1 through the first star",
    )
    axis.plot(
        [first, 0.71, 0.92],
        [first_ms, printed_wait_ms("71 %"), 30.0],
        "*",
        color="black",
        markerfacecolor="white",  # open, as all that is published
        markersize=11,
        zorder=1,  # a measured dot at the same place is visible
        label="published (at 92 %: a lower bound)",
    )
    loads = by_load(measured)
    if len(loads):
        axis.plot(
            loads["utilization_ratio"],
            loads["wait_ms"],
            "o",
            color=MEASURED,
            markersize=3.5,
            zorder=4,
            label="measured, each load and repetition",
        )
        if found := knee_of(loads):
            axis.axvspan(found.low, found.high, color=GREY, alpha=0.12, linewidth=0)
            axis.axvline(found.value, color=GREY, linewidth=1)
            axis.text(found.low - 0.01, 19, f"knee {found.value:.2f}", ha="right", color=GREY)
    axis.set_ylim(0, TALLEST_MS)
    axis.set_xlim(0, 1)
    axis.set_xlabel("utilisation of the container's own device (ratio)")
    axis.set_ylabel("wait (ms)")
    figure.legend(loc="outside lower center")
    figure.suptitle("Wait against utilisation,\none write outstanding")
    return figure


MOST_MS = 25


def open_and_closed(measured: pd.DataFrame) -> Figure:
    """Draw the wait against the shared server's utilisation, with open and with closed load."""
    figure = Figure(figsize=(ONE_COLUMN, 3.6))
    axis = figure.subplots()
    across = np.linspace(0, 0.97, 300)
    for name, law, line in (("M/M/1", mm1_wait_ms, ":"), ("M/D/1", md1_wait_ms, "-.")):
        wait_ms = law(across, service_ms())
        axis.plot(across, wait_ms, color=GREY, **PREDICTED | {"linestyle": line})
        above = float(np.interp(MOST_MS, wait_ms, across)), MOST_MS
        axis.annotate(name, above, color=GREY, va="bottom", ha="right" if line == ":" else "left")
    for (label, load), marker in zip(ONE_SERVER.items(), "osx", strict=True):
        loads = by_load(measured, *load)
        axis.plot(
            loads["disk_busy_ratio"],
            loads["wait_ms"],
            marker,
            color=MEASURED,
            markersize=4,
            zorder=4,
            label=label if len(loads) else f"{label}: not run",
        )
    axis.set_ylim(0, MOST_MS)
    axis.set_xlim(0, 1.02)
    axis.set_xlabel("utilisation of the shared server (ratio)")
    axis.set_ylabel("wait (ms)")
    figure.legend(loc="outside lower center")
    figure.suptitle(
        "Where M/M/1 holds: requests that arrive\nwhether or not earlier ones have ended\n"
    )
    return figure


def overload(measured: pd.DataFrame) -> Figure:
    """Draw waits with and without an overloaded container, and how much they rise (dW and dSW)."""
    figure = Figure(figsize=(TWO_COLUMNS, 3.0))
    left, right = figure.subplots(1, 2)
    found = waits(measured)
    below_ten, rise = found[found["containers"] < 10], rises(measured)
    both, alone = (below_ten[below_ten["overloaded"] == count] for count in (1, 0))
    for axis, lines in (
        (
            left,
            (
                (alone, "normal_ms", APART, "normal, apart"),
                (both, "normal_ms", NORMAL, "normal, beside"),
                (both, "overloaded_ms", OVERLOADED, "overloaded"),
            ),
        ),
        (
            right,
            (
                (rise, "rise_ms", NORMAL, "ΔW, normal"),
                (rise, "overloaded_rise_ms", OVERLOADED, "ΔW, overloaded"),
                (rise, "system_rise_ms", SUM, "ΔSW, sum of all"),
            ),
        ),
    ):
        axis.set_xlabel("normal containers")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        ends = [_line(axis, *line) for line in lines]
        axis.set_ylim(bottom=0)
        label_ends(axis, [end for end in ends if end])
    for containers, who, look in (
        (0, "overloaded, alone", OVERLOADED),
        (1, "normal, before", APART),
        (1, "normal, with overload (in the subtraction)", NORMAL),
        (1, "overloaded, with normal", OVERLOADED),
    ):
        _star(left, containers, printed_wait_ms(who), look["color"])
    for who, look in (("normal", NORMAL), ("overloaded", OVERLOADED)):
        _star(right, 1, printed_wait_ms(f"{who}, difference"), look["color"])
    left.set_ylabel("wait (ms)")
    right.set_ylabel("rise of the wait (ms)")
    star = Line2D([], [], color=GREY, label="published, in the colour of its counterpart", **STAR)
    figure.legend(handles=[star], loc="outside lower center")
    figure.suptitle("What an overloaded container does to the waits of the others")
    return figure


OVERLOADED_COLOUR = "#882255"
SUM_COLOUR = GREY
NORMAL: dict[str, Any] = {"color": MEASURED, "marker": "o"}
APART: dict[str, Any] = {"color": MEASURED, "marker": "s", "linestyle": "-."}
OVERLOADED: dict[str, Any] = {"color": OVERLOADED_COLOUR, "marker": "^"}
SUM: dict[str, Any] = {"color": SUM_COLOUR, "marker": "D"}
STAR: dict[str, Any] = {"marker": "*", "markersize": 9, "linestyle": "", "markerfacecolor": "white"}


def _star(axis: Axes, containers: int, wait_ms: float, colour: str) -> None:
    """Draw a published value in the colour of its measured counterpart."""
    axis.plot(containers, wait_ms, color=colour, zorder=5, **STAR)


def _line(
    axis: Axes, rows: pd.DataFrame, column: str, look: dict[str, Any], label: str
) -> End | None:
    """Draw a curve, and return its end."""
    points = {
        cast(float, count): mean_interval(values)
        for count, values in rows.dropna(subset=[column]).groupby("containers")[column]
    }
    colour = look["color"]
    curve(axis, points.items(), colour, ecolor=colour, markersize=4, **look)
    return End(label, colour, points[max(points)].value) if points else None
