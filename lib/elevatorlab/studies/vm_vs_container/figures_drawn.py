"""The drawing of the study's figures: a panel for the article, then one per variant."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...analysis.intervals import Interval, geometric_interval
from ...judging.matching import backing_schedulers, emulated_apart
from ...plugins.schedulers import shown_name
from ...showing.estimates import dots, estimates, offset
from ...showing.panels import cells, curve, errors, log_marks, marks, marks_from_zero, say
from ...showing.style import (
    COLOURS,
    GREY,
    LINES,
    MARKERS,
    WARNING,
    arm_handles,
    column_width,
    entitle,
)
from ..kit.cells import in_order, rows_of
from .measures import ARMS, SCHEDULERS, device_share, total_ratio
from .published import TEST_1, TEST_2
from .trials import ALONE

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
    processor = next(iter(apart.values())).replace(" (", "\n(", 1)  # so that it fits a panel
    others = " and ".join(ARMS[arm] for arm in arms_in(measured) if arm not in apart)
    say(
        grid[1][0],
        f"{names}: NOT COMPARABLE\nwith {others}.\n\nIts processor is emulated:\n"
        f"{processor}.\n\nSchedulers within the {names}\n"
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


def is_printed(rows: pd.DataFrame) -> bool:
    """Tell whether rows are the article's own: these have no variant."""
    return "variant" not in rows


def arms_in(*tables: pd.DataFrame) -> list[str]:
    """Return the arms of these tables, in the order in which they are shown."""
    there = {arm for table in tables for arm in table["arm"].unique()}
    return [arm for arm in ARMS if arm in there]


TESTS = {
    TEST_1: "Test 1: read files\nwhile writing",
    TEST_2: "Test 2: read small\nfiles while reading",
}
MARKS = ((0.3, 1, 3, 10), (1, 2, 5), (1, 2, 3), (0.9, 1, 1.1, 1.2))
"""Sets of marks for the axis. The first set that has three or more marks in the panel is used."""
DIFFERENCE = 0.05
"""The smallest relative difference that counts in the title."""
UNBOUNDED = 3
"""The axis ends at this factor beyond all ratios. A longer interval is cut off there."""


