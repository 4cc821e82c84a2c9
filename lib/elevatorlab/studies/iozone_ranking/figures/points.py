"""The article's points: as printed, and for every device and variant that was measured."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....showing.dots import dots
from ....showing.estimates import estimates
from ....showing.panels import say
from ....showing.style import GREY, column_width, look_of
from ...kit.cells import in_order
from ..measures import HERE, SCHEDULERS, ranking
from ..published import points
from .panels import panels


def points_won(rows: pd.DataFrame) -> Figure:
    """Draw the printed points, and those of every device and variant."""
    names = in_order(rows, "scheduler", [*SCHEDULERS]) if len(rows) else [*HERE.values()]
    measured = list(panels(rows))
    columns = 1 + math.ceil(len(measured) / 2)
    figure = Figure(figsize=(column_width(0.8 + 1.24 * columns), 3.9))
    grid = figure.subplots(2, columns, squeeze=False, sharey=True)
    by_computer = points().groupby("computer", sort=False)
    for axis, (computer, printed) in zip(grid[:, 0], by_computer, strict=True):
        _printed_points(axis, printed, names)
        axis.set_title(f"printed:\n{computer}")
    others = grid[:, 1:].T.ravel()
    for axis, (title, some) in zip(others, measured, strict=False):
        _measured_points(axis, some, names)
        axis.set_title(title)
    for axis in others[len(measured) :]:
        axis.set_visible(False)
    figure.suptitle("Points for ranks")
    return figure


def _look(name: str, _: None) -> dict[str, Any]:
    return look_of(name)


def _printed_points(axis: Axes, printed: pd.DataFrame, names: list[str]) -> None:
    dots(axis, estimates(printed, "descendant", "points"), names, _look)
    for name in set(HERE.values()).intersection(names).difference(printed["descendant"]):
        axis.text(1, names.index(name), "not printed", va="center", color=GREY)
    axis.set(xlim=(0, 30), xlabel="points")


def _measured_points(axis: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    found = ranking(rows, tuple(in_order(rows, "scheduler", SCHEDULERS)))
    if found is None:
        say(axis, "fewer than\ntwo schedulers")
        return
    values = {(name, None): found.interval[name] for name in found.total.index}
    dots(axis, values, names, _look)
    for name in found.total.index:
        if not math.isnan(found.wins[name]):
            place, beside = (1.02, names.index(name)), ("axes fraction", "data")
            axis.annotate(f"{found.wins[name]:.0%}", place, xycoords=beside, va="center")
    axis.annotate("wins", (1.02, 1.0), xycoords="axes fraction", va="bottom", color=GREY)
    axis.set_xlim(0, found.comparisons * (len(found.total) - 1))
    axis.set_xlabel(f"points\n(winner: {found.says})")
