"""Figures 1 to 4 of the paper: what each of n equal containers gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....analysis.models import CLOSED_BUSY, CLOSED_SHARE, LOGARITHMIC, POWER
from ....analysis.queueing import mean_value_analysis
from ....showing.style import GREY, ONE_COLUMN, PREDICTED, WARNING
from ..measures.curves import curves_over_containers
from ..measures.interference import QUANTITIES, by_load
from ..published import endpoints
from ..trials.disks import REQUEST_BYTES, THINK_US, service_ms

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
