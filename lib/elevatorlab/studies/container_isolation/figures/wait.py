"""Figure 5 of the paper, and the same with the open arrivals that the paper's model assumes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....analysis.queueing import interactive_wait_ms, md1_wait_ms, mm1_wait_ms
from ....showing.style import GREY, ONE_COLUMN, PREDICTED
from ..measures.curves import knee_of
from ..measures.interference import ONE_SERVER, by_load
from ..published import endpoint, printed_wait_ms
from ..trials.disks import THINK_US, service_ms
from .curves import MEASURED

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
        _mark_knee(axis, loads)
    axis.set_ylim(0, TALLEST_MS)
    axis.set_xlim(0, 1)
    axis.set_xlabel("utilisation of the container's own device (ratio)")
    axis.set_ylabel("wait (ms)")
    axis.legend(loc="upper left")
    figure.suptitle("Wait against utilisation,\none write outstanding")
    return figure


def _mark_knee(axis: Axes, loads: pd.DataFrame) -> None:
    found = knee_of(loads)
    if found is None:
        return
    axis.axvspan(found.low, found.high, color=GREY, alpha=0.12, linewidth=0)
    axis.axvline(found.value, color=GREY, linewidth=1)
    text = f"knee {found.value:.2f}"
    axis.text(found.low - 0.01, 19, text, ha="right", color=GREY)


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
