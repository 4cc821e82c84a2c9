"""The article's charts: each test, each run."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ....showing.bars import estimates, grouped_bars
from ....showing.panels import facets, panels_of
from ....showing.style import COLOURS
from ...kit.cells import in_order
from ..measures import SCHEDULERS, TESTS, VARIANTS, arm_name


def charts(rows: pd.DataFrame) -> Figure:
    """Draw throughput by number of threads, one chart a test and run.

    Parameters
    ----------
    rows : pandas.DataFrame
        Rows of one run of the study, device and variant.
    """
    runs, threads = sorted(rows["repetition"].unique()), sorted(rows["threads"].unique())
    shown = rows.assign(mib_s=rows["throughput_kib_s"] / 1024)
    schedulers = in_order(rows, "scheduler", SCHEDULERS)
    grid = facets(
        shown,
        (9.6, 1.3 + 1.5 * len(runs)),
        **{"row": "repetition", "row_order": runs, "col": "test", "col_order": list(TESTS)},
        sharey=False,
    )
    for axis, some in panels_of(grid):
        grouped_bars(
            axis,
            estimates(some, "threads", "mib_s", "scheduler"),
            threads,
            lambda _, name: {"facecolor": COLOURS[name]},
            schedulers,
        )
        axis.yaxis.set_major_locator(MaxNLocator(4))
        axis.tick_params(labelsize=7.5)
    grid.set_titles("")
    for axis, title in zip(grid.axes[0], TESTS.values(), strict=True):
        axis.set_title(title)
    for axis in grid.axes[-1]:
        axis.set_xlabel("threads")
    for line, run in zip(grid.axes, runs, strict=True):
        line[0].set_ylabel(f"run {run}\nMiB/s")
    handles = [Patch(color=COLOURS[name], label=name) for name in schedulers]
    figure: Figure = grid.figure
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    arm, variant = rows["arm"].iloc[0], rows["variant"].iloc[0]
    figure.suptitle(f"{arm_name(arm)}, {VARIANTS[variant]}")
    return figure
