"""What sections 4.2 and 4.3 of the paper are compared with: before and after, per repetition."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ....analysis.intervals import Interval
from ...kit.cells import mean_of

KIB_S_PER_MB_S = 1e6 / 1024
"""The paper writes "MB/s" and "Mb/S"; both are taken as 10^6 bytes a second."""

SETTLING_S = 2
"""Two control periods after its start the regulator shall be done; what follows is "after"."""

LEAST_SHARE = 0.9
"""At least as much of the disk's rate is to stay in use."""

PHASES = ("before", "after")


def seconds(measured: pd.DataFrame, experiment: str, **where: str) -> pd.DataFrame:
    """Return the rows of single seconds of an experiment of the study."""
    return _of(measured[measured["time_s"].notna()], experiment, where)


def totals(measured: pd.DataFrame, experiment: str, **where: str) -> pd.DataFrame:
    """Return the rows of whole trials of an experiment of the study, one a container."""
    return _of(measured[measured["time_s"].isna()], experiment, where)


def _of(rows: pd.DataFrame, experiment: str, where: dict[str, str]) -> pd.DataFrame:
    for column, value in {"experiment": experiment, **where}.items():
        rows = rows[rows[column] == value]
    return rows


def phase(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the seconds before the regulator began, or those after it had time to settle."""
    if name == "before":
        return rows[rows["time_s"] <= rows["onset_s"]]
    return rows[rows["time_s"] > rows["onset_s"] + SETTLING_S]


def rate_mb_s(rows: pd.DataFrame) -> Interval | None:
    """Return the mean rate of one container; rows of its seconds."""
    return _over_repetitions(rows, "write_kib_s", lambda values: values.mean() / KIB_S_PER_MB_S)


def wait_ms(rows: pd.DataFrame) -> Interval | None:
    """Return the mean wait of a write; rows of seconds, of as many containers as there are.

    Each write counts once: seconds are weighted with how many ended in them.
    """
    weighted = rows.assign(latency_mean_ms=rows["latency_mean_ms"] * rows["requests"])
    sums = weighted.groupby("repetition")[["latency_mean_ms", "requests"]].sum(min_count=1)
    return mean_of(sums["latency_mean_ms"] / sums["requests"])


def longest_wait_ms(rows: pd.DataFrame) -> Interval | None:
    """Return the longest of the mean waits, each of one container and second."""
    return _over_repetitions(rows, "latency_mean_ms", lambda values: values.max())


def of_trials(rows: pd.DataFrame, column: str) -> Interval | None:
    """Return a figure that stands in every row of a trial, over repetitions."""
    return _over_repetitions(rows, column, lambda values: values.iloc[0])


def share_of_rate(rows: pd.DataFrame) -> Interval | None:
    """Return the share of its time that the disk's server worked; at most 1."""
    return _over_repetitions(rows, "disk_busy_ratio", lambda values: min(1.0, values.iloc[0]))


def _over_repetitions(
    rows: pd.DataFrame, column: str, reduce: Callable[[pd.Series[float]], float]
) -> Interval | None:
    if rows.empty:
        return None
    return mean_of(rows.groupby("repetition")[column].agg(reduce))
