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
from ...showing.style import GREY, ONE_COLUMN, PREDICTED, TWO_COLUMNS, WARNING
from .measures import ONE_SERVER, QUANTITIES, by_load, curves_over_containers, knee_of, rises, waits
from .published import endpoint, endpoints, printed_wait_ms
from .trials_containers import REQUEST_BYTES, THINK_US, service_ms

MEASURED, PUBLISHED = "#0072B2", "black"
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
    figure = Figure(figsize=(ONE_COLUMN, 4.2))
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
            markerfacecolor="none",
            zorder=4,
            label="measured (one point per repetition)",
        )
        _fits(top, below, loads, quantity)
    top.set_ylabel(AXES[quantity])
    figure.legend(loc="outside lower center")
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
        markerfacecolor="none",  # so that a circle inside is visible
        zorder=5,
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
        delta = one.aicc - found.best.aicc
        label = f"{one.model.name}: R2 {one.r2:.3f}, AICc +{delta:.0f}"
        if one is found.best:
            label += f" (best of {len(found.fits)})"
            top.fill_between(across, curve.low, curve.high, color=GREY, alpha=0.2, linewidth=0)
        # Only the legend shows the marker beside the line; the curve itself has no points.
        top.plot(across, curve.value, **look, linewidth=1, markersize=5, markevery=[], label=label)
        below.plot(one.x, one.residuals, **look | {"linestyle": ""}, markersize=5)


TALLEST_MS = 45


def wait(measured: pd.DataFrame) -> Figure:
    """Draw the wait against the utilisation of a container's own device (closed load)."""
    figure = Figure(figsize=(ONE_COLUMN, 3.0))
    axis = figure.subplots()
    across = np.linspace(0.02, 0.97, 300)
    first_ms, first = printed_wait_ms("normal, before"), endpoint("utilization_percent", 1) / 100
    axis.plot(
        across,
        interactive_wait_ms(across, THINK_US / 1e3),
        color=GREY,
        **PREDICTED,
        label="closed law W = Z U / (1 - U),\nZ = 2.23 ms",
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
        markerfacecolor="none",  # so that a circle inside is visible
        markersize=11,
        zorder=5,
        label="published (at 92 %: a lower bound)",
    )
    loads = by_load(measured)
    if len(loads):
        axis.plot(
            loads["utilization_ratio"],
            loads["wait_ms"],
            "o",
            color=MEASURED,
            markerfacecolor="none",
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
    axis.legend(loc="upper left")
    figure.suptitle("Wait against utilisation,\none write outstanding")
    return figure


def open_and_closed(measured: pd.DataFrame) -> Figure:
    """Draw the wait against the shared server's utilisation, with open and with closed load."""
    figure = Figure(figsize=(ONE_COLUMN, 3.6))
    axis = figure.subplots()
    across = np.linspace(0, 0.97, 300)
    for name, law, line in (("M/M/1", mm1_wait_ms, ":"), ("M/D/1", md1_wait_ms, "-.")):
        label = f"{name}, predicted with S = {service_ms():.2f} ms"
        look = PREDICTED | {"linestyle": line}
        axis.plot(across, law(across, service_ms()), color=GREY, label=label, **look)
    for (label, load), marker in zip(ONE_SERVER.items(), "osx", strict=True):
        loads = by_load(measured, *load)
        axis.plot(
            loads["disk_busy_ratio"],
            loads["wait_ms"],
            marker,
            color=MEASURED,
            markerfacecolor="none",
            zorder=4,
            label=label if len(loads) else f"{label}: not run",
        )
    axis.set_ylim(0, 25)
    axis.set_xlim(0, 1.02)
    axis.set_xlabel("utilisation of the shared server (ratio)")
    axis.set_ylabel("wait (ms)")
    figure.legend(loc="outside lower center")
    figure.suptitle(
        "Where M/M/1 holds: requests that arrive\nwhether or not earlier ones have ended"
    )
    return figure


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
