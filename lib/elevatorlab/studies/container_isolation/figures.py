"""The study's figures, their captions, and what the analysis says about each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...analysis.knee import Knee
from ...analysis.models import CLOSED_BUSY, QUEUES, WAIT_LAWS
from ...judging.matching import Run
from ...plugins.schedulers import colour_of, shown_name
from ..kit.cells import in_order, rows_of
from .measures import (
    FEWEST_PLACES,
    MOST_SLAS,
    ONE_SERVER,
    OPEN,
    RIVALS,
    STUDY_DISK,
    UNTESTED,
    by_load,
    by_scheduler,
    compare_curves,
    curves_over_containers,
    knee_of,
)
from .tables import better_than_slae, fairness
from .trials_containers import DISKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...showing.figures import Drawn

_DISK = (
    "The disk is one server: it takes 1.85 ms for a write, and can buffer one write. Its "
    "parameters were set to match both end points of Figure 1 and two waits: that of one "
    "container, and that of the overloaded container alone."
)
_OF_N = (
    "Counterpart of the paper's Figure {number} (stars: the paper's two end points; dots: our "
    "repetitions; lines: fitted curves, and the exact solution of a queue with one server). {see}"
)
_BAND = "The band is the 95 % confidence band of the best curve."
_LIMIT = (
    "The paper's logarithmic curve has no upper limit, but with one write outstanding neither "
    "utilisation nor queue length exceeds 1."
)
_RESIDUALS = (
    "The lower panel has the residuals: measured value minus curve. The exact solution is "
    "mean-value analysis. "
)
OF_EQUAL = {
    "figure-1": "iops",
    "figure-2": "write_kb_s",
    "figure-3": "utilization_percent",
    "figure-4": "queue_length",
}
"""The quantity of equal containers that each of Figures 1 to 4 shows."""

CAPTIONS = {
    "overview": "Counterpart of the paper's Figure 5: wait against the utilisation of a "
    "container's own device. Both lines are computed from the paper's first point alone; only the "
    "closed law comes near the other points.",
    **{
        name: _OF_N.format(
            number=name.removeprefix("figure-"),
            see=_LIMIT if CLOSED_BUSY in RIVALS[quantity] else _BAND,
        )
        for name, quantity in OF_EQUAL.items()
    },
    "figure-6": "Counterpart of the paper's Figure 6: wait of normal and overloaded containers, "
    "alone and together, with 95 % confidence intervals (0 normal containers: overloaded alone). "
    "Right: how much each wait grows; compare a normal container with the overloaded one.",
    "open-and-closed": "Wait against the utilisation of the shared server, as the simulated disk "
    "itself counts it. Open arrivals follow M/M/1 or M/D/1 (grey, drawn without a fit); closed "
    "writers follow neither.",
    "figure-8": "Counterpart of the paper's Figure 8: write rates, each second's mean and range "
    "over containers and repetitions. The first panel has the limit that the paper set by hand; "
    "the others have its two algorithms, taken literally, and our versions of them.",
    "figure-9": "Counterpart of the paper's Figure 9: wait of normal containers (tuned to the "
    "paper's before the tenth second, predicted afterwards). SLAE aims at a wait below a "
    "limit; UTE aims at a utilisation below a threshold, and guarantees nothing about the wait.",
    "comparison": "The regulator compared with the kernel's mechanisms: for how long waits exceed "
    "the SLA, when they stop doing so, the share of time in which the disk is busy, and the "
    "offenders' write rate. Good: small values in the two left panels, large ones in the two "
    "right panels.",
    "comparison-over-time": "For each second, the curve shows the largest of all normal "
    "containers' mean waits, over all repetitions. The overload begins at the thin line; a "
    "mechanism works once its curve stays below the dotted line, the SLA.",
    "waits-by-second": "Waits of the normal containers while others overload the disk: cumulative "
    "distributions of a container's mean wait in one second. A curve further to the left means "
    "shorter waits; the dotted line is the SLA.",
    "frontier": "The offenders' write rate against the mean wait of the slowest normal container; "
    "each dot is a setting of a mechanism. A line joins a mechanism's best settings; large dots "
    "are settings that kept the SLA.",
}
"""What each figure shows."""
DETAILS = {
    **dict.fromkeys(("figure-6", "figure-8"), _DISK),
    "overview": "The closed law is W = Z U / (1 - U), with wait W, utilisation U, and pause Z "
    f"between two writes. It holds for any disk if each container has one write outstanding. "
    f"{_DISK}",
    "figure-9": f"With three overloading writers, the wait before the tenth second is close "
    f"to the paper's. {_DISK}",
    **{
        name: _RESIDUALS + (f"{_BAND} " if CLOSED_BUSY in RIVALS[quantity] else "") + _DISK
        for name, quantity in OF_EQUAL.items()
    },
    "open-and-closed": "The figure uses the disk's own account, because the kernel's busy time is "
    "too low by a third for closed writers at saturation. The two laws use the disk's own "
    "service time S.",
    "comparison": "Intervals are 95 % confidence intervals, drawn where repetitions differ. The "
    "first panel counts the seconds in which a normal container waits longer than the SLA. The "
    "second panel shows when the last such second ends (never: a container still waits too long at "
    "the end). The dotted line of the third panel is the target of 90 %. For io.max, we named the "
    f"offenders in advance; its limit is the 1 MB/s that the paper set by hand. {UNTESTED}",
    **dict.fromkeys(("comparison-over-time", "waits-by-second"), _DISK),
    "frontier": "Waits are averaged over seconds. Intervals are 95 % confidence intervals over "
    "seeds, of the settings with all seeds, if these are three or more. "
    f"Settings with a wait above {MOST_SLAS} times the SLA are not drawn, nor mechanisms that miss "
    "more than half of the seconds of all loads in each setting. A dot is large "
    "if no wait exceeded the SLA later than 250 ms after the overload began.",
}
"""How each figure was made. What the analysis says about a run is added (`_remark`)."""
KEPT = ("overview", "figure-6", "comparison")
"""The figures for the main text of a paper; the others are for its appendix."""

#: The rows that a figure shows, for the figures that show only one experiment.
SHOWS = {
    **{name: {"experiment": "regulation"} for name in ("figure-8", "figure-9")},
    **{
        name: {"experiment": "comparison"}
        for name in ("comparison", "comparison-over-time", "waits-by-second")
    },
}


def figures(published: pd.DataFrame, measured: pd.DataFrame) -> dict[str, Drawn]:
    """Draw the study's figures, once for each run (see `showing.figures.of_every_run`).

    `measured`: Tidy table; empty for published data alone. Each further scheduler of the disk gets
    figures of its own, whose names end with the scheduler's name.
    """
    # Imported here, because drawing needs libraries that judging does not need.
    from ...showing.figures import of_every_run

    def draw(rows: pd.DataFrame, run: Run | None) -> dict[str, Figure]:
        drawn: dict[str, Figure] = {}
        for ending, some in list(_of_schedulers(rows)) or [("", rows)]:
            for name, figure in _of_containers(published, some).items():
                if ending:
                    scheduler = ending[1:]
                    title = f"{figure.get_suptitle()}: {shown_name(scheduler)}"
                    figure.suptitle(title, color=colour_of(scheduler))
                drawn[name + ending] = figure
        return drawn | _of_mechanisms(rows)

    captions, details, shows = dict(CAPTIONS), dict(DETAILS), dict(SHOWS)
    several = dict(_of_schedulers(measured))
    for ending, some in several.items():
        above = {"scheduler": some["scheduler"].iloc[0]} if len(several) > 1 else {}
        words = f" Scheduler of the disk: {shown_name(above['scheduler'])}." if above else ""
        for name in OF_CONTAINERS:
            captions[name + ending] = CAPTIONS[name]
            details[name + ending] = DETAILS[name] + words
            shows[name + ending] = {**SHOWS.get(name, {}), **above}
    for name, disk, _ in _frontiers(measured):
        captions[name] = CAPTIONS["frontier"]
        details[name] = f"{DETAILS['frontier']} Disk: {disk}."
        shows[name] = {"experiment": "frontier", "disk": disk}
    arms = {"container": "containers"}
    says: dict[str, Any] = {"shows": shows, "remark": _remark, "kept": KEPT, "details": details}
    return of_every_run(measured, draw, captions, arms, "write_kib_s", **says)


OF_MECHANISMS = ("comparison", "comparison-over-time", "waits-by-second", "frontier")
OF_CONTAINERS = tuple(name for name in CAPTIONS if name not in OF_MECHANISMS)
"""The figures of the paper's own experiments, each with one scheduler of the disk. In the other
figures, each mechanism chooses its scheduler."""


def _of_schedulers(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the ending of the figures' names ("" for the first) and the rows of each scheduler.

    A further scheduler with too few numbers of containers for a curve is in the tables alone.
    """
    for place, (scheduler, some) in enumerate(by_scheduler(rows)):
        if not place:
            yield "", some
        elif rows_of(some, experiment="equal")["containers"].nunique() >= FEWEST_PLACES:
            yield f"-{scheduler}", some


