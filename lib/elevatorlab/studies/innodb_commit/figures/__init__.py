"""The study's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ....judging.matching import Run
from ..measures import ARMS, main_rows, swept_rows
from ..tables import MAPPED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ....showing.figures import Drawn

_BARS = (
    "Error bars are 95 % confidence intervals over repetitions; where none is seen it is too "
    "small, or there was one repetition. One that is too long for the frame ends in an arrow, with "
    "the value that it reaches."
)
CAPTIONS = {
    "commits": "Counterpart of the article's table: commits a second relative to deadline with 1 "
    "thread, as printed and as measured, with the log flushed at each commit and (flush=0) once a "
    f"second. {MAPPED} {_BARS}",
    "slice-idle": "Commits a second with bfq, relative to mq-deadline with as many threads, "
    "against slice_idle, the time that bfq may wait for the next request of a process; left as it "
    "comes, right with strict_guarantees (it always idles, and lets only one request into the "
    "device). What is lost with slice_idle 0, too, is not slice_idle's doing. The dotted line is "
    "the article's cfq with 8 threads, relative to its deadline. More threads are drawn a little "
    f"to the right. {_BARS}",
    "idle": "Share of the time in which requests waited in the scheduler and none was at the "
    "device, from the kernel's block tracepoints, with the log flushed at each commit. Left: each "
    "scheduler as it comes. Right: bfq with strict_guarantees, by slice_idle: what is there with "
    f"0, too, is not slice_idle's doing. {_BARS} A share is between 0 and 1, and there its "
    "interval ends.",
    "group-commit": "Writes that reached the device, and flushes that the server asked for, for "
    "each commit: with 8 threads one flush serves several commits. A flush of a device without "
    f"volatile cache ends in the kernel. {_BARS}",
}
"""What each figure shows; where it was measured is added to it."""


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures.

    Parameters
    ----------
    published : pandas.DataFrame
        From `published.table()`.
    measured : pandas.DataFrame
        Tidy measured table; empty for published data alone.

    Returns
    -------
    dict of str to Drawn
        "commits", and of a measurement "idle", "group-commit" and "slice-idle", for each run (see
        `showing.figures.of_every_run`).
    """
    # Drawing needs libraries that judging, and so the study, does without.
    from ....showing.figures import of_every_run
    from .commits import commits
    from .device import group_commit, idle
    from .slice_idle import slice_idle

    def draw(rows: pd.DataFrame, run: Run | None) -> dict[str, Figure]:
        swept, rows = swept_rows(rows), main_rows(rows)
        drawn = {"commits": commits(published, rows)}
        if len(rows):
            drawn["idle"] = idle(rows)
            drawn["group-commit"] = group_commit(rows)
        if len(swept):
            drawn["slice-idle"] = slice_idle(published, swept)
        return drawn

    return of_every_run(measured, draw, CAPTIONS, ARMS, "tps")
