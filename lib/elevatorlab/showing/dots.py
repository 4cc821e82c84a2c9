"""Estimates as dots from left to right, one line per group, with the intervals of the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from ..plugins.schedulers import shown_name
from .estimates import Estimates
from .panels import errors

SPREAD = 0.8
"""Share of a group's height that its members take; seaborn uses the same share."""


def offset(number: int, count: int, spread: float = SPREAD) -> float:
    """Return the distance from a group's middle at which one of its `count` members is drawn."""
    return spread * ((number + 0.5) / count - 0.5)


def dots(
    axis: Axes,
    values: Estimates,
    order: Sequence[Hashable],
    look: Callable[[Any, Any], Mapping[str, Any]],
    members: Sequence[Hashable] = (None,),
) -> None:
    """Draw a dot with its confidence interval for each member of each group.

    `values`: Estimates by group and member; a pair without an estimate has no dot. look: Called
    with a group and a member; returns arguments of `matplotlib.axes.Axes.errorbar`.
    """
    usual = {"marker": "o", "ecolor": "black", "elinewidth": 0.9, "capsize": 2, "zorder": 3}
    for place, group in enumerate(order):
        for number, member in enumerate(members):
            found = values.get((group, member))
            if found is not None:
                height = place + offset(number, len(members))
                how = {**usual, **look(group, member)}
                axis.errorbar(found.value, height, xerr=errors([found]), **how)
    axis.set_yticks(range(len(order)), [shown_name(group) for group in order])
    axis.set_ylim(max(1, len(order)) - 0.5, -0.5)
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