def _frontiers(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the figure's name, the disk and its rows, for each disk of experiment ``frontier``."""
    of_all = rows_of(rows, experiment="frontier")
    for disk in in_order(of_all, "disk", DISKS):
        name = "frontier" if disk == STUDY_DISK else f"frontier-{disk}"
        yield name, disk, rows_of(of_all, disk=disk)


def _of_containers(published: pd.DataFrame, rows: pd.DataFrame) -> dict[str, Figure]:
    from .figures_interference import curves, open_and_closed, overload, wait
    from .figures_regulation import rates_over_time, waits_over_time

    return {
        "overview": wait(rows),
        **{name: curves(rows, quantity) for name, quantity in OF_EQUAL.items()},
        "figure-6": overload(rows),
        "open-and-closed": open_and_closed(rows),
        "figure-8": rates_over_time(published, rows),
        "figure-9": waits_over_time(published, rows),
    }


def _of_mechanisms(rows: pd.DataFrame) -> dict[str, Figure]:
    from .figures_regulation import comparison, comparison_over_time, frontier, waits_by_second

    return {
        "comparison": comparison(rows),
        "comparison-over-time": comparison_over_time(rows),
        "waits-by-second": waits_by_second(rows),
        **{name: frontier(of_disk) for name, _, of_disk in _frontiers(rows)},
    }


def _remark(name: str, run: Run) -> str:
    """Return what the analysis says about a figure of a run; an empty text if it says nothing."""
    if name == "comparison":
        return f"{better_than_slae(run.rows)} {fairness(run.rows)}".strip()
    for ending, rows in reversed([*_of_schedulers(run.rows)]):
        if name.endswith(ending):
            return _remark_on_one_scheduler(name.removesuffix(ending), rows)
    return ""


def _remark_on_one_scheduler(name: str, rows: pd.DataFrame) -> str:
    """Return what the analysis says about a figure with one scheduler of the disk."""
    loads = by_load(rows)
    if name == "overview":
        found = compare_curves(loads, WAIT_LAWS, "utilization_ratio", "wait_ms")
        knee = knee_of(loads)
        return " ".join([found.sentence if found else "", _knee(knee)]).strip()
    if name == "open-and-closed":
        return _queues(rows)
    found = curves_over_containers(loads, OF_EQUAL[name]) if name in OF_EQUAL else None
    return found.sentence if found else ""


def _knee(found: Knee | None) -> str:
    if found is None:
        return "There are too few loads to find a knee in the curve."
    return f"Grey: the knee and its 95 % interval (Kneedle, wild bootstrap). {found.text()}"


def _queues(rows: pd.DataFrame) -> str:
    """Say which queueing law fits the open loads of a single server (closed: only in the table)."""
    found = {
        load: compare_curves(by_load(rows, experiment, disk), QUEUES, "disk_busy_ratio", "wait_ms")
        for load, (experiment, disk) in ONE_SERVER.items()
        if experiment == OPEN
    }
    return " ".join(f"Fitted to {load}: {one.sentence}" for load, one in found.items() if one)
