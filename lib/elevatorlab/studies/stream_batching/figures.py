"""The study's figures, their captions, and remarks on how they were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...judging.matching import Run
from ..kit.cells import rows_of
from .measures import apart, scale_of, shared, target_is_apart
from .trials import FEWEST_FOR_P99

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...showing.figures import Drawn

ARMS = {"host": "the machine"}

_LIKE = "Counterpart of the document's Figure {}: "
CAPTIONS = {
    "overview": "Throughput of SBQ relative to noop, against I/O depth. SBQ gains where the "
    "ratio is above 1, and loses where it is below.",
    "figures-1-and-2": "Counterparts of the document's Figures 1 and 2: latency against "
    "throughput, one point per I/O depth, with 95 % confidence intervals. Where schedulers agree, "
    "the marker of one covers the other's.",
    "figures-3-and-4": "Counterparts of the document's Figures 3 and 4: throughput by cores. "
    "Compare the distance between the schedulers, not the rates.",
    "figure-5-read-share": _LIKE.format(5) + "throughput, and SBQ / noop, by share of reads. "
    "Compare the ratios (below), not the rates.",
    "figure-6-request-size": _LIKE.format(6) + "throughput by request size (dashed: the document). "
    "Compare the distance between the schedulers, not the rates.",
    "explanation": "What a request costs at depth 64, with 95 % confidence intervals: the "
    "processor's time, TCP segments with data, and context switches. Compare the schedulers "
    "separately for each driver: SBQ's lower costs explain its gain in throughput.",
    "processor-time": "Processor time per request, split by the part of the system that spent it "
    "(from the kernel's tracepoints). The sums are host + target; on two machines, each would pay "
    "only its own part.",
    "price": "Mean latency at depth 1 with the stock driver (left), and throughput on a local "
    "null_blk (right), both relative to noop. SBQ is worse than noop above 1 in the left panel, "
    "and below 1 in the right panel.",
    "knobs": "Throughput relative to noop for each batch size and timeout of SBQ (in brackets: the "
    "mean number of requests in a batch). A batch ends when it is full or when its timeout ends, "
    "whichever comes first.",
    "unscaled": "Throughput of SBQ relative to noop at two depths, with times scaled and not "
    "scaled, with 95 % confidence intervals. Scaling the times changes a finding only where it "
    "moves a dot to the other side of 1.",
}
"""What each figure shows."""
_INTERVALS = "Whiskers are 95 % confidence intervals."
_FEW = f"Points with fewer than {FEWEST_FOR_P99} requests have no 99th percentile."
DETAILS = {
    "overview": "Requests are random reads of 4 KiB. Open markers are published. On the "
    f"dotted line, host and target have a processor each. {_INTERVALS}",
    "figures-1-and-2": _FEW,
    "figures-3-and-4": _INTERVALS,
    "figure-5-read-share": _INTERVALS,
    "figure-6-request-size": f"The document's link has 100 Gb/s. {_INTERVALS}",
    "explanation": "Where instructions are counted, 1 us is a thousand instructions.",
    "processor-time": "The cost of recording these events is left out. The module "
    "elevatorlab.agent.observe.processor_time lists the events.",
    "price": _INTERVALS,
}
"""How each figure was made. The remark of a run (`_remark`) is added."""
KEPT = ("overview", "processor-time")
"""The figures for the main text of a paper; the others are for its appendix."""

_LIKE_THE_DOCUMENT = [name for name in CAPTIONS if name.startswith("figure")]
"""Figures in the document's own units."""

_OF_CORES = ("figures-3-and-4", "figure-5-read-share", "figure-6-request-size")
"""Figures of which the document has several cores."""


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures.

    `measured`: Tidy measured table (see `engine.judge`); empty for published data alone. Returns:
    By the names in `CAPTIONS`, once for each run (see `showing.figures.of_every_run`). Without a
    measurement, only the document's figures are drawn. The figures in `_OF_CORES` show the rows in
    which host and target have cores of their own, where there are any. The others show the rows in
    which both share their processors; the overview also has those with a core each.
    """
    # Imported here, because drawing needs libraries that judging does not need.
    from ...showing.figures import of_every_run

    alike, own = shared(measured), apart(measured)
    counted = own[own["throughput_iops"].notna()]

    def draw(rows: pd.DataFrame, run: Run | None) -> dict[str, Figure]:
        beside = (
            counted if run is None else rows_of(counted, machine=run.machine, preset=run.preset)
        )
        drawn = _of_one_core(published, rows, beside)
        return drawn if run is None else {**drawn, **_beyond(published, rows)}

    def draw_cores(rows: pd.DataFrame, run: Run | None) -> dict[str, Figure]:
        return _of_cores(published, rows)

    says: dict[str, Any] = {"remark": _remark, "kept": KEPT, "details": DETAILS}
    drawn = of_every_run(alike, draw, CAPTIONS, ARMS, "throughput_iops", **says)
    one_core = frozenset(counted.loc[counted["cores"] == 1, "trial"])
    for name in [name for name in drawn if name.startswith("overview")]:
        drawn[name] = drawn[name]._replace(trials=drawn[name].trials | one_core)
    by_cores = alike if own.empty else own
    drawn |= of_every_run(by_cores, draw_cores, CAPTIONS, ARMS, "throughput_iops", **says)
    order = list(CAPTIONS)
    return dict(sorted(drawn.items(), key=lambda one: order.index(one[0].partition("--")[0])))


def _remark(name: str, run: Run) -> str:
    """Say how times were scaled, and whether host and target are two machines."""
    scale = scale_of(run.rows)
    chosen = f"The factor {scale:g} was computed from noop's measurements."
    if scale == 1:
        times = "Times are not scaled."
    elif name in _LIKE_THE_DOCUMENT:
        times = f"Measured times are divided, and rates multiplied, by {scale:g}. {chosen}"
    elif name == "unscaled":
        times = ""
    else:
        times = (
            f"The disk's service time, SBQ's timeout and the link's times are multiplied by "
            f"{scale:g}. {chosen}"
        )
    if len(apart(run.rows)):
        machines = (
            "Host and target have processors of their own on one emulated machine: each as many as "
            "the document's."
        )
    elif target_is_apart(run.rows):
        machines = "Host and target are two machines, as in the document."
    else:
        machines = (
            "Host and target share the machine's processors, so time saved on either side raises "
            "throughput. The document's host and target are two machines."
        )
        if name in _OF_CORES:
            machines += " There is one job of fio, where the document has one on each core."
    return f"{times} {machines}".strip()


def _of_one_core(
    published: pd.DataFrame, rows: pd.DataFrame, apart: pd.DataFrame
) -> dict[str, Figure]:
    from .figures_costs import overview
    from .figures_rates import latency_against_throughput

    return {
        "overview": overview(published, rows, apart),
        "figures-1-and-2": latency_against_throughput(published, rows),
    }


def _of_cores(published: pd.DataFrame, rows: pd.DataFrame) -> dict[str, Figure]:
    from .figures_rates import cores, read_share, request_size

    drawn = (cores(published, rows), read_share(published, rows), request_size(published, rows))
    return dict(zip(_OF_CORES, drawn, strict=True))


def _beyond(published: pd.DataFrame, rows: pd.DataFrame) -> dict[str, Figure]:
    from .figures_costs import explanation, knobs, price, processor_time, unscaled

    return {
        "explanation": explanation(rows),
        "processor-time": processor_time(rows),
        "price": price(published, rows),
        "knobs": knobs(rows),
        "unscaled": unscaled(rows),
    }
