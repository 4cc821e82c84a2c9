"""The study's figures and what their captions say of where they were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ....judging.matching import Run, backing_schedulers
from ....plugins.schedulers import shown_name
from ...kit.cells import in_order
from ..measures import ARMS, SCHEDULERS
from ..published import TEST_1, TEST_2

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ....showing.figures import Drawn

_INTERVALS = (
    "intervals are 95 % (Student's t on logarithms), and one that leaves its panel means that the "
    "repetitions do not bound the time."
)
_TIMES = (
    "{counterpart} time to read one file under {scheduler} while another is written, geometric "
    "means, printed (left) and rerun. Compare slopes and the distance between arms, not seconds: "
    "the machines differ, and presets other than full read smaller files; " + _INTERVALS
)
CAPTIONS = {
    "overview": "Time with each scheduler relative to none, as printed and as measured for each "
    "kind of read. Where the reader fetched 0 % of the timed bytes, the scheduler had nothing to "
    "decide (above 100 %, its own program was fetched, too); " + _INTERVALS,
    **{
        f"figure-{number}-{scheduler}": _TIMES.format(
            counterpart=f"Counterpart of the article's Figure {number}:", scheduler=scheduler
        )
        for number, scheduler in enumerate(SCHEDULERS, 1)
    },
    "table-5": "Counterpart of the article's Table 5: time to read a tree of small files while a "
    "big file is read, printed (left) and rerun. Compare the bars within a panel, not seconds "
    "between panels; " + _INTERVALS,
    "crossing": "Time relative to the top left pair, for each scheduler of the device under test "
    "(across) and of the physical disk below it (down), with 95 % confidence intervals. All other "
    "figures and every verdict use the first row alone.",
}
"""What each figure shows; where it was measured is added to it."""
KEPT = ("overview",)
"""The figures that a paper would keep."""

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
        "overview", "figure-1-none" ... "figure-4-kyber" and "table-5", "times-NAME" for every
        scheduler that the article has not, and "crossing" where several schedulers of the
        physical disk were measured; for each run (see
        `showing.figures.of_every_run`).
    """
    # Drawing needs libraries that judging, and so the study, does without.
    from ....showing.figures import of_every_run
    from .crossing import crossing, shown_variant
    from .panels import VARIANTS

    def draw(rows: pd.DataFrame, run: Run | None) -> dict[str, Figure]:
        drawn = _of(published, rows)
        if run and len(backing_schedulers(run.crossed)) > 1:
            drawn["crossing"] = crossing(run.crossed)
        return drawn

    shown = "" if measured.empty else f" Shown: {VARIANTS[shown_variant(measured)]}."
    captions = {**CAPTIONS, "crossing": CAPTIONS["crossing"] + shown}
    shows = dict(SHOWS)
    for scheduler in in_order(measured, "scheduler", ()):
        name = f"times-{scheduler}"
        captions[name] = _TIMES.format(
            counterpart="Beyond the article:", scheduler=shown_name(scheduler)
        )
        shows[name] = {"test": TEST_1, "scheduler": scheduler}
    return of_every_run(
        measured, draw, captions, ARMS, "time_s", crossed=("crossing",), shows=shows, kept=KEPT
    )


def _of(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Figure]:
    from .overview import overview
    from .times import times_against_size, tree_times

    names = {scheduler: f"figure-{n}-{scheduler}" for n, scheduler in enumerate(SCHEDULERS, 1)}
    there = in_order(measured, "scheduler", SCHEDULERS)
    names |= {one: f"times-{one}" for one in there if one not in names}
    return {
        "overview": overview(published, measured),
        **{name: times_against_size(published, measured, one) for one, name in names.items()},
        "table-5": tree_times(published, measured),
    }
