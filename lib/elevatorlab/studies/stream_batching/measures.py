"""Quantities that verdicts, figures and tables all take from the tidy table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...analysis.intervals import Interval, geometric_interval, ratio_interval
from .rows import WHERE
from .trials import BATCH_NR, BATCH_TIMEOUT_US

DRIVERS = {"stock": "stock driver", "one_send": "one-send driver"}
TARGETS = {"nvme_ssd": "NVMe SSD", "ram": "RAM block device"}

_OPERATION = {"randread": 100, "randwrite": 0}

THROUGHPUT, MEAN, P99 = "throughput_iops", "latency_mean_us", "latency_p99_us"

FEWEST_FOR_P99 = 299
"""With fewer requests even the slowest of them may be below the 99th percentile: that all of n are
has a probability of 0.99^n, which 299 is the first to bring below 5 %."""


def rows_of(table: pd.DataFrame, /, **wanted) -> pd.DataFrame:
    """Return the rows whose columns have the given values."""
    return table[_having(table, wanted)]


def with_own_knobs(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out SBQ with other knobs than its defaults."""
    return table[_own_knobs(table)]


def _having(table: pd.DataFrame, wanted: dict) -> np.ndarray:
    kept = np.ones(len(table), dtype=bool)
    for column, value in wanted.items():
        kept &= np.asarray(table[column].to_numpy() == value, dtype=bool)
    return kept


def _own_knobs(table: pd.DataFrame) -> np.ndarray:
    batch_nr = table["batch_nr"].to_numpy(dtype=float, na_value=np.nan)
    timeout_us = table["batch_timeout_us"].to_numpy(dtype=float, na_value=np.nan)
    return np.isnan(batch_nr) | ((batch_nr == BATCH_NR) & (timeout_us == BATCH_TIMEOUT_US))


def scale_of(table: pd.DataFrame, scaled: bool = True) -> float | None:
    """Return the factor on all times of the scaled runs in `table`, or of the unscaled ones.

    Where all runs have one factor, as on real machines, it is that one either way.
    """
    found = sorted(set(table["time_scale"]))
    return (found[-1] if scaled else found[0]) if found else None


def at(table: pd.DataFrame, column: str, **where) -> pd.Series:
    """Return a quantity by repetition at one point (by default `rows.WHERE`)."""
    kept = _own_knobs(table) & _having(table, {**WHERE, **where})
    return pd.Series(table[column].to_numpy()[kept], table["repetition"].to_numpy()[kept])


def gain(table: pd.DataFrame, column: str = THROUGHPUT, **where) -> Interval | None:
    """Compare SBQ with noop at one point.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of one run.
    column : str
        The quantity.
    where : dict
        Column values that select the point: target, driver, time_scale; others as in
        `rows.WHERE` unless named.

    Returns
    -------
    Interval or None
        SBQ / noop, paired by repetition; None where no repetition has both.
    """
    return ratio_of(at(table, column, scheduler="sbq", **where), at(table, column, **_noop(where)))


def _noop(where: dict) -> dict:
    return {**where, "scheduler": "none"}


def ratio_of(one: pd.Series, other: pd.Series) -> Interval | None:
    """Return a ratio paired by repetition; None where they share none."""
    return None if one.index.intersection(other.index).empty else ratio_interval(one, other)


def peak(table: pd.DataFrame, **where) -> pd.Series:
    """Return the greatest throughput over all depths, by repetition (4 KiB reads)."""
    fixed = {name: value for name, value in WHERE.items() if name != "depth"}
    rows = rows_of(with_own_knobs(table), **fixed, **where)
    return rows.groupby("repetition")[THROUGHPUT].max()


def curve(table: pd.DataFrame, column: str, along: str, **where) -> list[tuple[float, Interval]]:
    """Return a quantity along one column, everything else as in `rows.WHERE` or `where`.

    Returns
    -------
    list of (float, Interval)
        Geometric means over repetitions.
    """
    fixed = {name: value for name, value in WHERE.items() if name != along}
    rows = rows_of(with_own_knobs(table), **{**fixed, **where})
    return [(x, geometric_interval(some[column])) for x, some in rows.groupby(along)]


def gains(table: pd.DataFrame, along: str, **where) -> list[tuple[float, Interval]]:
    """Return `gain` along one column."""
    fixed = {name: value for name, value in WHERE.items() if name != along}
    there = sorted(set(rows_of(table, **{**fixed, **where})[along]))
    found = [(x, gain(table, **{**where, along: x})) for x in there]
    return [(x, ratio) for x, ratio in found if ratio is not None]


def where_of(row: dict, table: pd.DataFrame) -> dict:
    """Return which measured rows a published row stands for, as `at` and `gain` take it."""
    where = {"target": row["target"], "driver": row["driver"]}
    where["time_scale"] = scale_of(table, row.get("scale", "scaled") == "scaled")
    names = {"io_depth": "depth", "read_percent": "read_percent", "request_kb": "request_kib"}
    where |= {ours: row[theirs] for theirs, ours in names.items() if theirs in row}
    if "operation" in row:
        where["read_percent"] = _OPERATION[row["operation"]]
    return where


def words(where: dict) -> str:
    """Say which driver, and which times, measured rows are of (see `where_of`)."""
    return f"{DRIVERS[where['driver']]}, {times(where['time_scale'])}"


def times(scale: float | None) -> str:
    """Say in words what the scale of time is."""
    return "times unscaled" if scale == 1 else f"all times x {scale:g}" if scale else "no run"
