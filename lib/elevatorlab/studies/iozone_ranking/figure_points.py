"""The points, the ranks behind them, and the size of the effect."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd
import scikit_posthocs
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...figures import COLOURS, GREY
from .measures import (
    DESCENDANTS,
    SCHEDULERS,
    TESTS,
    VARIANTS,
    devices_in,
    gain,
    over_tests,
    ranking,
    rows_of,
)
from .published import points

SHORT = {
    "single_server_disk": "disk (simulated)",
    "sata_ssd": "SATA SSD (simulated)",
    "nvme_ssd": "NVMe SSD (simulated)",
    "ram_disk": "RAM disk (simulated)",
    "file_backed": "file-backed",
    "disk": "disk",
    "as_published": "as published",
    "direct": "around the cache (-I)",
}
ARTICLE_PERCENT = 30


def panels(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a title and the rows of each device and variant that was measured."""
    for arm in devices_in(rows):
        for variant in VARIANTS:
            some = rows_of(rows, arm=arm, variant=variant)
            if len(some):
                yield f"{SHORT[arm]}\n{SHORT[variant]}", some


def points_won(rows: pd.DataFrame) -> Figure:
    """Draw the printed points, and those of every device and variant."""
    measured = list(panels(rows))
    count = 2 + len(measured)
    figure = Figure(figsize=(0.8 + 1.75 * count, 3.6))
    axes = figure.subplots(1, count, squeeze=False)[0]
    by_computer = points().groupby("computer", sort=False)
    for axis, (computer, printed) in zip(axes[:2], by_computer, strict=True):
        for row in printed.itertuples():
            axis.bar(row.scheduler, row.points, color=COLOURS[row.descendant])
            axis.text(row.scheduler, row.points, f"{row.points:g}", ha="center", va="bottom")
        absent = [name for name in DESCENDANTS if name not in set(printed["scheduler"])]
        for name in absent:
            axis.bar(name, 0)
            axis.text(name, 0.3, "not\nprinted", ha="center", va="bottom", fontsize=7, color=GREY)
        axis.set_title(f"printed:\n{computer}\n")
        axis.set_ylim(0, 30)
    for axis, (title, some) in zip(axes[2:], measured, strict=True):
        _measured_points(axis, some)
        axis.set_title(f"{title}\n")
    for axis in axes:
        axis.grid(axis="x", visible=False)
        axis.tick_params(axis="x", rotation=60, labelsize=8)
    axes[0].set_ylabel("points")
    figure.suptitle("Points for places")
    return figure


def _measured_points(axis: Axes, rows: pd.DataFrame) -> None:
    found = ranking(rows)
    if found is None:
        axis.set_axis_off()
        return
    most = found.comparisons * (len(found.total) - 1)
    for name in [name for name in SCHEDULERS if name in found.total]:
        value, interval = found.total[name], found.interval[name]
        error = [[value - interval.low], [interval.high - value]] if interval.bounded else None
        axis.bar(name, value, color=COLOURS[name], yerr=error, ecolor=GREY, capsize=2)
        if not math.isnan(found.wins[name]):
            axis.text(name, most, f"{found.wins[name]:.0%}", ha="center", va="bottom", fontsize=7.5)
    axis.set_ylim(0, most)
    axis.set_xlabel(f"{found.comparisons} comparisons\nwinner: {found.says}", fontsize=7.5)


def critical_difference(rows: pd.DataFrame) -> Figure:
    """Draw the mean ranks, and which of them Nemenyi's test does not tell apart."""
    shown = [(title, found) for title, some in panels(rows) if (found := over_tests(some))]
    figure = Figure(figsize=(6.4, 0.7 + 1.8 * max(len(shown), 1)))
    axes = figure.subplots(max(len(shown), 1), 1, squeeze=False)[:, 0]
    for axis in axes:
        axis.set_axis_off()
    for axis, (title, found) in zip(axes, shown, strict=False):
        axis.set_axis_on()
        scikit_posthocs.critical_difference_diagram(
            found.ranks,
            found.pairs,
            ax=axis,
            label_fmt_left="{label} ({rank:.2f})",
            label_fmt_right="({rank:.2f}) {label}",
            color_palette=dict(COLOURS),
        )
        axis.grid(visible=False)
        p_value = "" if math.isnan(found.p_value) else f"Friedman p = {found.p_value:.2g}, "
        details = f"{p_value}critical difference {found.critical_difference:.2g}"
        axis.set_title(f"{title.replace(chr(10), ', ')}\n{details}", pad=8)
    figure.suptitle("Mean ranks and the critical difference")
    return figure


def gains(rows: pd.DataFrame) -> Figure:
    """Draw the gain of the best scheduler over the worst, by test."""
    shown = list(panels(rows))
    figure = Figure(figsize=(1.6 + 2.2 * len(shown), 3.0))
    axes = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    for axis, (title, some) in zip(axes, shown, strict=True):
        _gains(axis, some)
        axis.set_title(title)
        axis.set_xlabel("gain of the best\nover the worst, %")
    axes[0].set_yticks(range(len(TESTS)), list(TESTS.values()))
    axes[0].set_ylim(len(TESTS) - 0.5, -0.5)
    best = [name for name in SCHEDULERS if name in set(rows["scheduler"])]
    for name in best:
        axes[0].plot([], [], "o", color=COLOURS[name], label=f"best: {name}")
    figure.legend(loc="outside lower center", ncols=len(best))
    figure.suptitle("How much does the choice gain?")
    return figure


def _gains(axis: Axes, rows: pd.DataFrame) -> None:
    axis.axvspan(0, ARTICLE_PERCENT, color="#EFEFEF", zorder=0)
    fewest, most = rows["threads"].min(), rows["threads"].max()
    values = []
    for place, test in enumerate(TESTS):
        for threads in sorted({fewest, most}):
            found = gain(rows_of(rows, test=test, threads=threads))
            if found is None:
                continue
            name, _, percent = found
            values.append(percent.value)
            error = None
            if percent.bounded:
                error = [[percent.value - percent.low], [percent.high - percent.value]]
            axis.errorbar(
                percent.value,
                place + (0.15 if threads == most != fewest else -0.15),
                xerr=error,
                color=COLOURS[name],
                marker="o",
                markerfacecolor=COLOURS[name] if threads == fewest else "white",
                ecolor=GREY,
                elinewidth=1,
                capsize=2,
            )
    axis.set_xlim(0, 1.25 * max([ARTICLE_PERCENT, *values]))
    axis.grid(axis="y", visible=False)
