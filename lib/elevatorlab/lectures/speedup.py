"""Lecture 7: what an elevator is worth, on a disk with an arm, an SSD, and NVMe over TCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ..plugins.schedulers import room_for
from ..showing.style import COLOURS, GREY, style
from ..showing.travel import travel_mib
from ..trial import DeviceModel, NvmeTcp, Trial, profile
from ..trial.drives import drive
from . import experiments
from .experiments import FinishedTrial

SCHEDULERS = ("none", "sstf", "mq-deadline")
DEPTH = 32

#: The name of the disk with an arm. Only this disk is traced, since a trace costs processor time.
ARM = "disk with an arm"

#: The part of a result with the percentiles of read latency, in ns.
PERCENTILES = "latency_percentile_ns"

#: Why `table` has empty cells.
NO_TRAVEL = "a disk without an arm was not traced, because tracing costs processor time."


def devices() -> dict[str, DeviceModel]:
    """Return the three disks by the names that the lecture uses."""
    return {
        ARM: drive("barracuda"),
        "SSD": profile("sata_ssd", 64),
        "NVMe over TCP": NvmeTcp(backing=profile("nvme_ssd", 64), driver="stock"),
    }


def trials(schedulers: Sequence[str] = SCHEDULERS) -> dict[tuple[str, str], Trial]:
    """Return a trial for each disk and scheduler: random reads of 4 KiB, 32 in flight."""
    return {
        (place, name): experiments.trial(
            "worth",
            memory_mib=1024,
            device=device,
            scheduler={"name": name, "tunables": room_for(name, 64)},
            workloads=(_reads(300 if place == ARM else 3000),),
            trace=place == ARM,
        )
        for place, device in devices().items()
        for name in schedulers
    }


def _reads(count: int) -> dict[str, Any]:
    return experiments.fio("reader", rw="randread", iodepth=DEPTH, number_ios=count)


def table(ran: Mapping[tuple[str, str], FinishedTrial]) -> pd.DataFrame:
    """Return reads per second, latencies and the arm's travel, by disk and scheduler."""
    rows = []
    for (place, name), one in ran.items():
        read = one.result["workloads"]["reader"]["read"]
        rows.append(
            {
                "disk": place,
                "scheduler": name,
                "reads per second": round(read["iops"]),
                "mean time (ms)": round(read["latency_mean_ns"] / 1e6, 2),
                "99th percentile (ms)": round(read[PERCENTILES]["99.000000"] / 1e6, 2),
                "travel a read (MiB)": _travel_a_read_mib(one),
            }
        )
    return pd.DataFrame(rows).set_index(["disk", "scheduler"])


def _travel_a_read_mib(one: FinishedTrial) -> float:
    if not one.trial.trace:
        return float("nan")
    return round(travel_mib(one.requests) / len(one.requests), 1)


def speedup(ran: Mapping[tuple[str, str], FinishedTrial]) -> pd.DataFrame:
    """Return reads per second as a multiple of those with the scheduler none."""
    rates = table(ran)["reads per second"].unstack("scheduler")
    order = list(dict.fromkeys(name for _, name in ran))
    places = list(dict.fromkeys(place for place, _ in ran))
    return rates.div(rates["none"], axis=0).loc[places, order].round(2)


def draw_times(ran: Mapping[tuple[str, str], FinishedTrial]) -> Figure:
    """Draw the cumulative distribution of read latency on the disk with an arm."""
    with style():
        figure = Figure(figsize=(8, 3))
        panel = figure.subplots()
        panel.axhline(99, color=GREY, lw=0.8, ls=":")
        panel.text(5, 98, "99 of 100", va="top", color=GREY)
        for name in dict.fromkeys(name for _, name in ran):
            percentiles = ran[ARM, name].result["workloads"]["reader"]["read"][PERCENTILES]
            points = sorted((float(share), ns / 1e6) for share, ns in percentiles.items())
            shares, times_ms = zip(*points, strict=True)
            panel.plot(times_ms, shares, color=COLOURS[name], marker=".", label=name)
        panel.set(xlim=(0, None), ylim=(0, 101), xlabel="time (ms)")
        panel.set_ylabel("reads completed within this time (%)")
        panel.legend(loc="lower right")
    return figure


def draw(ran: Mapping[tuple[str, str], FinishedTrial]) -> Figure:
    """Draw the ratios of `speedup`: one panel per disk, one bar per scheduler."""
    ratios = speedup(ran)
    with style():
        figure = Figure(figsize=(8, 2.8))
        panels = figure.subplots(1, len(ratios), sharey=True)
        for panel, (place, row) in zip(panels, ratios.iterrows(), strict=True):
            panel.bar(list(row.index), list(row), color=[COLOURS[name] for name in row.index])
            panel.axhline(1, color="black", lw=0.6)
            panel.set_title(str(place))
        panels[0].set_ylabel("reads per second (none = 1)")
    return figure
