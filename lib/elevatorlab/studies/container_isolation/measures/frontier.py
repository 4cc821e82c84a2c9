"""Experiment ``frontier``: a point for each trial, and the front of the best settings."""

from __future__ import annotations

import pandas as pd

from ..trials.containers import NORMAL, OVERLOADED
from .regulation import KIB_S_PER_MB_S, seconds, totals

CELL = ["load", "disk", "mechanism", "setting"]
"""Columns that identify a cell. The points of one cell are repetitions: they differ in the seed."""

SETTLED_S = 2
"""The oscillation is measured from this many seconds after the overload began."""


def points(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each trial of experiment ``frontier``.

    Returns: `CELL`, ``trial`` and ``repetition``, and ===================
    ===================================================================== ``missed_s``
    seconds in which a normal container's mean wait was above the SLA ``missed_p99_s``     seconds
    in which the 99th percentile of its waits was above the SLA ``wait_ms``          longest mean
    wait of a normal container, averaged over the seconds ``p99_ms``           longest 99th
    percentile of their waits, averaged over the seconds ``offenders_mb_s``   write rate of all
    offenders together ``recovery_s``       time until no normal container missed the SLA any more
    ``oscillation``      standard deviation of the offenders' rate over its mean, when settled
    ``more_busy``        the disk's busy share, minus that with the normal containers alone
    ``cpu_busy_ratio``   share of time in which the processors were busy ===================
    =====================================================================.
    """
    whole = totals(measured, "frontier")
    if whole.empty:
        return pd.DataFrame(columns=[*CELL, "trial", "repetition"])
    whole = whole.assign(setting=whole["setting"].fillna(""))
    keys = [*CELL, "trial", "repetition"]
    first = whole.groupby(keys)[["violation_s", "recovery_s", "disk_busy_ratio", "cpu_busy_ratio"]]
    found = first.first().rename(columns={"violation_s": "missed_s"}).reset_index()
    offenders = whole[whole["role"] == OVERLOADED].groupby("trial")["write_kib_s"].sum()
    found["offenders_mb_s"] = found["trial"].map(offenders).fillna(0) / KIB_S_PER_MB_S
    judged = seconds(measured, "frontier")
    judged = judged[judged["time_s"] > judged["onset_s"] + 1]  # not the onset's second
    found = found.merge(_waits(judged[judged["role"] == NORMAL]), on="trial")
    found["oscillation"] = found["trial"].map(_oscillation(judged))
    alone = found[found["mechanism"] == "alone"].groupby("disk")["disk_busy_ratio"].mean()
    found["more_busy"] = found["disk_busy_ratio"] - found["disk"].map(alone)
    return found


def _waits(normal: pd.DataFrame) -> pd.DataFrame:
    """Return wait_ms, p99_ms and missed_p99_s of each trial, from its rows of single seconds."""
    columns = {"latency_mean_ms": "wait_ms", "latency_p99_ms": "p99_ms"}
    longest = normal.groupby(["trial", "time_s"])[list(columns)].max().rename(columns=columns)
    sla_ms = normal.groupby(["trial", "time_s"])["sla_wait_ms"].first()
    longest["missed_p99_s"] = (~(longest["p99_ms"] <= sla_ms)).astype(float)
    by_trial = longest.groupby("trial")
    found = by_trial[["wait_ms", "p99_ms"]].mean().join(by_trial["missed_p99_s"].sum())
    return found.reset_index()


def _oscillation(judged: pd.DataFrame) -> pd.Series[float]:
    """Return the oscillation of the offenders' rate by trial, from rows of single seconds."""
    late = judged[judged["time_s"] > judged["onset_s"] + SETTLED_S]
    rates = late[late["role"] == OVERLOADED].groupby(["trial", "time_s"])["write_kib_s"].sum()
    by_trial = rates.groupby("trial")
    ratio: pd.Series[float] = by_trial.std() / by_trial.mean()
    return ratio


def cells_of(found: pd.DataFrame) -> pd.DataFrame:
    """Return the means over the repetitions of each cell of `points`, and their number."""
    numbers = found.drop(columns=["trial"]).groupby(CELL, sort=False)
    means = numbers.mean(numeric_only=True).drop(columns=["repetition"])
    return means.join(numbers.size().rename("repetitions")).reset_index()


def front(cells: pd.DataFrame, cost: str = "missed_s") -> pd.DataFrame:
    """Return the cells that no other cell beats both in cost and in the offenders' rate.

    `cost`: The column of `cells` that says what the normal containers suffer.
    """
    ranked = cells.sort_values([cost, "offenders_mb_s"], ascending=[True, False])
    best = ranked["offenders_mb_s"].cummax().shift(fill_value=-1.0)
    return ranked[ranked["offenders_mb_s"] > best]
