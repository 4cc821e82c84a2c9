"""The study's figures and what their captions say of where they were measured."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ...drawing import Drawn, of_every_run
from ...matching import Run
from .figure_beyond import explanation, knobs, price, unscaled
from .figure_cores import cores
from .figure_latency import latency_against_throughput
from .figure_mix import read_share, request_size
from .figure_overview import overview
from .figure_sides import sides

ARMS = {"host": "the machine"}

_SHARED = (
    "Host and target share the machine's only processor, which the document's do not: what a "
    "batch saves on either side counts."
)
_SCALED = (
    "Measured times are divided, and rates multiplied, by the factor in the title: the scale of "
    "time, chosen from noop alone."
)
CAPTIONS = {
    "overview": "Throughput of SBQ relative to noop against I/O depth (4 KiB random reads): as "
    "published (dashed) and as measured with each driver; crosses: a local null_blk, the negative "
    "control. Right: the processor's time for a request at depth 64. " + _SHARED,
    "figure-1-ssd": "Counterpart of the document's Figure 1: latency against throughput, one point "
    "an I/O depth; a row for each driver. Dashed: published. Where mq-deadline is not seen, kyber "
    "lies on it. " + _SCALED + " " + _SHARED,
    "figure-2-ram": "Counterpart of the document's Figure 2, as Figure 1, with a RAM target. "
    + _SCALED,
    "figure-3-ssd-cores": "Counterpart of the document's Figure 3: throughput by cores. One core "
    "is measured (dot); the lines beyond it are predictions from its cost of a request, not "
    "measurements. Dashed: published. " + _SCALED,
    "figure-4-ram-cores": "Counterpart of the document's Figure 4, as Figure 3, with a RAM target.",
    "figure-5-read-share": "Counterpart of the document's Figure 5: throughput by share of reads, "
    "with SBQ / noop above each pair; published on 4 and 16 cores, measured on one. " + _SCALED,
    "figure-6-request-size": "Counterpart of the document's Figure 6: throughput by request size; "
    "published (dashed) on 16 cores and a link of 100 Gb/s, measured on one core without a limit. "
    + _SCALED,
    "explanation": "What a request costs at depth 64: instructions (busy nanoseconds, in "
    "thousands), TCP segments with data that host and target sent, context switches. " + _SHARED,
    "sides": "Whose work the processor does for a request, from the kernel's own events (see "
    "`elevatorlab.agent.sides`), without what recording them costs: what would be left on either "
    "machine, if there were two.",
    "price": "Left: mean latency at depth 1 relative to noop, stock driver, published and with "
    "times scaled or not. Right: throughput on a local null_blk relative to noop.",
    "knobs": "Throughput relative to noop for each pair of SBQ's knobs, and requests in a batch.",
    "unscaled": "Throughput of SBQ relative to noop at two depths, with times scaled and not.",
}
"""What each figure shows; where it was measured is added to it."""


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
        By the names in `CAPTIONS`, for each run (see `drawing.of_every_run`); what only a
        measurement can show is left out without one.
    """

    def draw(run: Run | None) -> dict[str, Figure]:
        rows = measured if run is None else run.rows
        drawn = _of_the_document(published, rows)
        return drawn if run is None else {**drawn, **_beyond(published, rows)}

    return of_every_run(measured, draw, CAPTIONS, ARMS)


def _of_the_document(published: pd.DataFrame, rows: pd.DataFrame) -> dict[str, Figure]:
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
    return {
        "explanation": explanation(rows),
        "sides": sides(rows),
        "price": price(published, rows),
        "knobs": knobs(rows),
        "unscaled": unscaled(rows),
    }
