"""Each combination of two schedulers: of the device under test, and of the disk below it."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....analysis.intervals import Interval
from ....judging.matching import backing_schedulers
from ....plugins.schedulers import shown_name
from ....showing.panels import cells
from ....showing.style import column_width, entitle
from ...kit.cells import in_order, rows_of
from ..measures import ARMS, SCHEDULERS, total_ratio
from ..trials import ALONE
from .overview import TESTS
from .panels import VARIANTS, arms_in

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
    cells(axis, ratios.map(lambda one: one.value if one else math.nan), ratios.map(_words), 2, 6.5)
    axis.tick_params(labelsize=8)


def _words(ratio: Interval | None) -> str:
    if ratio is None:
        return "not run"
    interval = f"\n{ratio.low:.2f} to {ratio.high:.2f}"
    return f"{ratio.value:.2f}×" + (interval if ratio.bounded and not ratio.identical else "")
