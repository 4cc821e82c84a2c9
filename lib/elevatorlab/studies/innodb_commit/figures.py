"""The study's figures and their captions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...judging.matching import Run
from .measures import ARMS, main_rows, swept_rows
from .tables import MAPPED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...showing.figures import Drawn


CAPTIONS = {
    "commits": "Commits per second relative to mq-deadline with 1 thread, as printed and as "
    "measured, with 95 % confidence intervals. For each number of threads, compare the order of "
    "the schedulers between the panels.",
    "slice-idle": "Commits per second with bfq relative to mq-deadline, by bfq's slice_idle, with "
    "95 % confidence intervals (dashed: the article's cfq). Where bfq loses even with "
    "slice_idle = 0, slice_idle is not the cause.",
    "idle": "Share of the whole run in which the device was idle although requests waited in the "
    "scheduler (means with 95 % confidence intervals; thin strokes: repetitions). Where bfq idles "
    "even with slice_idle = 0, slice_idle is not the cause.",
    "group-commit": "For each commit: writes that reached the device, and flushes that the server "
    "requested, with 95 % confidence intervals. With 8 threads, one flush serves several commits.",
}
"""What each figure shows."""
DETAILS = {
    "commits": "An arrow marks an interval that goes beyond the frame. At flush=0, "
    f"InnoDB flushes its log once a second and not at each commit. {MAPPED}",
    "slice-idle": "The right panel uses strict_guarantees: bfq then idles whenever its queue in "
    "service becomes empty, and lets only one request at a time into the device.",
    "idle": "The times come from the kernel's tracepoints. Intervals are cut at 0 and 1.",
    "group-commit": "For a device without a volatile cache, the kernel completes a flush itself "
    "and sends nothing to the device.",
}
"""How each figure was made. Where it was measured is added."""
KEPT = ("commits", "idle")
"""The figures for the main text of a paper; the others are for its appendix."""


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures.

    `measured`: Tidy measured table; empty for published data alone. Returns: "commits" and, if they
    were measured, "idle", "group-commit" and "slice-idle"; once for each run (see
    `showing.figures.of_every_run`).
    """
    # Imported here, because drawing needs libraries that judging does not need.
    from ...showing.figures import of_every_run
    from .figures_drawn import commits, group_commit, idle, slice_idle

    def draw(rows: pd.DataFrame, run: Run | None) -> dict[str, Figure]:
        swept, rows = swept_rows(rows), main_rows(rows)
        drawn = {"commits": commits(published, rows)}
        if len(rows):
            drawn["idle"] = idle(rows)
            drawn["group-commit"] = group_commit(rows)
        if len(swept):
            drawn["slice-idle"] = slice_idle(published, swept)
        return drawn

    return of_every_run(measured, draw, CAPTIONS, ARMS, "tps", kept=KEPT, details=DETAILS)
