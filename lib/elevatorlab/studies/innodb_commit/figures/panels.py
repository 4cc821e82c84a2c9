"""What the study's figures share: how each scheduler looks, by number of threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ....analysis.intervals import Interval
from ....showing.dots import dots
from ....showing.style import GREY, look_of
from ...kit.cells import in_order
from ..measures import SCHEDULERS
from ..trials import DURABLE

DURABLE_CELL = {"flush_log_at_trx_commit": DURABLE}


def schedulers_in(rows: pd.DataFrame) -> list[str]:
    """Return the schedulers of some rows in the order in which they are shown."""
    return in_order(rows, "scheduler", SCHEDULERS)


def look_with(scheduler: str, threads: int) -> dict[str, Any]:
    """Return how a scheduler is drawn: its marker is open with one thread."""
    own = look_of(scheduler)
    return {**own, "markerfacecolor": "white"} if threads == 1 else own


def of_threads(
    axis: Axes,
    values: Mapping[tuple[str, int], Interval],
    order: Sequence[str],
    schedulers: Mapping[str, str] | None = None,
) -> None:
    """Draw a line of dots for each group, one dot for each number of threads.

    `values`: The estimates, by group and number of threads. `schedulers`: The scheduler of each
    group whose name is not that of its scheduler.
    """
    known = schedulers or {}

    def look(group: str, threads: int) -> dict[str, Any]:
        return look_with(known.get(group, group), threads)

    dots(axis, values, order, look, sorted({threads for _, threads in values}))


def legend_of_threads(figure: Figure, threads: Iterable[int]) -> None:
    """Draw a legend below the panels, with the marker of each number of threads."""
    look: dict[str, Any] = {"color": GREY, "marker": "o", "linestyle": ""}
    handles = [
        Line2D([], [], **look, markerfacecolor="white" if count == 1 else GREY, label=words(count))
        for count in sorted(set(threads))
    ]
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def words(threads: int) -> str:
    """Return a number of threads in words."""
    return f"{threads} thread{'s' if threads > 1 else ''}"
