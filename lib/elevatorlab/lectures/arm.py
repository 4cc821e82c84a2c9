"""Lecture 1, on a disk with an arm: what travel costs, who should sort, what waiting is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from IPython.display import Image, display
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..plugins.schedulers import room_for
from ..results import trace
from ..showing.style import VERMILION, style
from ..showing.travel import screen, written
from ..trial import Trial
from ..trial.drive_records import Queue
from ..trial.drives import Drive, drive, with_queue
from . import experiments
from .experiments import FinishedTrial

DRIVE = "barracuda"

#: A drive whose zones show. The Barracuda's do not, since its bus is slower than its platter.
FAST_BUS = "desktop-7200"

#: First come first served, the schedulers of textbooks, and those of the kernel.
SCHEDULERS = ("none", "sstf", "look", "c-look", "mq-deadline", "kyber", "bfq")

#: How many requests a scheduler may hold, and how many the reader keeps in flight.
ROOM, DEPTH = 64, 32

#: The parts of a request's time, each with its colour (Okabe and Ito).
PARTS = {"seek_us": VERMILION, "rotation_us": "#56B4E9", "media_us": "#009E73"}
NAMES = {"seek_us": "seek", "rotation_us": "wait for the platter", "media_us": "transfer"}


def orders(schedulers: Sequence[str] = SCHEDULERS, requests: int = 300) -> dict[str, Trial]:
    """Return a trial for each scheduler: the same random reads all over the disk."""
    return {name: _trial(name, _random_reads(requests)) for name in schedulers}


def who_sorts(requests: int = 300) -> dict[str, Trial]:
    """Return four trials: requests are sorted by nobody, by the elevator, by the drive, by both."""
    reads = _random_reads(requests)
    sorting = _sorting_drive()
    return {
        "nobody": _trial("none", reads),
        "the elevator": _trial("sstf", reads),
        "the drive": _trial("none", reads, sorting),
        "both": _trial("sstf", reads, sorting),
    }


def edges(megabytes: int = 32) -> dict[str, Trial]:
    """Return two trials: the same sequential read at the rim, and at the hub."""
    device = drive(FAST_BUS)
    innermost_mib = device.capacity_mib - 2 * megabytes
    reads: dict[str, Any] = {"rw": "read", "bs": "256k", "iodepth": 2, "size": f"{megabytes}m"}
    return {
        name: _trial("none", (experiments.fio("reader", **reads, offset=f"{offset}m"),), device)
        for name, offset in (("outer tracks", 0), ("inner tracks", innermost_mib))
    }


def idleness(
    schedulers: Sequence[str] = ("mq-deadline", "anticipatory", "bfq"),
) -> dict[str, Trial]:
    """Return a trial for each scheduler: two readers far apart, who think before each request.

    Each reader reads at random in 4 MiB of its own. While a reader thinks, only the other one has a
    request.
    """
    return {name: _trial(name, _far_apart(rw="randread", size="4m")) for name in schedulers}


def in_order() -> dict[str, Trial]:
    """Return three trials under bfq: two readers far apart, each of which reads in order.

    bfq raises the weight of programs that have just begun, if their priority is the usual one.
    """
    reads = {"rw": "read", "bs": "256k", "size": "64m"}
    usual, other = _far_apart(**reads), _far_apart(**reads, prioclass=2, prio=3)
    device = drive(FAST_BUS)
    return {
        "bfq as shipped": _trial("bfq", usual, device),
        "low_latency 0": _trial("bfq", usual, device, low_latency=0),
        "priority 3": _trial("bfq", other, device),
    }


def _far_apart(**options: Any) -> tuple[dict[str, Any], ...]:
    """Return two readers far apart, who think before each request."""
    usual = {"ioengine": "psync", "thinktime": "500us", "number_ios": 150, **options}
    return tuple(
        experiments.fio(name, **usual, offset=offset)
        for name, offset in (("outer", "0"), ("inner", "1500m"))
    )


def _random_reads(requests: int) -> tuple[dict[str, Any], ...]:
    return (experiments.fio("reader", rw="randread", iodepth=DEPTH, number_ios=requests),)


def _sorting_drive() -> Drive:
    """Return the drive with its own queue, which serves the request that the arm meets first."""
    return with_queue(drive(DRIVE), Queue(depth=DEPTH, order="shortest_positioning_time"))


def _trial(
    scheduler: str, workloads: Sequence[Any], device: Drive | None = None, **tunables: int
) -> Trial:
    return experiments.trial(
        "arm",
        device=device or drive(DRIVE),
        scheduler={"name": scheduler, "tunables": {**room_for(scheduler, ROOM), **tunables}},
        workloads=workloads,
        trace=True,
    )


def work_table(ran: Mapping[str, FinishedTrial]) -> pd.DataFrame:
    """Return what the arm did, one row per trial.

    Returns: Requests per second; mean distance of a seek, in cylinders; mean time of a request for
    seek, wait for the platter, and transfer, in ms.
    """
    rows = {}
    for name, one in ran.items():
        arm = trace.arm(one.folder)
        lasted_s = arm["time_s"].iloc[-1] - arm["time_s"].iloc[0]
        rows[name] = {
            "requests/s": (len(arm) - 1) / lasted_s,
            "cylinders": (arm["cylinder"] - arm["from_cylinder"]).abs().mean(),
            **{f"{NAMES[part]} (ms)": arm[part].mean() / 1000 for part in PARTS},
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def draw_arm(ran: Mapping[str, FinishedTrial], requests: int = 60) -> Figure:
    """Draw the arm's place over time: how long it seeks, waits for the platter, and transfers.

    `requests`: How many requests of each trial to draw, from its middle, when the queue is full.
    """
    columns = min(2, len(ran))
    rows = -(-len(ran) // columns)
    with style():
        figure = Figure(figsize=(8, 0.8 + 2 * rows), layout="constrained")
        panels = list(figure.subplots(rows, columns, sharey=True, squeeze=False).flat)
        for panel, (name, one) in zip(panels, ran.items(), strict=False):
            _draw_way(panel, _middle(one, requests))
            panel.set_title(name)
        for panel in panels[len(ran) :]:
            panel.set_visible(False)
        figure.supxlabel("time (ms)", size="medium")
        figure.supylabel("cylinder", size="medium")
        figure.legend(
            *panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(PARTS)
        )
    return figure


def _middle(ran: FinishedTrial, requests: int) -> pd.DataFrame:
    """Return `requests` requests from the middle of a trial, when the queue is full."""
    arm = trace.arm(ran.folder)
    begin = max(0, (len(arm) - requests) // 2)
    return arm.iloc[begin : begin + requests]


def _draw_way(panel: Axes, arm: pd.DataFrame) -> list[list[Line2D]]:
    """Draw each request as three lines: the seek, the wait for the platter, and the transfer.

    Return the lines by part of the time, and in each part by request.
    """
    begin_ms = (arm["time_s"] - arm["time_s"].iloc[0]) * 1000
    at_ms = begin_ms + (arm["overhead_us"] + arm["waited_us"]) / 1000
    place, lines = arm["from_cylinder"], []
    for part, colour in PARTS.items():
        end_ms = at_ms + arm[part] / 1000
        lines.append(panel.plot([at_ms, end_ms], [place, arm["cylinder"]], color=colour, lw=2))
        panel.plot([], [], color=colour, linewidth=2, label=NAMES[part])
        at_ms, place = end_ms, arm["cylinder"]
    return lines


def animate(ran: FinishedTrial, title: str, requests: int = 40) -> bytes:
    """Return a GIF of the arm's way, a frame for each request, in the colours of `draw_arm`.

    `requests`: How many requests to show, from the middle of the trial.
    """
    arm = _middle(ran, requests)
    parts = [part.mean() / 1000 for part in (arm[name] for name in PARTS)]
    told = ", ".join(f"{NAMES[name]} {ms:.1f} ms" for name, ms in zip(PARTS, parts, strict=True))
    with style():
        figure, panel = screen()
        drawn = list(zip(*_draw_way(panel, arm), strict=True))
        (head,) = panel.plot([], [], "<", color="black", ms=8)
        panel.set(xlabel="time (ms)", ylabel="cylinder", title=f"{title}; mean: {told}")
        panel.set(xlim=panel.get_xlim(), ylim=panel.get_ylim())
        panel.legend(loc="upper right", ncols=len(PARTS))

        def show(number: int) -> None:
            for at, lines in enumerate(drawn):
                for line in lines:
                    line.set_visible(at <= number)
            end = drawn[number][-1]
            head.set_data([end.get_xdata()[-1]], [end.get_ydata()[-1]])

        return written(figure, show, range(len(arm)))


def film(name: str, ran: FinishedTrial) -> None:
    """Show the arm's way, request by request."""
    display(Image(animate(ran, name), format="gif"))
