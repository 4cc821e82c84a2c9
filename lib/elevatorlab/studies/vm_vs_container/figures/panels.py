"""What the study's figures share: a panel for the article, then one per variant.

Each arm has a marker.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....judging.matching import emulated_apart
from ....showing.panels import say
from ....showing.style import WARNING, column_width
from ...kit.cells import rows_of
from ..measures import ARMS

VARIANTS = {
    "as_published": "cache warm",
    "dropped": "caches dropped",
    "direct": "direct I/O",
}
PRINTED = "Article, as printed"


def columns(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each column of panels, by its title: the article, then each variant."""
    reruns = {
        f"Rerun, {name}": rows_of(measured, variant=variant) for variant, name in VARIANTS.items()
    }
    there = {title: rows for title, rows in reruns.items() if len(rows)}
    return {PRINTED: published.assign(repetition=1), **there}


def draw_columns(
    published: pd.DataFrame,
    measured: pd.DataFrame,
    nothing: str,
    draw: Callable[[Axes, pd.DataFrame], None],
) -> tuple[Figure, list[Axes]]:
    """Draw a panel for the article and one for each variant.

    If some arms have an emulated processor and others have not, the emulated arms get a row of
    panels of their own, which says that they cannot be compared with the others.

    `nothing`: The text in place of a rerun if nothing was measured; "" leaves this place out.
    `draw`: Called with a panel's axes and its rows, of which there is at least one. Returns: The
    figure, and the leftmost axes of each row that have data.
    """
    panels = columns(published, measured)
    apart = emulated_apart(measured, ARMS)
    count = max(len(panels), 2 if nothing else 1)
    lines = 2 if apart else 1
    figure = Figure(figsize=(column_width(0.6 + 1.3 * count), 0.7 + 2.1 * lines))
    grid = figure.subplots(lines, count, squeeze=False)
    for axis, (title, rows) in zip(grid[0], panels.items(), strict=False):
        some = rows[~rows["arm"].isin(apart)] if title != PRINTED else rows
        if some.empty:
            say(axis, "not in the article" if title == PRINTED else "see below")
            continue
        draw(axis, some)
        axis.set_title(title)
    if len(panels) < count:
        say(grid[0][1], nothing)
    if not apart:
        return figure, [grid[0][0]]
    names = " and ".join(ARMS[arm] for arm in apart)
    others = " and ".join(ARMS[arm] for arm in arms_in(measured) if arm not in apart)
    say(
        grid[1][0],
        f"{names}: NOT COMPARABLE\nwith {others}.\n\nIts processor is emulated:\n"
        f"{_broken(next(iter(apart.values())))}.\n\nSchedulers within the {names}\n"
        "can still be compared.",
        WARNING,
    )
    for axis, (title, rows) in zip(grid[1][1:], list(panels.items())[1:], strict=True):
        some = rows[rows["arm"].isin(apart)]
        if some.empty:
            say(axis, f"{names}: not run")
            continue
        draw(axis, some)
        axis.set_title(f"{names} alone (emulated),\n{title.partition(', ')[2]}", color=WARNING)
        axis.text(
            *(0.5, 0.98, "not comparable with the panel above"),
            **{"transform": axis.transAxes, "ha": "center", "va": "top"},
            **{"color": WARNING, "fontsize": 7.5, "fontweight": "bold"},
        )
    return figure, [grid[0][0], grid[1][1]]


def _broken(text: str) -> str:
    """Break a line before a bracket, so that it fits a panel."""
    return text.replace(" (", "\n(", 1)


def arms_in(*tables: pd.DataFrame) -> list[str]:
    """Return the arms of these tables, in the order in which they are shown."""
    there = {arm for table in tables for arm in table["arm"].unique()}
    return [arm for arm in ARMS if arm in there]
