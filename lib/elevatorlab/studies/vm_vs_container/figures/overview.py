"""The study at a glance: each scheduler relative to the scheduler `none`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....analysis.intervals import Interval
from ....judging.matching import emulated_apart
from ....plugins.schedulers import shown_name
from ....showing.panels import errors, marks
from ....showing.style import (
    COLOURS,
    GREY,
    MARKERS,
    WARNING,
    arm_handles,
    column_width,
    face_colour,
)
from ...kit.cells import in_order, rows_of
from ..measures import ARMS, SCHEDULERS, device_share, total_ratio
from ..published import TEST_1, TEST_2
from .panels import arms_in, columns

TESTS = {
    TEST_1: "Test 1: read files\nwhile writing",
    TEST_2: "Test 2: read small\nfiles while reading",
}
MARKS = ((0.3, 1, 3, 10), (1, 2, 3), (0.9, 1, 1.1, 1.2))
"""Sets of marks for the axis. The first set that has three or more marks in the panel is used."""
DIFFERENCE = 0.05
"""The smallest relative difference that counts in the title."""
UNBOUNDED = 3
"""The axis ends at this factor beyond all ratios. A longer interval is cut off there."""


def overview(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw the time with each scheduler relative to `none`, by test, arm and variant."""
    panels = columns(published, measured)
    shown = _schedulers(measured)
    height = 1.7 + 0.24 * len(shown) * max(2, len(arms_in(published, measured)))
    figure = Figure(figsize=(column_width(1.2 + 1.45 * len(panels)), height))
    grid = figure.subplots(len(TESTS), len(panels), sharex="row", sharey=True, squeeze=False)
    for line, test in zip(grid, TESTS, strict=True):
        for axis, (title, rows) in zip(line, panels.items(), strict=True):
            rows = rows_of(rows, test=test)
            _relative_to_none(axis, rows, shown)
            note = _device_note(rows)
            axis.set_title(f"{title}\n{note}" if axis in grid[0] else note)
        line[0].set_ylabel(TESTS[test], labelpad=8)
        _limit(line, [rows_of(rows, test=test) for rows in panels.values()])
    grid[0][0].set_yticks(range(len(shown)), [shown_name(name) for name in shown])
    grid[0][0].set_ylim(len(shown) - 0.5, -0.5)
    _legend(figure, published, measured)
    figure.suptitle(
        "Does the I/O scheduler matter? Only when reads reach the disk"
        if _reads_decide(measured)
        else "How much slower is each I/O scheduler than the scheduler none?"
    )
    return figure


def _schedulers(table: pd.DataFrame) -> list[str]:
    """Return the article's schedulers, and then those that only a rerun has."""
    return list(SCHEDULERS) + in_order(table[~table["scheduler"].isin(SCHEDULERS)], "scheduler", ())


def _limit(line: Sequence[Axes], tables: Sequence[pd.DataFrame]) -> None:
    """Show every ratio, most intervals whole, and leave room for the numbers at the right."""
    ratios = [
        ratio.value
        for rows in tables
        for arm in arms_in(rows)
        for scheduler in _schedulers(rows)
        if (ratio := to_none(rows, arm, scheduler))
    ]
    if not ratios:
        return
    low, high = line[0].get_xlim()
    low, high = max(low, min(ratios) / UNBOUNDED), min(high, max(ratios) * UNBOUNDED)
    span = max(high / low, 1.3)
    left = low / span**0.05
    line[0].set_xlim(left, high * span**0.6)
    seen = ([one for one in some if left <= one <= high] for some in MARKS)
    shown = max(seen, key=lambda some: min(len(some), 3))
    for axis in line:
        marks(axis.xaxis, shown, "{:g}×")


def _legend(figure: Figure, published: pd.DataFrame, measured: pd.DataFrame) -> None:
    arms = arms_in(published, measured)
    apart = emulated_apart(measured, ARMS)
    names = {arm: f"{ARMS[arm]} (rerun: emulated)" if arm in apart else ARMS[arm] for arm in arms}
    handles = arm_handles(arms, names)
    for handle in handles:
        handle.set_linestyle("")
    legend = figure.legend(
        handles=handles,
        title="time relative to the scheduler none in the same arm (log scale)",
        loc="outside lower center",
        ncols=len(arms),
    )
    for arm, text in zip(arms, legend.get_texts(), strict=True):
        if arm in apart:
            text.set_color(WARNING)


def _relative_to_none(axis: Axes, rows: pd.DataFrame, shown: Sequence[str]) -> None:
    arms = arms_in(rows)
    axis.axvline(1, color=GREY, linewidth=1, zorder=1)
    for position, scheduler in enumerate(shown):
        if len(rows) and scheduler not in set(rows["scheduler"]):
            _write(axis, "not run", position, GREY)
        for place, arm in enumerate(arms):
            ratio = to_none(rows, arm, scheduler)
            if ratio is not None:
                shift = 0.5 / max(len(arms) - 1, 1) * (place - (len(arms) - 1) / 2)
                _point(axis, ratio, position + shift, scheduler, arm)
    axis.set_xscale("log")
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
    axis.spines["bottom"].set_zorder(5)  # or the ground of the lowest number would hide it


def _point(axis: Axes, ratio: Interval, height: float, scheduler: str, arm: str) -> None:
    colour = COLOURS[scheduler]
    axis.plot([1, ratio.value], [height] * 2, color=colour, linewidth=2, zorder=2)
    axis.errorbar(
        ratio.value,
        height,
        xerr=errors([ratio]),
        color=colour,
        marker=MARKERS[arm],
        markerfacecolor=face_colour(arm, colour),
        ecolor=GREY,
        elinewidth=1,
        capsize=2,
        zorder=3,
    )
    if scheduler != "none":
        _write(axis, f"{ratio.value:.2f}×", height)


def _write(axis: Axes, text: str, height: float, colour: str = "black") -> None:
    axis.text(
        0.99,
        height,
        text,
        transform=axis.get_yaxis_transform(),
        ha="right",
        va="center",
        zorder=4,
        color=colour,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0},
    )


def _device_note(rows: pd.DataFrame) -> str:
    if "storage_read_bytes" not in rows:
        if rows["published_size_mb"].isna().all():
            return "fetched bytes: not given"
        rates_gb_s = rows["published_size_mb"] / rows["time_s"] / 1000
        return f"implied: {rates_gb_s.min():.1f} to {rates_gb_s.max():.1f} GB/s"
    share = device_share(rows)
    if share is None:
        return "not run"
    return f"fetched / timed: {share.value:.0%}"


def _reads_decide(measured: pd.DataFrame) -> bool:
    """Tell whether schedulers surely differ with dropped caches, but nowhere with warm caches.

    “Surely” means that the interval decides it.
    """
    warm, dropped = (
        [
            ratio
            for test in TESTS
            for arm in arms_in(measured)
            for other in SCHEDULERS[1:]
            if (ratio := to_none(rows_of(measured, test=test, variant=variant), arm, other))
        ]
        for variant in ("as_published", "dropped")
    )
    none_differs = not any(ratio.direction(1, DIFFERENCE) for ratio in warm)
    return bool(warm) and none_differs and any(ratio.direction(1, DIFFERENCE) for ratio in dropped)


def to_none(rows: pd.DataFrame, arm: str, scheduler: str) -> Interval | None:
    """Return the time with a scheduler relative to `none`, both in the same arm."""
    return total_ratio(
        rows, {"arm": arm, "scheduler": scheduler}, {"arm": arm, "scheduler": "none"}
    )
