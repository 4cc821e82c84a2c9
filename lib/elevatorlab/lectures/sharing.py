"""Lecture 4: one disk, several groups: weights, limits, cost, the regulator, and fairness."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..analysis.indices import jain
from ..showing.style import BLUE, GREY, VERMILION, style
from ..trial import PacedDisk, PacedWrites, Trial
from . import experiments
from .experiments import FinishedTrial

NAMES = ("left", "right")

#: The colours of the two groups (Okabe and Ito).
COLOUR = {"left": BLUE, "right": VERMILION}
SLA_WAIT_MS = 8.0

#: Room for all requests, and no favours for processes that seem interactive: only weights decide.
TUNABLES = {"bfq": {"nr_requests": 64, "low_latency": 0}}

#: What `experiments.disk` can do, in the terms of the kernel's cost controller (``io.cost.model``).
COST_MODEL = {
    **{f"{letter}bps": 400_000_000 for letter in "rw"},
    **{f"{letter}{kind}iops": 1000 for letter in "rw" for kind in ("seq", "rand")},
}


def shared(
    scheduler: str = "none",
    left: Mapping[str, Any] | None = None,
    right: Mapping[str, Any] | None = None,
    depths: tuple[int, int] = (8, 8),
    io_cost: Mapping[str, Any] | None = None,
) -> Trial:
    """Return a trial in which two groups read at random from one disk for a second.

    `left`, `right`: Limits of each group (`elevatorlab.trial.Limits`). `io_cost`: Settings of the
    cost controller (`elevatorlab.trial.IoCost`).
    """
    return experiments.trial(
        "sharing",
        scheduler={"name": scheduler, "tunables": TUNABLES.get(scheduler, {})},
        groups=tuple(
            {"name": name, "limits": limits or {}}
            for name, limits in zip(NAMES, (left, right), strict=True)
        ),
        workloads=tuple(
            experiments.fio(
                name, group=name, rw="randread", iodepth=depth, runtime="1s", time_based=1
            )
            for name, depth in zip(NAMES, depths, strict=True)
        ),
        io_cost=io_cost,
    )


def cost(left_weight: int = 300, right_weight: int = 100) -> Trial:
    """Return a trial in which the cost controller divides the disk by weight."""
    return shared(
        left={"weight": left_weight},
        right={"weight": right_weight},
        io_cost={"model": COST_MODEL, "qos": {"min": 100, "max": 100}},
    )


def share_table(ran: Mapping[str, FinishedTrial]) -> pd.DataFrame:
    """Return each group's rate and wait, and Jain's index without and with the weights."""
    rows = {}
    for name, one in ran.items():
        reads = {group: one.result["workloads"][group]["read"] for group in NAMES}
        iops = [reads[group]["iops"] for group in NAMES]
        weights = [group.limits.weight or 100 for group in one.trial.groups]
        weighted = [rate / weight for rate, weight in zip(iops, weights, strict=True)]
        rows[name] = {
            **{f"{group} (IOPS)": round(rate) for group, rate in zip(NAMES, iops, strict=True)},
            "together": round(sum(iops)),
            **{
                f"{group} wait (ms)": round(reads[group]["latency_mean_ns"] / 1e6, 1)
                for group in NAMES
            },
            "Jain": round(jain(iops), 3),
            "Jain by weight": round(jain(weighted), 3),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def regulation(policy: bool = True) -> Trial:
    """Return a trial of two groups: one makes small writes and thinks, one overloads the disk.

    The disk is much like study 3's: each write takes 1.33 ms, and its bytes pass at 9700 KiB/s. The
    second group begins to overload the disk after two seconds.

    `policy`: Whether the regulator runs. Its goal is that the first group waits at most
    `SLA_WAIT_MS`.
    """
    small = {"duration_s": 8, "writers": 1, "think_us": 2230}
    large = {"duration_s": 6, "writers": 3, "think_us": 0}
    quiet = {"duration_s": 2, "writers": 0}
    loads = {"left": (5120, (small,)), "right": (32768, (quiet, large))}
    return experiments.trial(
        "sharing",
        device=PacedDisk(
            profile="study_3", size_mib=64, service_us=1330, bandwidth_kib_s=9700, accept_us=500
        ),
        scheduler={"name": "none"},
        divided=True,
        groups=tuple({"name": name} for name in NAMES),
        workloads=tuple(
            {
                "kind": "paced_writes",
                "name": name,
                "group": name,
                "request_bytes": request_bytes,
                "phases": phases,
                "report_ms": 500,
            }
            for name, (request_bytes, phases) in loads.items()
        ),
        regulator={"policy": "slae", "sla_wait_ms": SLA_WAIT_MS, "period_s": 0.5}
        if policy
        else None,
    )


def draw_regulation(ran: Mapping[str, FinishedTrial]) -> Figure:
    """Draw waits and rates over time, without and with the regulator."""
    with style():
        figure = Figure(figsize=(8, 4.4))
        panels = figure.subplots(2, len(ran), sharex=True, sharey="row")
        for (above, below), (name, one) in zip(panels.T, ran.items(), strict=True):
            for load in one.trial.workloads:
                assert isinstance(load, PacedWrites)
                series = pd.DataFrame(one.result["workloads"][load.name]["series"])
                rates_kib_s = (
                    series["requests"] * load.request_bytes / 1024 / (load.report_ms / 1000)
                )
                style_of: dict[str, Any] = {"color": COLOUR[load.name], "marker": "o", "ms": 3}
                above.plot(series["time_s"], series["latency_mean_us"] / 1000, **style_of)
                below.plot(series["time_s"], rates_kib_s, label=load.name, **style_of)
            above.axhline(SLA_WAIT_MS, color=GREY, ls=":")
            above.annotate(
                f"SLA {SLA_WAIT_MS:g} ms", (0.1, SLA_WAIT_MS), color=GREY, va="bottom", fontsize=8
            )
            above.set_xlim(0, None)
            above.set_title(name)
            below.set_xlabel("time (s)")
        panels[0, 0].set_ylabel("wait (ms)")
        panels[1, 0].set_ylabel("written (KiB/s)")
        panels[1, 0].legend()
    return figure


def draw_jain(right_share: float = 0.3, others: int = 0) -> Figure:
    """Draw how a disk is divided, and Jain's index, with a number of idle groups (`others`)."""
    shares = [1 - right_share, right_share, *[0.0] * others]
    along = np.linspace(0, 1, 101)
    with style():
        figure = Figure(figsize=(8, 2.8))
        bars, curve = figure.subplots(1, 2)
        labels = ["left", "right", *(f"idle {number + 1}" for number in range(others))]
        bars.bar(labels, shares, color=[COLOUR.get(label, GREY) for label in labels])
        bars.set(ylim=(0, 1), ylabel="share")
        curve.plot(along, [jain([1 - x, x, *[0.0] * others]) for x in along], color=GREY)
        curve.plot([right_share], [jain(shares)], "o", color=COLOUR["right"])
        curve.set(xlabel="right's share", ylabel="Jain's index", ylim=(0, 1.05))
        curve.set_title(f"J = {jain(shares):.3f}")
    return figure
