"""What the trials of a comparison answer: numbers with their units, one for each repetition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...analysis.intervals import Interval, mean_interval
from ...plugins.schedulers import label_of
from ...results import trace
from ...results.reading import Stored
from ...showing.travel import travel_mib
from .trials import ARM_WINDOW_S, COST_DEPTHS, GROUP_DEPTHS, SPEED_DEPTHS, WINDOW_S


class Quantity(NamedTuple):
    """One line of the comparison.

    Attributes
    ----------
    text : str
        What it is, for people.
    unit : str
    better : str
        ``lower`` or ``higher``.
    """

    text: str
    unit: str
    better: str


QUANTITIES: dict[str, Quantity] = {
    **{
        f"cost_{depth}": Quantity(
            f"instructions a request, on a disk that takes no time, depth {depth}",
            "instructions",
            "lower",
        )
        for depth in COST_DEPTHS
    },
    **{
        f"iops_{depth}": Quantity(f"random reads a second, depth {depth}", "1/s", "higher")
        for depth in SPEED_DEPTHS
    },
    "bulk_median": Quantity("median latency of a read beside bulk reads", "us", "lower"),
    "bulk_p99": Quantity("99th percentile of latency beside bulk reads", "us", "lower"),
    "bulk_longest": Quantity(
        f"longest latency of a read beside bulk reads, in {WINDOW_S} s", "us", "lower"
    ),
    "bulk_share": Quantity("rate of the bulk reads meanwhile", "MiB/s", "higher"),
    "writer_median": Quantity("median latency of a read beside a writer", "us", "lower"),
    "writer_p99": Quantity("99th percentile of latency beside a writer", "us", "lower"),
    "writer_longest": Quantity(
        f"longest latency of a read beside a writer, in {WINDOW_S} s", "us", "lower"
    ),
    "jain": Quantity(
        "Jain's index of the requests of groups with "
        + ", ".join(map(str, GROUP_DEPTHS.values()))
        + " under way (1: equal)",
        "ratio",
        "higher",
    ),
    "drive_iops": Quantity("reads a second on a disk with an arm, by a crowd", "1/s", "higher"),
    "longest_wait": Quantity(
        f"longest latency there, in {ARM_WINDOW_S} s, of a reader alone, far from the crowd",
        "ms",
        "lower",
    ),
    "travel": Quantity("way of the arm there from request to request", "GiB", "lower"),
}


def jain(shares: Iterable[float]) -> float:
    """Return Jain's index of fairness (Jain, Chiu, Hawe, 1984): 1 is equal, 1/n is all for one.

    Examples
    --------
    >>> jain([1, 1, 1]), jain([1, 0])
    (1.0, 0.5)
    """
    given = np.asarray(list(shares), dtype=float)
    return float(given.sum() ** 2 / (len(given) * (given**2).sum()))


def of_trial(stored: Stored) -> Iterator[tuple[str, float]]:
    """Yield the quantities that a trial answers, each with its number."""
    measured = stored.result.as_given()["workloads"]
    question = stored.trial["labels"]["question"]
    if question == "cost":
        for depth, point in zip(COST_DEPTHS, measured["reader"]["points"], strict=True):
            counted = point["counters"]
            yield f"cost_{depth}", counted["busy_ns"] / counted["requests"]
    elif question == "speed":
        for depth, point in zip(SPEED_DEPTHS, measured["reader"]["points"], strict=True):
            yield f"iops_{depth}", point["read"]["iops"]
    elif question in ("bulk", "writer"):
        latency_ns = _latency_ns(measured["reader"])
        yield f"{question}_median", latency_ns["50"] / 1e3
        yield f"{question}_p99", latency_ns["99"] / 1e3
        yield f"{question}_longest", latency_ns["100"] / 1e3
        if question == "bulk":
            yield "bulk_share", measured["bulk"]["read"]["kib_s"] / 1024
    elif question == "fairness":
        yield "jain", jain(measured[group]["read"]["requests"] for group in GROUP_DEPTHS)
    else:
        yield "drive_iops", measured["crowd"]["read"]["iops"]
        yield "longest_wait", _latency_ns(measured["alone"])["100"] / 1e6
        requests = trace.requests(trace.read(stored.folder))
        yield "travel", travel_mib(requests) / 1024 / max(1, len(requests) - 1)


def _latency_ns(measured: Mapping[str, Any]) -> dict[str, float]:
    """Return the percentiles of the latency, by number: fio spells 99 as 99.000000."""
    found = measured["read"]["latency_percentile_ns"]
    return {f"{float(name):g}": value for name, value in found.items()}


def table(results: Iterable[Stored]) -> pd.DataFrame:
    """Return one row for each quantity, scheduler and repetition.

    Returns
    -------
    pandas.DataFrame
        quantity, scheduler, repetition, value.
    """
    rows = [
        (quantity, one.trial["scheduler"]["name"], one.trial["repetition"], value)
        for one in results
        for quantity, value in of_trial(one)
    ]
    return pd.DataFrame(rows, columns=["quantity", "scheduler", "repetition", "value"])


def interval(measured: pd.DataFrame, quantity: str, scheduler: str) -> Interval:
    """Return the mean over the repetitions, with its 95 % confidence interval."""
    chosen = measured["quantity"].eq(quantity) & measured["scheduler"].eq(scheduler)
    return mean_interval(measured[chosen]["value"])


def as_json(measured: pd.DataFrame, schedulers: Iterable[str]) -> list[dict[str, Any]]:
    """Return all answers as JSON has them."""
    schedulers = list(schedulers)
    return [
        {
            "quantity": name,
            "text": quantity.text,
            "unit": quantity.unit,
            "better": quantity.better,
            "scheduler": scheduler,
            "label": label_of(scheduler),
            "mean": found.value,
            "low": found.low if found.bounded else None,
            "high": found.high if found.bounded else None,
            "repetitions": found.repetitions,
        }
        for name, quantity in QUANTITIES.items()
        for scheduler in schedulers
        for found in [interval(measured, name, scheduler)]
    ]
