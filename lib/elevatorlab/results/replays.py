"""The tidy table of replays: what became of a list's requests, whose times are known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from .reading import Stored
from .tidy_columns import Table, may_lack, number, shared, text, whole
from .tidying import of_trial

TABLE = Table(
    "replay of requests and direction",
    *shared("trial study testbed machine accelerator preset device backing_scheduler scheduler"),
    *shared("seed repetition image_digest"),
    text("workload", "name of the replay among the trial's workloads"),
    text("direction", "read or write"),
    whole("requests", "", "how many requests of this direction were sent and answered"),
    whole("moved_bytes", "B", "what they moved; each moved all that it asked for"),
    number(
        "duration_s",
        "s",
        "from when the replay's first request was due to its last answer",
    ),
    number("latency_mean_us", "us", "mean time from when a request was sent to its answer"),
    number("latency_p50_us", "us", "median of that time"),
    number("latency_p99_us", "us", "99th percentile of that time"),
    number("latency_max_us", "us", "longest of these times"),
    *(
        may_lack(number(name, "us", f"{meaning}; empty where all requests are due at once"))
        for name, meaning in (
            ("late_mean_us", "mean time from when a request was due to when it was sent"),
            ("late_p99_us", "99th percentile of that time"),
            ("late_max_us", "longest of these times"),
        )
    ),
)


def table(results: Iterable[Stored]) -> pd.DataFrame:
    """Return the table of all replays among some results: a row for each direction."""
    found = [row for stored in results for row in _rows(stored)]
    return TABLE.checked(pd.DataFrame(found, columns=TABLE.names), "table of replays")


def _rows(stored: Stored) -> Iterator[dict[str, Any]]:
    common = of_trial(stored)
    common = {name: value for name, value in common.items() if name in TABLE.names}
    measured = stored.result.as_given()["workloads"]
    for workload in stored.trial["workloads"]:
        if workload["kind"] != "replay":
            continue
        asked = pd.DataFrame(workload["requests"])
        sent = pd.concat([asked, pd.DataFrame(measured[workload["name"]]["requests"])], axis=1)
        ended_us = sent["at_us"] + sent["late_us"] + sent["latency_us"]
        timed = sent["at_us"].max() > 0
        for write, some in sent.groupby("write"):
            late_us = some["late_us"] if timed else some["late_us"] * math.nan
            yield {
                **common,
                "workload": workload["name"],
                "direction": "write" if write else "read",
                "requests": len(some),
                "moved_bytes": int(some["size_bytes"].sum()),
                "duration_s": ended_us.max() / 1e6,
                "latency_mean_us": some["latency_us"].mean(),
                "latency_p50_us": some["latency_us"].quantile(0.5),
                "latency_p99_us": some["latency_us"].quantile(0.99),
                "latency_max_us": some["latency_us"].max(),
                "late_mean_us": late_us.mean(),
                "late_p99_us": late_us.quantile(0.99),
                "late_max_us": late_us.max(),
            }
