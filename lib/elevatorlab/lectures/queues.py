"""Lecture 3: laws of queues, compared with a queue whose service time we chose."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..analysis import queueing
from ..analysis.knee import range_knee
from ..showing.style import BLUE, GREY, VERMILION, style
from ..trial import PacedDisk, PacedWrites, Trial
from . import experiments
from .experiments import FinishedTrial

SERVICE_MS, THINK_MS = 10.0, 40.0
PHASE_S = 6

#: The colours of the two kinds of load (Okabe and Ito).
OPEN, CLOSED = BLUE, VERMILION


def server(service: str = "exponential") -> PacedDisk:
    """Return a disk with one server and a mean service time of `SERVICE_MS`."""
    return PacedDisk(
        profile="one_server", size_mib=16, service_us=SERVICE_MS * 1000, service=service, seed=1
    )


def closed(writers: Sequence[int] = (1, 2, 4, 8, 12), service: str = "exponential") -> Trial:
    """Return a trial with a phase for each number of writers.

    Each writer waits for its write, thinks for `THINK_MS` on average, and writes again.
    """
    phases = [{"writers": count, "think_us": THINK_MS * 1000} for count in writers]
    return _trial(phases, service)


def opened(
    utilizations: Sequence[float] = (0.2, 0.4, 0.6, 0.75, 0.85), service: str = "exponential"
) -> Trial:
    """Return a trial in which writes arrive at random, whether or not earlier ones are complete.

    It has a phase for each utilisation.
    """
    rates_per_s = [ratio * 1000 / SERVICE_MS for ratio in utilizations]
    phases = [{"writers": 32, "arrivals_per_s": rate_per_s} for rate_per_s in rates_per_s]
    return _trial(phases, service)


def _trial(phases: Sequence[Mapping[str, Any]], service: str) -> Trial:
    load = {
        "kind": "paced_writes",
        "name": "writers",
        "group": "main",
        "request_bytes": 4096,
        "phases": [{**phase, "duration_s": PHASE_S} for phase in phases],
        "report_ms": PHASE_S * 1000,
    }
    return experiments.trial(
        "queues",
        device=server(service),
        scheduler={"name": "none"},
        workloads=(load,),
        sample_interval_ms=200,
        deadline_s=PHASE_S * len(phases) + 60,
    )


def phase_table(one: FinishedTrial) -> pd.DataFrame:
    """Return what the writers and the kernel measured in each phase, each with its own clock.

    Returns: Index: writers, or arrivals_per_s. The writers measured iops (X) and wait_ms (W). The
    kernel's counters give queue_length (L) and utilization_ratio (U) of the disk.
    """
    (load,) = one.trial.workloads
    assert isinstance(load, PacedWrites)
    disk = one.samples[one.samples["target"] == "device"]
    rows = []
    for number, (phase, seen) in enumerate(
        # A write that ends after the last phase makes one more interval.
        zip(load.phases, one.result["workloads"]["writers"]["series"], strict=False)
    ):
        start_s = number * PHASE_S
        # An interval that two phases share belongs to neither.
        inside = disk["time_s"].between(start_s + 0.4, start_s + PHASE_S)
        by = "arrivals_per_s" if phase.arrivals_per_s else "writers"
        rows.append(
            {
                by: getattr(phase, by),
                "iops": seen["requests"] / PHASE_S,
                "wait_ms": seen["latency_mean_us"] / 1000,
                "queue_length": disk.loc[inside, "queue_length"].mean(),
                "utilization_ratio": disk.loc[inside, "utilization_ratio"].mean(),
            }
        )
    return pd.DataFrame(rows).set_index(by)


def law_table(phases: pd.DataFrame) -> pd.DataFrame:
    """Compare the measured L and U of each phase with Little's law and the utilisation law."""
    return pd.DataFrame(
        {
            "L, the kernel's": phases["queue_length"],
            "X W": queueing.queue_length(phases["iops"], phases["wait_ms"]),
            "U, the kernel's": phases["utilization_ratio"],
            "X S": queueing.utilization(phases["iops"], SERVICE_MS),
        }
    ).round(2)


def draw_closed(phases: pd.DataFrame) -> Figure:
    """Draw wait over writers: measured, the exact solution, and bounds for all distributions."""
    last = int(phases.index.max())
    exact = queueing.mean_value_analysis(SERVICE_MS, THINK_MS, last)
    bounds = queueing.asymptotic_bounds(SERVICE_MS, THINK_MS, last)
    with style():
        figure = Figure(figsize=(6.5, 3.6))
        axes = figure.subplots()
        axes.fill_between(
            bounds.index,
            bounds["wait_ms_low"],
            bounds["wait_ms_high"],
            color="#EEEEEE",
            label="asymptotic bounds",
        )
        axes.plot(exact.index, exact["wait_ms"], color=GREY, label="mean value analysis")
        axes.plot(phases.index, phases["wait_ms"], "o", color=CLOSED, label="measured")
        crossing = queueing.saturation_writers(SERVICE_MS, THINK_MS)
        axes.axvline(crossing, color=GREY, ls=":", lw=1)
        axes.annotate(
            f" N* = {crossing:g}", (crossing, axes.get_ylim()[1]), color=GREY, va="top", fontsize=8
        )
        axes.set(xlabel="writers", ylabel="wait W (ms)", xlim=(0.8, last + 0.2), ylim=(0, None))
        axes.legend()
    return figure


