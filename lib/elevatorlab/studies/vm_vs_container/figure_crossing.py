"""Two knobs crossed: the scheduler of the device under test, and that of the disk below it."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from ...matching import backing_schedulers
from .figure_overview import TESTS
from .measures import ARMS, SCHEDULERS, rows_of, total_ratio
from .panels import VARIANTS, arms_in

AS_IT_WAS = "as it was"
#: The variant that is shown, the first of these that was run: its reads reach both schedulers.
REACHING = ("dropped", "direct", "as_published")
FURTHEST = 2.0
"""Colours end at twice, and at half of, the time."""


def shown_variant(crossed: pd.DataFrame) -> str:
    """Return the variant that the figure shows."""
    return next(variant for variant in REACHING if variant in set(crossed["variant"]))


def crossing(crossed: pd.DataFrame) -> Figure:
    """Draw the time of each pair of schedulers relative to the first pair.

    Parameters
    ----------
    crossed : pandas.DataFrame
        Rows of one machine and preset with several schedulers of the physical disk.
    """
    variant = shown_variant(crossed)
    below = [name or AS_IT_WAS for name in backing_schedulers(crossed)]
    rows = rows_of(crossed, variant=variant).fillna({"backing_scheduler": AS_IT_WAS})
    above = [name for name in SCHEDULERS if name in set(rows["scheduler"])]
    arms, tests = arms_in(rows), [test for test in TESTS if test in set(rows["test"])]
    size = max(1.6 + (0.5 + 0.72 * len(above)) * len(arms), 4.8), 1.3 + 1.5 * len(tests)
    figure = Figure(figsize=size)
    grid = figure.subplots(len(tests), len(arms), sharex=True, sharey=True, squeeze=False)
    for line, test in zip(grid, tests, strict=True):
        for axis, arm in zip(line, arms, strict=True):
            _cells(axis, rows_of(rows, test=test, arm=arm), above, below)
            axis.set_title(f"{ARMS[arm]}, {TESTS[test].partition(':')[0]}")
        line[0].set_ylabel("physical disk")
    for axis in grid[-1]:
        axis.set_xlabel("device under test")
    figure.suptitle(f"Scheduler above, scheduler below: {VARIANTS[variant]}")
    return figure


def _cells(axis: Axes, rows: pd.DataFrame, above: list[str], below: list[str]) -> None:
    first = {"backing_scheduler": below[0], "scheduler": above[0]}
    ratios = [
        [total_ratio(rows, {"backing_scheduler": low, "scheduler": top}, first) for top in above]
        for low in below
    ]
    colours = [[math.log2(one.value) if one else 0 for one in line] for line in ratios]
    furthest = math.log2(FURTHEST)
    axis.imshow(colours, cmap="PuOr_r", norm=TwoSlopeNorm(0, -furthest, furthest), aspect="auto")
    for y, line in enumerate(ratios):
        for x, ratio in enumerate(line):
            text = "not run" if ratio is None else f"{ratio.value:.2f}×"
            if ratio and ratio.bounded and not ratio.identical:
                text += f"\n{ratio.low:.2f} to {ratio.high:.2f}"
            dark = abs(colours[y][x]) > 0.7 * furthest
            axis.text(
                *(x, y, text),
                **{"ha": "center", "va": "center", "fontsize": 6.5},
                color="white" if dark else "black",
            )
    axis.set_xticks(range(len(above)), above)
    axis.set_yticks(range(len(below)), below)
    axis.tick_params(length=0, labelsize=7.5)
    axis.grid(visible=False)