def overview(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw the time with each scheduler relative to `none`, by test, arm and variant."""
    panels = columns(published, measured)
    shown = _schedulers(measured)
    height = 1.7 + 0.33 * len(shown) * max(2, len(arms_in(published, measured)))
    figure = Figure(figsize=(column_width(1.2 + 1.45 * len(panels)), height))
    grid = figure.subplots(len(TESTS), len(panels), sharex="row", sharey=True, squeeze=False)
    for line, test in zip(grid, TESTS, strict=True):
        for axis, (title, rows) in zip(line, panels.items(), strict=True):
            rows = rows_of(rows, test=test)
            _relative_to_none(axis, rows, shown)
            note = _device_note(rows)
            axis.set_title(f"{title}\n{note}" if axis in grid[0] else note)
        line[0].set_ylabel(TESTS[test], labelpad=8)
        _limit_ratios(line, [rows_of(rows, test=test) for rows in panels.values()])
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


def _limit_ratios(line: Sequence[Axes], tables: Sequence[pd.DataFrame]) -> None:
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
                _point(axis, ratio, position + shift, scheduler, arm, is_printed(rows))
    axis.set_xscale("log")
    axis.grid(axis="y", visible=False)
    axis.tick_params(axis="y", length=0)
    axis.spines["bottom"].set_zorder(5)  # or the ground of the lowest number would hide it


def _point(
    axis: Axes, ratio: Interval, height: float, scheduler: str, arm: str, printed: bool
) -> None:
    colour = COLOURS[scheduler]
    axis.plot([1, ratio.value], [height] * 2, color=colour, linewidth=2, zorder=2)
    axis.errorbar(
        ratio.value,
        height,
        xerr=errors([ratio]),
        color=colour,
        marker=MARKERS[arm],
        markerfacecolor="white" if printed else colour,
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


TABLE_5 = ("none", "mq-deadline", "kyber", "bfq")
"""The schedulers in the order of the article's Table 5."""

BESIDE = 1.1
"""How far apart the arms of one size are drawn, as a factor of the size."""


def times_against_size(published: pd.DataFrame, measured: pd.DataFrame, scheduler: str) -> Figure:
    """Draw the time to read one file against its size, under one scheduler."""
    in_test = {"test": TEST_1, "scheduler": scheduler}
    tables = rows_of(published, **in_test), rows_of(measured, **in_test)
    name = shown_name(scheduler)
    nothing = f"{name}\nwas not run" if len(measured) else ""
    apart = emulated_apart(measured, ARMS)

    def draw(axis: Axes, rows: pd.DataFrame) -> None:
        _lines(axis, rows, scheduler)
        # The same range in all panels of a row, and for each scheduler, so that they compare.
        if not is_printed(rows) and set(rows["arm"]) <= set(apart):
            _limit_times(axis, measured[measured["arm"].isin(apart)])
        else:
            _limit_times(axis, published, measured[~measured["arm"].isin(apart)])

    figure, left = draw_columns(*tables, nothing, draw)
    _name_once(figure, left)
    for axis in left:
        axis.set_ylabel("time to read (ms, log scale)")
    arms = arms_in(*tables)
    figure.legend(handles=arm_handles(arms, ARMS), loc="outside lower center", ncols=len(arms))
    entitle(figure, f"{name}: time to read a file while another is written")
    return figure


def _name_once(figure: Figure, left: list[Axes]) -> None:
    """Label the marks of the vertical axis only in the leftmost panels."""
    for axis in figure.axes:
        axis.tick_params(axis="y", labelleft=axis in left)


def _lines(axis: Axes, rows: pd.DataFrame, scheduler: str) -> None:
    arms = arms_in(rows)
    for number, arm in enumerate(arms):
        beside = BESIDE ** offset(number, len(arms))  # so that no interval hides another
        points = [
            (cast(float, size) * beside, geometric_interval(one["time_s"] * 1000))
            for size, one in rows_of(rows, arm=arm).groupby("published_size_mb")
        ]
        face = "white" if is_printed(rows) else COLOURS[scheduler]
        look = {"linestyle": LINES[arm], "marker": MARKERS[arm], "markerfacecolor": face}
        curve(axis, points, COLOURS[scheduler], **look)
    axis.set(xscale="log", xlabel=_size_label(rows))
    axis.set_xlim(10 / 1.15, 100 * 1.15)
    marks(axis.xaxis, (10, 20, 50, 100))


def _limit_times(axis: Axes, *tables: pd.DataFrame) -> None:
    """Fit the axis to all repetitions. An interval that goes further is cut off at the frame."""
    shown = [rows[rows["variant"].isin(VARIANTS)] if "variant" in rows else rows for rows in tables]
    times_ms = [1000 * time for rows in shown for time in rows_of(rows, test=TEST_1)["time_s"]]
    log_marks(axis.yaxis, min(times_ms) / 1.2, max(times_ms) * 1.2)


def _size_label(rows: pd.DataFrame) -> str:
    if "size_mib" not in rows:
        return "file size (MB)\n"
    factor = (rows["published_size_mb"] / rows["size_mib"]).mean()
    return "file size (MB)\n" + ("" if factor < 1.1 else f"read here: 1/{factor:.3g} of it")


def _tree_size(rows: pd.DataFrame) -> str:
    """Return the size of the tree in words: variants that reach the disk read fewer files."""
    if "size_mib" not in rows:
        return "tree: size not given"
    return f"tree: {rows['size_mib'].mean():.2g} MiB"


def _rivals_of(rows: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that a panel's axis must fit, so that comparable panels have the same axis.

    For a rerun, these are all reruns with an emulated processor, or all others.
    """
    if is_printed(rows):
        return rows
    apart = emulated_apart(measured, ARMS)
    shown = measured[measured["variant"].isin(VARIANTS)]
    is_apart = shown["arm"].isin(apart)
    return shown[is_apart] if set(rows["arm"]) <= set(apart) else shown[~is_apart]


def tree_times(published: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Draw the time to read the tree of small files, a line of dots for each scheduler."""
    tables = rows_of(published, test=TEST_2), rows_of(measured, test=TEST_2)
    nothing = "Test 2\nwas not run" if len(measured) else ""
    others = tables[1][~tables[1]["scheduler"].isin(TABLE_5)]
    order = [*TABLE_5, *in_order(others, "scheduler", ())]

    def look(scheduler: str, arm: str) -> dict[str, Any]:
        return {"color": COLOURS[scheduler], "marker": MARKERS[arm]}

    def opened(scheduler: str, arm: str) -> dict[str, Any]:
        return {**look(scheduler, arm), "markerfacecolor": "white"}

    def draw(axis: Axes, rows: pd.DataFrame) -> None:
        times = estimates(rows, "scheduler", "time_s", "arm", geometric_interval)
        dots(axis, times, order, opened if is_printed(rows) else look, arms_in(rows))
        # As in `_limit_times`: fit all repetitions, not all intervals, and use the same range for
        # all reruns that can be compared.
        longest_s = _rivals_of(rows, tables[1])["time_s"].max()
        marks_from_zero(axis, longest_s * 1.3, 4)
        axis.set_xlabel(f"time to read (s)\n{_tree_size(rows)}")

    figure, left = draw_columns(*tables, nothing, draw)
    _name_once(figure, left)
    arms = arms_in(*tables)
    handles = arm_handles(arms, ARMS)
    for handle in handles:
        handle.set_linestyle("")
    figure.legend(handles=handles, loc="outside lower center", ncols=len(arms))
    entitle(figure, "Time to read a tree of small files while a big file is read")
    return figure


AS_IT_WAS = "as it was"
#: The first of these variants that was run is shown. The reads of the first two reach both
#: schedulers.
REACHING = ("dropped", "direct", "as_published")


def shown_variant(crossed: pd.DataFrame) -> str:
    """Return the variant that the figure shows."""
    return next(variant for variant in REACHING if variant in set(crossed["variant"]))


def guest_or_host(crossed: pd.DataFrame) -> Figure:
    """Draw the time of each pair of schedulers, of the guest and of its host.

    Times are relative to the scheduler none in both.

    `crossed`: Rows of one deterministic machine and preset with several schedulers of the host.
    """
    rows = rows_of(crossed, variant=shown_variant(crossed), arm="vm")
    rows = rows.fillna({"backing_scheduler": ALONE})
    guest = in_order(rows, "scheduler", SCHEDULERS)
    host = in_order(rows, "backing_scheduler", SCHEDULERS)
    tests = [test for test in TESTS if test in set(rows["test"])]
    size = 1.6 + (0.5 + 0.8 * len(guest)) * len(tests), 1.6 + 0.5 * len(host)
    figure = Figure(figsize=(column_width(size[0]), size[1]))
    grid = figure.subplots(1, len(tests), sharex=True, sharey=True, squeeze=False)
    for axis, test in zip(grid[0], tests, strict=True):
        _cells(axis, rows_of(rows, test=test), guest, host)
        axis.set_title(TESTS[test].replace("\n", " "))
        axis.set_xlabel("scheduler in the guest")
    grid[0][0].set_ylabel("scheduler of the host")
    entitle(figure, "Who should schedule, guest or host?")
    return figure


def crossing(crossed: pd.DataFrame) -> Figure:
    """Draw the time of each pair of schedulers relative to the first pair.

    `crossed`: Rows of one machine and preset with several schedulers of the physical disk.
    """
    variant = shown_variant(crossed)
    below = [name or AS_IT_WAS for name in backing_schedulers(crossed)]
    rows = rows_of(crossed, variant=variant).fillna({"backing_scheduler": AS_IT_WAS})
    above = in_order(rows, "scheduler", SCHEDULERS)
    arms, tests = arms_in(rows), [test for test in TESTS if test in set(rows["test"])]
    size = column_width(1.6 + (0.5 + 0.72 * len(above)) * len(arms)), 1.3 + 1.5 * len(tests)
    figure = Figure(figsize=size)
    grid = figure.subplots(len(tests), len(arms), sharex=True, sharey=True, squeeze=False)
    for line, test in zip(grid, tests, strict=True):
        for axis, arm in zip(line, arms, strict=True):
            _cells(axis, rows_of(rows, test=test, arm=arm), above, below)
            axis.set_title(f"{ARMS[arm]}, {TESTS[test].partition(':')[0]}")
        line[0].set_ylabel("physical disk")
    for axis in grid[-1]:
        axis.set_xlabel("device under test")
    entitle(
        figure,
        f"Scheduler of the device under test, scheduler of the physical disk: {VARIANTS[variant]}",
    )
    return figure


def _cells(axis: Axes, rows: pd.DataFrame, above: list[str], below: list[str]) -> None:
    first = {"backing_scheduler": below[0], "scheduler": above[0]}
    ratios = pd.DataFrame(
        {
            top: {
                low: total_ratio(rows, {"backing_scheduler": low, "scheduler": top}, first)
                for low in below
            }
            for top in above
        },
        dtype=object,
    )
    ratios = ratios.rename(columns=shown_name)
    cells(axis, ratios.map(lambda one: one.value if one else math.nan), ratios.map(_words), 2, 8)
    axis.tick_params(labelsize=8)


def _words(ratio: Interval | None) -> str:
    if ratio is None:
        return "not run"
    interval = f"\n{ratio.low:.2f}–{ratio.high:.2f}"
    return f"{ratio.value:.2f}×" + (interval if ratio.bounded and not ratio.identical else "")
