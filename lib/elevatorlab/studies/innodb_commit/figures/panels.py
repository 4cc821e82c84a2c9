"""What the study's figures share: schedulers by colour, numbers of threads by hatching."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ....analysis.intervals import Interval
from ....showing.bars import grouped_bars
from ....showing.style import COLOURS, GREY
from ...kit.cells import in_order
from ..measures import SCHEDULERS
from ..trials import DURABLE

DURABLE_CELL = {"flush_log_at_trx_commit": DURABLE}
_HATCH = {1: "", 8: "////"}


def schedulers_in(rows: pd.DataFrame) -> list[str]:
    """Return the schedulers of some rows in the order in which they are shown."""
    return in_order(rows, "scheduler", SCHEDULERS)


def of_threads(
    axis: Axes,
    heights: Mapping[tuple[str, int], Interval],
    order: Sequence[str],
    colours: Mapping[str, str] = COLOURS,
    faint: str = "",
) -> None:
    """Draw a bar for each number of threads, side by side.

    Parameters
    ----------
    axis : matplotlib.axes.Axes
    heights : mapping
        By group and number of threads.
    order : sequence of str
        The groups.
    colours : mapping
        Of the groups; by default they are schedulers.
    faint : str
        The group to draw lightly.
    """
    threads = sorted({count for _, count in heights})

    def look(group: str, count: int) -> dict[str, Any]:
        hatch = _HATCH.get(count, "....")
        alpha = 0.35 if group == faint else 1
        return {"facecolor": colours[group], "hatch": hatch, "alpha": alpha}

    grouped_bars(axis, heights, order, look, threads)


def legend_of_threads(figure: Figure, threads: Iterable[int]) -> None:
    """Say which hatching is which number of threads, below the panels."""
    look: dict[str, Any] = {"facecolor": GREY, "edgecolor": "white"}
    handles = [
        Patch(**look, hatch=_HATCH.get(count, "...."), label=words(count))
        for count in sorted(set(threads))
    ]
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def words(threads: int) -> str:
    """Say a number of threads."""
    return f"{threads} thread{'s' if threads > 1 else ''}"
