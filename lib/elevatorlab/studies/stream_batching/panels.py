"""What the study's figures share: how published and measured curves look."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ...analysis.intervals import Interval
from ...figures import COLOURS, GREY
from .measures import DRIVERS

MARKERS = {"stock": "o", "one_send": "s", "local": "x"}
"""A driver is told by shape, never by colour; the stock driver's markers are open."""

NAMES = {"none": "noop (none)", "sbq": "SBQ", "mq-deadline": "mq-deadline", "kyber": "kyber"}

PUBLISHED = {"linestyle": "--", "linewidth": 1.2, "alpha": 0.55}
"""Published curves are dashed and light, measured ones solid."""


def face(driver: str, colour: str) -> str:
    """Return how a driver's marker is filled."""
    return "white" if driver == "stock" else colour


def line(
    axis: Axes,
    points: Iterable[tuple[float, Interval]],
    scheduler: str,
    driver: str,
    **more,
) -> None:
    """Draw a measured curve with its confidence intervals."""
    points = list(points)
    if not points:
        return
    errors = None
    if all(value.bounded for _, value in points):
        errors = [
            [value.value - value.low for _, value in points],
            [value.high - value.value for _, value in points],
        ]
    colour = COLOURS[scheduler]
    look = {"color": colour, "marker": MARKERS[driver], "markerfacecolor": face(driver, colour)}
    axis.errorbar(
        [x for x, _ in points],
        [value.value for _, value in points],
        yerr=errors,
        **{**look, "ecolor": GREY, "elinewidth": 1, "capsize": 2, **more},
    )


def scheduler_handles(schedulers: Iterable[str]) -> list[Line2D]:
    """Return legend entries that tell schedulers by colour."""
    return [Line2D([], [], color=COLOURS[name], label=NAMES[name]) for name in schedulers]


def source_handles(drivers: Iterable[str], published: bool = True) -> list[Line2D]:
    """Return legend entries that tell published curves from measured ones, and the drivers."""
    shown = [Line2D([], [], color=GREY, label="published", **PUBLISHED)] if published else []
    for driver in drivers:
        look = {"marker": MARKERS[driver], "markerfacecolor": face(driver, GREY)}
        label = f"measured, {DRIVERS.get(driver, 'no network')}"
        shown.append(Line2D([], [], color=GREY, label=label, **look))
    return shown


def schedulers_in(table: pd.DataFrame) -> list[str]:
    """Return the schedulers of a table in the order in which they are shown."""
    there = set(table["scheduler"])
    return [name for name in NAMES if name in there]


def drivers_in(table: pd.DataFrame) -> list[str]:
    """Return the drivers of a table in the order in which they are shown, without ``local``."""
    there = set(table["driver"])
    return [name for name in DRIVERS if name in there]


def marks(axis: Axis, values: Iterable[float]) -> None:
    """Put marks at these values and nowhere else, on a logarithmic axis, too."""
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda mark, _: f"{mark:g}"))


def say(axis: Axes, text: str) -> None:
    """Put words into the middle of a panel."""
    place = {"transform": axis.transAxes, "ha": "center", "va": "center"}
    axis.text(0.5, 0.5, text, color=GREY, **place)
