"""The study's figures: the article's charts and points, and figures that the article lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...judging.matching import Run
from ..kit.cells import rows_of
from .measures import VARIANTS, arm_name, devices_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...showing.figures import Drawn


def _charts_of(variant: str) -> str:
    """Return the name of the figure with the charts of a variant."""
    return f"charts-{variant}".replace("_", "-")


CAPTIONS = {
    "points": "Points of each scheduler, added up over all tests, numbers of threads and runs: the "
    "article's (left), and those of the reruns with 95 % confidence intervals over runs. The "
    "percentage is how often a scheduler wins when the runs are resampled.",
    "critical-difference": "Mean rank of each scheduler over tests and numbers of threads (1 is "
    "best). A black bar joins schedulers that Nemenyi's test at 5 % does not tell apart.",
    "gain": "Gain of the best scheduler over the worst in each test, with 95 % confidence "
    "intervals over runs. Colour and marker name the best scheduler; the dashed line is at 30 %, "
    "the article's gain.",
    **{
        _charts_of(variant): "Counterpart of the article's charts: throughput of each scheduler "
        f"relative to the mean of all schedulers in the same run ({name}). Where all dots are on "
        "the line, the choice of a scheduler changes nothing."
        for variant, name in VARIANTS.items()
    },
}
"""What each figure shows."""
DETAILS = {
    "points": "In a rerun, a scheduler gets one point for each scheduler that it beats, and half "
    "a point for each tie. The runs are resampled by the bootstrap.",
    "critical-difference": "Friedman's p is the probability that equal schedulers have mean ranks "
    "at least this different. The true p is larger than shown, because the tests share files and a "
    "disk.",
    "gain": "An interval that reaches the frame is cut off there.",
    **{
        _charts_of(variant): "Whiskers are 95 % confidence intervals over runs. An interval that "
        "reaches the frame is cut off there."
        for variant in VARIANTS
    },
}
"""How each figure was made. Where it was measured is added."""
KEPT = ("points", "gain")
"""The figures for the main text of a paper; the others are for its appendix."""


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures.

    `published`: From `published.sample_log()`. No figure shows these rates, because they belong to
    the author's hardware. The printed points are read by the figure itself. `measured`: Tidy
    measured table (see `engine.judge`); empty for published data alone. Returns: "points" and, if
    something was measured, "critical-difference", "gain" and "charts-VARIANT"; once for each run
    (see `showing.figures.of_every_run`).
    """
    # Imported here, because drawing needs libraries that judging does not need.
    from ...showing.figures import of_every_run
    from .figures_drawn import charts, critical_difference, gains, points_won

    def draw(rows: pd.DataFrame, run: Run | None) -> dict[str, Figure]:
        drawn = {"points": points_won(rows)}
        if run is None:
            return drawn
        drawn["critical-difference"] = critical_difference(rows)
        drawn["gain"] = gains(rows)
        for variant in VARIANTS:
            some = rows_of(rows, variant=variant)
            if len(some):
                drawn[_charts_of(variant)] = charts(some)
        return {name: _stamped(figure, rows) for name, figure in drawn.items()}

    arms = {arm: arm_name(arm) for arm in devices_in(measured)}
    shows = {_charts_of(variant): {"variant": variant} for variant in VARIANTS}
    says: dict[str, Any] = {"shows": shows, "kept": KEPT, "details": DETAILS}
    return of_every_run(measured, draw, CAPTIONS, arms, "throughput_kib_s", **says)


def _stamped(figure: Figure, rows: pd.DataFrame) -> Figure:
    """Say in the title if fio ran in place of iozone."""
    from ...showing.style import entitle

    if "fio" in set(rows["tool"]):
        title = figure.get_suptitle()
        entitle(figure, f"{title}: by fio with the same patterns, not by iozone")
    return figure
