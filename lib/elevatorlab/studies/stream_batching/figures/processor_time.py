"""The processor's time per request, by host and target and by kind of work."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ....showing.panels import say
from ....showing.style import GREY, TWO_COLUMNS
from ...kit.cells import rows_of
from ..columns import WORK, busy_column
from ..measures import DRIVERS, TARGETS, at, scale_of
from .panels import compared_schedulers, drivers_in, name_of

SHADES = {
    ("host", "submit"): "#08519C",
    ("host", "dispatch"): "#3182BD",
    ("host", "driver"): "#6BAED6",
    ("host", "receive"): "#9ECAE1",
    ("host", "complete"): "#C6DBEF",
    ("target", "driver"): "#A63603",
    ("target", "receive"): "#E6550D",
    ("target", "complete"): "#FDBE85",
}
"""Host in blues, target in browns: the two are told apart with any colour vision."""

ROOM = 1.45
"""Factor on the width of the panels, so that the sums fit to the right of the bars."""

WORDS = {
    "submit": "fio",
    "dispatch": "block layer, dispatch",
    "driver": "NVMe/TCP",
    "receive": "network, receive",
    "complete": "block layer, end",
}


def processor_time(measured: pd.DataFrame) -> Figure:
    """Draw the processor's time per request by host, target and work, at depth 64."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.9))
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for axis, target in zip(axes, TARGETS, strict=True):
        _stacks(axis, rows_of(measured, target=target))
        axis.set(title=TARGETS[target], xlabel="processor time per request (us)")
    handles = [
        Patch(color=shade, label=f"{endpoint}: {WORDS[work]}")
        for (endpoint, work), shade in SHADES.items()
        if (measured[busy_column(endpoint, work)] > 0).any()
    ]
    axes[0].invert_yaxis()
    axes[0].set_xlim(0, ROOM * axes[0].get_xlim()[1])
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle("Processor time per request at depth 64, 4 KiB reads: host + target")
    return figure


def _stacks(axis: Axes, rows: pd.DataFrame) -> None:
    bars = [
        (f"{DRIVERS[driver].removesuffix(' driver')}, {name_of(scheduler)}", means)
        for driver in drivers_in(rows)
        for scheduler in compared_schedulers(rows)
        if (means := _means(rows, driver, scheduler))
    ]
    if not bars:
        say(axis, "was not traced")
        return
    for place, (_, means) in enumerate(bars):
        left = 0.0
        for what, time_us in means.items():
            axis.barh(place, time_us, 0.7, left=left, color=SHADES[what])
            left += time_us
        host_us = sum(time_us for (endpoint, _), time_us in means.items() if endpoint == "host")
        words = f"{host_us:.1f} + {left - host_us:.1f}"
        axis.text(left, place, f" {words}", va="center", color=GREY)
    axis.set_yticks(range(len(bars)), [name for name, _ in bars])
    axis.grid(axis="y", visible=False)


def _means(rows: pd.DataFrame, driver: str, scheduler: str) -> dict[tuple[str, str], float]:
    where = {"driver": driver, "scheduler": scheduler, "time_scale": scale_of(rows)}
    found = {
        (endpoint, work): at(rows, busy_column(endpoint, work), **where).mean() / 1000
        for endpoint, works in WORK.items()
        for work in works
    }
    return {} if any(pd.isna(value) for value in found.values()) else found
