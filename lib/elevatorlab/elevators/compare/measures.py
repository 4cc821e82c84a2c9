"""The quantities that the trials of a comparison measure: one number for each repetition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from ...analysis.indices import jain
from ...analysis.intervals import Interval, mean_interval
from ...plugins.schedulers import label_of
from ...results import trace
from ...results.reading import Stored
from ...showing.travel import travel_mib
from ..check.in_guest.cases.orders import WAITS_AT_MOST_S
from .trials import (
    COST_DEPTHS,
    GROUP_DEPTHS,
    LONG_WINDOW_S,
    PERCENTILES,
    PROGRAMS,
    SPEED_DEPTHS,
    STARVATION_WINDOW_S,
)

#: Required probability that a measured request lies above the true percentile (see `fewest`).
SURE = 0.95


class Quantity(NamedTuple):
    """One line of the comparison."""

    #: What the quantity is, for people.
    text: str
    unit: str
    #: ``lower`` or ``higher``.
    better: str


def percentile_name(percent: float) -> str:
    """Return the name of a percentile, as it occurs in names of quantities.

    >>> [percentile_name(percent) for percent in (50, 99.9, 100)]
    ['median', 'p99_9', 'longest']
    """
    special: dict[float, str] = {50: "median", 100: "longest"}
    return special.get(percent, f"p{percent:g}".replace(".", "_"))


def _latencies(question: str, beside: str) -> dict[str, Quantity]:
    """Return the quantities of a reader's latency beside another workload."""
    texts = {
        percent: f"{percent:g}th percentile of latency beside {beside}" for percent in PERCENTILES
    }
    texts[50] = f"median latency of a read beside {beside}"
    texts[100] = f"longest latency of a read beside {beside}, in {LONG_WINDOW_S} s"
    return {
        **{
            f"{question}_{percentile_name(percent)}": Quantity(text, "us", "lower")
            for percent, text in texts.items()
        },
        f"{question}_reads": Quantity(
            f"reads beside {beside} in {LONG_WINDOW_S} s: what the latencies rest on",
            "reads",
            "higher",
        ),
    }


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
        f"iops_{depth}": Quantity(f"random reads per second, depth {depth}", "1/s", "higher")
        for depth in SPEED_DEPTHS
    },
    **_latencies("bulk", "bulk reads"),
    "bulk_share": Quantity("rate of the bulk reads meanwhile", "MiB/s", "higher"),
    **_latencies("writer", "a writer"),
    "jain": Quantity(
        "Jain's index of the requests of groups with "
        + ", ".join(map(str, GROUP_DEPTHS.values()))
        + " under way (1: equal)",
        "ratio",
        "higher",
    ),
    "starvation": Quantity(
        f"longest wait among {PROGRAMS} programs in {STARVATION_WINDOW_S:g} s, as a multiple of "
        f"the bound of {WAITS_AT_MOST_S:g} s (above 1: a request starved)",
        "ratio",
        "lower",
    ),
    "drive_iops": Quantity("reads per second on a hard disk, by a crowd", "1/s", "higher"),
    "longest_wait": Quantity(
        f"longest latency there, in {LONG_WINDOW_S} s, of a reader alone, far from the crowd",
        "ms",
        "lower",
    ),
    "travel": Quantity("way of the arm there from request to request", "GiB", "lower"),
}


def of_trial(stored: Stored) -> Iterator[tuple[str, float]]:
    """Yield the names of the quantities that a trial measures, each with its value."""
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
        yield from _latencies_of(question, measured["reader"]["read"])
        if question == "bulk":
            yield "bulk_share", measured["bulk"]["read"]["kib_s"] / 1024
    elif question == "fairness":
        yield "jain", jain(measured[group]["read"]["requests"] for group in GROUP_DEPTHS)
    elif question == "starvation":
        longest_ns = max(_latency_ns(one)["100"] for one in measured["programs"].values())
        yield "starvation", longest_ns / 1e9 / WAITS_AT_MOST_S
    else:
        yield "drive_iops", measured["crowd"]["read"]["iops"]
        yield "longest_wait", _latency_ns(measured["alone"]["read"])["100"] / 1e6
        requests = trace.requests(trace.read(stored.folder))
        yield "travel", travel_mib(requests) / 1024 / max(1, len(requests) - 1)


def fewest(percent: float) -> int:
    """Return how many requests a percentile needs.

    All of `n` requests are below the true percentile with the probability
    ``(percent / 100) ** n``, which may be at most ``1 - SURE``. With fewer requests, the measured
    percentile may just be the longest latency.

    >>> [fewest(percent) for percent in (50, 95, 99, 99.9, 100)]
    [5, 59, 299, 2995, 1]
    """
    if percent == 100:
        return 1
    return math.ceil(math.log(1 - SURE) / math.log(percent / 100))


def _latencies_of(question: str, reads: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield a reader's percentiles of latency; NaN for a percentile with too few reads."""
    latency_ns = _latency_ns(reads)
    for percent in PERCENTILES:
        borne = reads["requests"] >= fewest(percent)
        value = latency_ns[f"{percent:g}"] / 1e3 if borne else math.nan
        yield f"{question}_{percentile_name(percent)}", value
    yield f"{question}_reads", reads["requests"]


def _latency_ns(direction: Mapping[str, Any]) -> dict[str, float]:
    """Return the percentiles of the latency in ns, by names such as "99" (fio: 99.000000)."""
    found = direction["latency_percentile_ns"]
    return {f"{float(name):g}": value for name, value in found.items()}


def table(results: Iterable[Stored]) -> pd.DataFrame:
    """Return one row for each quantity, scheduler and repetition.

    Returns: quantity, scheduler, repetition, value (NaN: too few requests for this percentile).
    """
    rows = [
        (quantity, one.trial["scheduler"]["name"], one.trial["repetition"], value)
        for one in results
        for quantity, value in of_trial(one)
    ]
    return pd.DataFrame(rows, columns=["quantity", "scheduler", "repetition", "value"])


def interval(measured: pd.DataFrame, quantity: str, scheduler: str) -> Interval | None:
    """Return the mean over the repetitions, with its 95 % confidence interval.

    None if the quantity is a percentile for which a repetition has too few requests.
    """
    chosen = measured["quantity"].eq(quantity) & measured["scheduler"].eq(scheduler)
    values = measured[chosen]["value"]
    return None if values.isna().any() else mean_interval(values)


def as_json(measured: pd.DataFrame, schedulers: Iterable[str]) -> list[dict[str, Any]]:
    """Return all quantities as JSON values; null for a percentile with too few requests."""
    schedulers = list(schedulers)
    return [
        {
            "quantity": name,
            "text": quantity.text,
            "unit": quantity.unit,
            "better": quantity.better,
            "scheduler": scheduler,
            "label": label_of(scheduler),
            "mean": found.value if found else None,
            "low": found.low if found and found.bounded else None,
            "high": found.high if found and found.bounded else None,
            "repetitions": found.repetitions if found else 0,
        }
        for name, quantity in QUANTITIES.items()
        for scheduler in schedulers
        for found in [interval(measured, name, scheduler)]
    ]
