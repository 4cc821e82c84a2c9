"""The study's figures and what their captions say of where they were measured."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ...drawing import Drawn, of_every_run
from ...matching import Run, backing_schedulers
from .figure_crossing import crossing, shown_variant
from .figure_overview import overview
from .figure_times import times_against_size, tree_times
from .measures import ARMS, SCHEDULERS
from .panels import VARIANTS
from .published import TEST_1, TEST_2

_BARS = (
    "Points are geometric means; bars are 95 % confidence intervals over repetitions (Student's "
    "t on logarithms), and where none is seen it is smaller than the marker or there was one "
    "repetition. A bar that leaves its panel means that the repetitions do not bound the time."
)
CAPTIONS = {
    "overview": "Time with each scheduler relative to none (log scale; right of the line is "
    "slower), as printed in the article and as measured when each kind of read is rerun. Each "
    "panel says how many bytes the reader had to fetch for each timed byte: where it is 0 %, the "
    "scheduler had nothing to decide (above 100 %, its own program was fetched, too). " + _BARS,
    **{
        f"figure-{number}-{scheduler}": f"Counterpart of the article's Figure {number}: time to "
        f"read one file under {scheduler} while another is written. Left: the printed times. "
        "Others: measured. Compare slopes and the distance between arms, not seconds: the "
        f"machines differ, and presets other than full read smaller files. {_BARS}"
        for number, scheduler in enumerate(SCHEDULERS, 1)
    },
    "table-5": "Counterpart of the article's Table 5: time to read a tree of small files while "
    "a big file is read. Left: the printed times. Others: measured. Compare the bars within a "
    "panel, not seconds between panels. " + _BARS.replace("Points", "Bars' heights"),
    "crossing": "Time relative to the top left pair, for each scheduler of the device under test "
    "(across) and of the physical disk below it (down), with 95 % confidence intervals. All other "
    "figures and every verdict use the first row alone.",
}
"""What each figure shows; where it was measured is added to it."""

SHOWS = {
    **{
        f"figure-{number}-{scheduler}": {"test": TEST_1, "scheduler": scheduler}
        for number, scheduler in enumerate(SCHEDULERS, 1)
    },
    "table-5": {"test": TEST_2},
}
"""The rows of a figure that does not show all of them."""


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures.

    Parameters
    ----------
    published : pandas.DataFrame
        From `published.times()`; seconds.
    measured : pandas.DataFrame
        Tidy measured table (see `claims.judge`); empty for published data alone.

    Returns
    -------
    dict of str to Drawn
        "overview", "figure-1-none" ... "figure-4-kyber" and "table-5", and "crossing" where
        several schedulers of the physical disk were measured; for each run (see
        `drawing.of_every_run`).
    """

    def draw(run: Run | None) -> dict[str, Figure]:
        drawn = _of(published, measured if run is None else run.rows)
        if run and len(backing_schedulers(run.crossed)) > 1:
            drawn["crossing"] = crossing(run.crossed)
        return drawn

    shown = "" if measured.empty else f" Shown: {VARIANTS[shown_variant(measured)]}."
    captions = {**CAPTIONS, "crossing": CAPTIONS["crossing"] + shown}
    return of_every_run(measured, draw, captions, ARMS, crossed=("crossing",), shows=SHOWS)


def _of(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Figure]:
    by_size = {
        f"figure-{number}-{scheduler}": times_against_size(published, measured, scheduler)
        for number, scheduler in enumerate(SCHEDULERS, 1)
    }
    return {
        "overview": overview(published, measured),
        **by_size,
        "table-5": tree_times(published, measured),
    }
