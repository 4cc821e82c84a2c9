"""The names of lines beside their ends, in place of a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import isotonic_regression

from .panels import end_at_marks

GAP = 0.09
"""Height of a line of words, as a share of the panel's height."""

LEAD = 0.04
"""Length of the stroke that leads to a name, as a share of the panel's width."""

_STROKE: dict[str, Any] = {"arrowstyle": "-", "linewidth": 0.6, "shrinkA": 0, "relpos": (0, 0.5)}


class End(NamedTuple):
    """The end of a line: its name, its colour, and the last value."""

    name: str
    colour: str
    value: float


def label_ends(axis: Axes, ends: Sequence[End]) -> None:
    """Write each line's name to the right of the panel, as high as the line ends.

    Names that would overlap are moved apart, with the least total movement; a thin stroke leads
    from each line's end to its name. Set the panel's range before the call.
    """
    end_at_marks(axis)
    to_panel = axis.transScale + axis.transLimits
    right = axis.get_xlim()[1]
    heights = {end: to_panel.transform((right, end.value))[1] for end in ends}
    for end, height in zip(*_apart(heights), strict=True):
        axis.annotate(
            end.name,
            (1, heights[end]),
            xytext=(1 + LEAD, height),
            xycoords="axes fraction",
            va="center",
            color=end.colour,
            arrowprops={**_STROKE, "color": end.colour},
        )


def _apart(heights: dict[End, float]) -> tuple[list[End], np.ndarray]:
    """Return the ends from bottom to top, and the nearest heights that are `GAP` or more apart."""
    order = sorted(heights, key=heights.__getitem__)
    steps = GAP * np.arange(len(order))
    wanted = np.array([heights[end] for end in order])
    return order, isotonic_regression(wanted - steps).x + steps
