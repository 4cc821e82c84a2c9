"""Rates and waits before and after the regulator's start, for sections 4.2 and 4.3 of the paper."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ....analysis.intervals import Interval
from ...kit.cells import mean_of

KIB_S_PER_MB_S = 1e6 / 1024
"""The paper writes "MB/s" and "Mb/S"; both are taken as 10^6 bytes per second."""

SETTLING_S = 2
"""The regulator must have settled this long (two control periods) after its start. The time after
that is "after"."""

LEAST_SHARE = 0.9
"""The target for the disk: the smallest share of time in which its server must be busy."""

PHASES = ("before", "after")


def seconds(measured: pd.DataFrame, experiment: str, **where: str) -> pd.DataFrame:
    """Return the rows of single seconds of an experiment, with further column values `where`."""
    return _of(measured[measured["time_s"].notna()], experiment, where)


def totals(measured: pd.DataFrame, experiment: str, **where: str) -> pd.DataFrame:
    """Return the rows of whole trials of an experiment, one per container and trial."""
    return _of(measured[measured["time_s"].isna()], experiment, where)


def _of(rows: pd.DataFrame, experiment: str, where: dict[str, str]) -> pd.DataFrame:
    for column, value in {"experiment": experiment, **where}.items():
        rows = rows[rows[column] == value]
    return rows


def phase(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows of seconds before the regulator began, or after it had time to settle."""
    if name == "before":
        return rows[rows["time_s"] <= rows["onset_s"]]
    return rows[rows["time_s"] > rows["onset_s"] + SETTLING_S]


def rate_mb_s(rows: pd.DataFrame) -> Interval | None:
    """Return the mean write rate of a container in MB/s, over all containers of `rows`."""
    return _over_repetitions(rows, "write_kib_s", lambda values: values.mean() / KIB_S_PER_MB_S)


def wait_ms(rows: pd.DataFrame) -> Interval | None:
    """Return the mean wait of a write in ms, from rows of single seconds of any containers.

    Each write counts once: a second is weighted with the number of writes that ended in it.
    """
    weighted = rows.assign(latency_mean_ms=rows["latency_mean_ms"] * rows["requests"])
    sums = weighted.groupby("repetition")[["latency_mean_ms", "requests"]].sum(min_count=1)
    return mean_of(sums["latency_mean_ms"] / sums["requests"])


def longest_wait_ms(rows: pd.DataFrame) -> Interval | None:
    """Return the longest mean wait of one container in one second, in ms, over repetitions."""
    return _over_repetitions(rows, "latency_mean_ms", lambda values: values.max())


def of_trials(rows: pd.DataFrame, column: str) -> Interval | None:
    """Return the mean over repetitions of a column that is the same in all rows of a trial."""
    return _over_repetitions(rows, column, lambda values: values.iloc[0])


def share_of_rate(rows: pd.DataFrame) -> Interval | None:
    """Return the share of time in which the disk's server was busy, at most 1."""
    return _over_repetitions(rows, "disk_busy_ratio", lambda values: min(1.0, values.iloc[0]))


def _over_repetitions(
    rows: pd.DataFrame, column: str, reduce: Callable[[pd.Series[float]], float]
) -> Interval | None:
    if rows.empty:
        return None
    return mean_of(rows.groupby("repetition")[column].agg(reduce))
