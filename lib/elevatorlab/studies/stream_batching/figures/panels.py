"""What the study's figures share: how published and measured curves look."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ....analysis.intervals import Interval
from ....plugins.schedulers import colour_of, label_of
from ....showing.panels import curve
from ....showing.style import GREY, PUBLISHED, look_of
from ...kit.cells import in_order
from ..measures import DRIVERS
from ..trials import SCHEDULERS

LOCAL = "local"
"""The name in place of a driver's where there is no network."""

_NAMES = {"none": "noop (none)", "sbq": "SBQ"}


def look_with(scheduler: str, driver: str) -> dict[str, Any]:
    """Return how a scheduler is drawn: open with the stock driver, a cross without a network.

    The cross is grey for the schedulers of the presets, and has the scheduler's colour for others.
    """
    if driver == LOCAL:
        colour = GREY if scheduler in SCHEDULERS else colour_of(scheduler)
        return {"color": colour, "marker": "x", "markeredgewidth": 1.5}
    own = look_of(scheduler)
    return {**own, "markerfacecolor": "white"} if driver == "stock" else own


def line(
    axis: Axes, points: Iterable[tuple[float, Interval]], scheduler: str, driver: str, **more: Any
) -> None:
    """Draw a measured curve with its confidence intervals."""
    look = look_with(scheduler, driver)
    curve(axis, points, look.pop("color"), **look, **more)


def scheduler_handles(schedulers: Iterable[str]) -> list[Line2D]:
    """Return legend entries that tell schedulers by colour and marker."""
    return [Line2D([], [], label=name_of(name), **look_of(name)) for name in schedulers]


def name_of(scheduler: str) -> str:
    """Return the document's name of a scheduler, or else the label in the scheduler's record."""
    return _NAMES.get(scheduler, label_of(scheduler))


def source_handles(drivers: Iterable[str], published: bool = True) -> list[Line2D]:
    """Return legend entries that tell published curves from measured ones, and the drivers."""
    shown = [Line2D([], [], color=GREY, label="published", **PUBLISHED)] if published else []
    for driver in drivers:
        label = f"measured, {DRIVERS.get(driver, 'no network')}"
        look = {**look_with("none", driver), "color": GREY, "linestyle": ""}
        shown.append(Line2D([], [], label=label, **look))
    return shown


def schedulers_in(table: pd.DataFrame) -> list[str]:
    """Return the schedulers of a table in the order in which they are shown."""
    return in_order(table, "scheduler", SCHEDULERS)


def compared_schedulers(table: pd.DataFrame) -> list[str]:
    """Return noop, SBQ, and the schedulers of a table that are not in the presets."""
    return ["none", "sbq", *(name for name in schedulers_in(table) if name not in SCHEDULERS)]


def drivers_in(table: pd.DataFrame) -> list[str]:
    """Return the drivers of a table in the order in which they are shown, without ``local``."""
    there = set(table["driver"])
    return [name for name in DRIVERS if name in there]
