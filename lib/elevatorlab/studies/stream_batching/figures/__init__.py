"""The study's figures and what their captions say of where they were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ....judging.matching import Run
from ..measures import FEWEST_FOR_P99, scale_of, target_is_apart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ....showing.figures import Drawn

ARMS = {"host": "the machine"}

_LIKE = "Counterpart of the document's Figure {}: "
CAPTIONS = {
    "overview": "Throughput of SBQ relative to noop against I/O depth (4 KiB random reads), and "
    "the processor's time for a request at depth 64, with 95 % confidence intervals. Above 1, "
    "holding requests back gains, below 1 it costs; crosses are a local null_blk.",
    "figure-1-ssd": _LIKE.format(1) + "latency against throughput, one point an I/O depth, with "
    "95 % confidence intervals. Where mq-deadline is not seen, kyber lies on it; a 99th percentile "
    f"of fewer than {FEWEST_FOR_P99} requests is not drawn.",
    "figure-2-ram": _LIKE.format(2) + "as Figure 1, with a RAM target. A 99th percentile of fewer "
    f"than {FEWEST_FOR_P99} requests is not drawn.",
    "figure-3-ssd-cores": _LIKE.format(3) + "throughput by cores; dashed curves are published. "
    "One core is measured (markers, 95 % confidence intervals), and the dotted lines beyond it are "
    "predictions from its cost of a request.",
    "figure-4-ram-cores": _LIKE.format(4) + "as Figure 3, with a RAM target. One core is measured, "
    "and the dotted lines beyond it are predictions.",
    "figure-5-read-share": _LIKE.format(5) + "throughput, and SBQ / noop, by share of reads; "
    "published on 4 and 16 cores, measured with one job of fio and 95 % confidence intervals. "
    "Compare the ratios (below), not the rates.",
    "figure-6-request-size": _LIKE.format(6) + "throughput by request size; published (dashed) on "
    "16 cores and a link of 100 Gb/s, measured with one job of fio and 95 % confidence intervals. "
    "Compare the distance between the schedulers, not the rates.",
    "explanation": "What a request costs at depth 64, with 95 % confidence intervals: the "
    "processor's time (1 us is a thousand instructions where these are counted), TCP segments with "
    "data, context switches. Compare the schedulers with each driver: what costs less explains the "
    "gain.",
    "processor-time": "Whose work the processor does for a request, from the kernel's own events "
    "(see `agent.observe.processor_time`), without what recording them costs; the sums are host + "
    "target. Each is what would be left on that machine, if there were two.",
    "price": "Mean latency at depth 1 with the stock driver, and throughput on a local null_blk, "
    "both relative to noop, with 95 % confidence intervals. Holding requests back costs where the "
    "left panel is above 1, and the right one below.",
    "knobs": "Throughput relative to noop for each pair of SBQ's knobs, and requests in a batch. "
    "A batch ends by its size or by its timeout, whichever comes first.",
    "unscaled": "Throughput of SBQ relative to noop at two depths, with times scaled and not, with "
    "95 % confidence intervals. A dot that crosses 1 when "
    "times are scaled would change the finding.",
}
"""What each figure shows; `_remark` and where it was measured are added to it."""
KEPT = ("overview", "processor-time")
"""The figures that a paper would keep."""

_LIKE_THE_DOCUMENT = [name for name in CAPTIONS if name.startswith("figure-")]
"""Figures in the document's own units."""


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures.

    Parameters
    ----------
    published : pandas.DataFrame
        From `published.points()`.
    measured : pandas.DataFrame
        Tidy measured table (see `claims.judge`); empty for published data alone.

    Returns
    -------
    dict of str to Drawn
        By the names in `CAPTIONS`, for each run (see `showing.figures.of_every_run`); what only a
        measurement can show is left out without one.
    """
    # Drawing needs libraries that judging, and so the study, does without.
    from ....showing.figures import of_every_run

    def draw(rows: pd.DataFrame, run: Run | None) -> dict[str, Figure]:
        drawn = _of_the_document(published, rows)
        return drawn if run is None else {**drawn, **_beyond(published, rows)}

    return of_every_run(
        measured, draw, CAPTIONS, ARMS, "throughput_iops", remark=_remark, kept=KEPT
    )


def _remark(name: str, run: Run) -> str:
    """Say what was done with times, and how many machines are host and target."""
    scale = scale_of(run.rows)
    if scale == 1:
        times = "Times are not scaled."
    elif name in _LIKE_THE_DOCUMENT:
        times = (
            f"Measured times are divided, and rates multiplied, by {scale:g}: the scale of time, "
            "chosen from noop alone."
        )
    elif name == "unscaled":
        times = ""
    else:
        times = f"The disk's time and SBQ's timeout are × {scale:g}, chosen from noop alone."
    if target_is_apart(run.rows):
        machines = "Host and target are two machines, as the document's."
    else:
        machines = (
            "Host and target share the machine's processors, which the document's do not: what a "
            "batch saves on either of them counts."
        )
    return f"{times} {machines}".strip()


def _of_the_document(published: pd.DataFrame, rows: pd.DataFrame) -> dict[str, Figure]:
    from .cores import cores
    from .latency import latency_against_throughput
    from .mix import read_share, request_size
    from .overview import overview

    return {
        "overview": overview(published, rows),
        "figure-1-ssd": latency_against_throughput(published, rows, "nvme_ssd"),
        "figure-2-ram": latency_against_throughput(published, rows, "ram"),
        "figure-3-ssd-cores": cores(published, rows, "nvme_ssd"),
        "figure-4-ram-cores": cores(published, rows, "ram"),
        "figure-5-read-share": read_share(published, rows),
        "figure-6-request-size": request_size(published, rows),
    }


def _beyond(published: pd.DataFrame, rows: pd.DataFrame) -> dict[str, Figure]:
    from .costs import explanation, price
    from .knobs import knobs, unscaled
    from .processor_time import processor_time

    return {
        "explanation": explanation(rows),
        "processor-time": processor_time(rows),
        "price": price(published, rows),
        "knobs": knobs(rows),
        "unscaled": unscaled(rows),
    }
