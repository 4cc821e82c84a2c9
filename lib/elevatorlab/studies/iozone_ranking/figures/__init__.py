"""The study's figures: the article's charts, its points, and what the article lacked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ....judging.matching import Run
from ...kit.cells import rows_of
from ..measures import VARIANTS, arm_name, devices_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ....showing.figures import Drawn

_CHARTS = (
    "The article's charts: one for each test (across) and run (down); throughput by number of "
    "threads, for each scheduler. Each chart has a scale of its own, as the article's would."
)
CAPTIONS = {
    "points": "The article's points: 2, 1, 0 in its tables (left), and here one for each other "
    "scheduler beaten and half a one for each tie, in every test, number of threads and run. Bars "
    "are 95 % confidence intervals over runs; the percentage says in how many resamples of the "
    "runs (bootstrap) a scheduler wins.",
    "critical-difference": "Mean rank of each scheduler over tests and numbers of threads (1 is "
    "best). Schedulers joined by a line are not told apart by Nemenyi's test at 5 %; Friedman's p "
    "is the probability of such ranks where no scheduler differs from another. The five tests "
    "share files and a disk, so they are not independent, and the true p is larger.",
    "gain": "How much the best scheduler gains over the worst in each test, in percent; the "
    "colour tells which one is best, the bar is the 95 % confidence interval over runs. Shaded: "
    "up to the 30 % of the article. Filled: one thread; open: the most threads. A "
    "bar that leaves its panel means that the runs do not bound the gain.",
}
"""What each figure shows, beside the charts; where it was measured is added to it."""


def _charts_of(arm: str, variant: str) -> str:
    """Return the name of a figure."""
    return f"charts-{arm}-{variant}".replace("_", "-")


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures.

    Parameters
    ----------
    published : pandas.DataFrame
        From `published.sample_log()`; its rates are no part of a figure (they belong to the
        author's hardware), its points are.
    measured : pandas.DataFrame
        Tidy measured table (see `claims.judge`); empty for published data alone.

    Returns
    -------
    dict of str to Drawn
        "points", and where something was measured "critical-difference", "gain" and
        "charts-DEVICE-VARIANT"; for each run (see `showing.figures.of_every_run`).
    """
    # Drawing needs libraries that judging, and so the study, does without.
    from ....showing.figures import of_every_run
    from .charts import charts
    from .gain import gains
    from .points import points_won
    from .ranks import critical_difference

    def draw(rows: pd.DataFrame, run: Run | None) -> dict[str, Figure]:
        drawn = {"points": points_won(rows)}
        if run is None:
            return drawn
        drawn["critical-difference"] = critical_difference(rows)
        drawn["gain"] = gains(rows)
        for arm in devices_in(rows):
            for variant in VARIANTS:
                some = rows_of(rows, arm=arm, variant=variant)
                if len(some):
                    drawn[_charts_of(arm, variant)] = charts(some)
        return {name: _stamped(figure, rows) for name, figure in drawn.items()}

    arms = {arm: arm_name(arm) for arm in devices_in(measured)}
    charted = {_charts_of(arm, variant): _CHARTS for arm in arms for variant in VARIANTS}
    return of_every_run(measured, draw, {**CAPTIONS, **charted}, arms, "throughput_kib_s")


def _stamped(figure: Figure, rows: pd.DataFrame) -> Figure:
    """Say in the title where fio stood in for iozone."""
    if "fio" in set(rows["tool"]):
        title = figure.get_suptitle()
        figure.suptitle(f"{title}: by fio with the same patterns, not by iozone")
    return figure