def draw_open_and_closed(open_phases: pd.DataFrame, closed_phases: pd.DataFrame) -> Figure:
    """Draw wait over the disk's utilisation, for the same disk under both loads."""
    shown = np.linspace(0, 0.97, 200)
    exact = queueing.mean_value_analysis(SERVICE_MS, THINK_MS, 40)
    with style():
        figure = Figure(figsize=(6.5, 3.6))
        axes = figure.subplots()
        axes.plot(
            shown, queueing.mm1_wait_ms(shown, SERVICE_MS), color=OPEN, label="M/M/1: S / (1 - U)"
        )
        axes.plot(
            exact["disk_utilization_ratio"],
            exact["wait_ms"],
            color=CLOSED,
            label="closed, exact (1 to 40 writers)",
        )
        for phases, colour, label in (
            (open_phases, OPEN, "open, measured"),
            (closed_phases, CLOSED, "closed, measured"),
        ):
            ratios = queueing.utilization(phases["iops"], SERVICE_MS)
            axes.plot(ratios, phases["wait_ms"], "o", color=colour, label=label)
        axes.set(xlabel="utilisation of the disk, X S", ylabel="wait W (ms)", ylim=(0, 150))
        axes.set_xlim(0, 1)
        axes.legend(loc="upper left")
    return figure


def draw_laws(
    service_ms: float = 0.82, think_ms: float = 2.23, highest_ratio: float = 0.92
) -> Figure:
    """Draw three laws of wait over utilisation from 0.27 on, and the knee that they share."""
    first = 0.27
    ratios = np.linspace(first, highest_ratio, 200)
    laws = {
        "M/M/1: S / (1 - U)": (queueing.mm1_wait_ms(ratios, service_ms), OPEN, "-"),
        "M/D/1: S (1 + U / 2(1 - U))": (queueing.md1_wait_ms(ratios, service_ms), OPEN, "--"),
        "one closed writer: Z U / (1 - U)": (
            queueing.interactive_wait_ms(ratios, think_ms),
            CLOSED,
            "-",
        ),
    }
    knee = range_knee(first, highest_ratio)
    with style():
        figure = Figure(figsize=(8, 3.4))
        plain, scaled = figure.subplots(1, 2)
        for label, (waits_ms, colour, line) in laws.items():
            plain.plot(ratios, waits_ms, line, color=colour, label=label)
            span = (waits_ms - waits_ms[0]) / (waits_ms[-1] - waits_ms[0])
            scaled.plot((ratios - first) / (highest_ratio - first), span, line, color=colour)
        scaled.plot([0, 1], [0, 1], color=GREY, lw=0.8)
        scaled.axvline((knee - first) / (highest_ratio - first), color=GREY, ls=":")
        plain.axvline(knee, color=GREY, ls=":")
        plain.set(xlabel="utilisation U", ylabel="wait W (ms)", xlim=(0.2, 1), ylim=(0, None))
        plain.set_title(f"S = {service_ms:g} ms, Z = {think_ms:g} ms")
        plain.legend(fontsize=8)
        scaled.set(xlabel="U, scaled to the range drawn", ylabel="W, scaled")
        scaled.set_title(f"one curve, one knee: U = {knee:.2f}")
    return figure


def draw_writers(think_ms: float = 40, service_ms: float = 10) -> Figure:
    """Draw throughput and wait of a closed system with up to 30 writers."""
    exact = queueing.mean_value_analysis(service_ms, think_ms, 30)
    bounds = queueing.asymptotic_bounds(service_ms, think_ms, 30)
    crossing = queueing.saturation_writers(service_ms, think_ms)
    with style():
        figure = Figure(figsize=(8, 3.2))
        for axes, column, ends, label in zip(
            figure.subplots(1, 2),
            ("total_iops", "wait_ms"),
            (("total_iops_low", "total_iops_high"), ("wait_ms_low", "wait_ms_high")),
            ("throughput X (requests/s)", "wait W (ms)"),
            strict=True,
        ):
            axes.fill_between(bounds.index, *(bounds[end] for end in ends), color="#EEEEEE")
            axes.plot(exact.index, exact[column], color=CLOSED)
            axes.axvline(crossing, color=GREY, ls=":")
            axes.set(xlabel="writers", ylabel=label, xlim=(1, 30), ylim=(0, None))
        figure.suptitle(f"Z = {think_ms:g} ms, S = {service_ms:g} ms: N* = {crossing:.3g}")
    return figure
