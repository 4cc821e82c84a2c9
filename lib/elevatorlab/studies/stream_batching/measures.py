"""Quantities that verdicts, figures and tables all take from the tidy table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...analysis.intervals import Interval, geometric_interval
from ..kit.cells import paired_ratio, rows_of
from ..kit.tables import cells
from .columns import WHERE
from .published import KIB_BITS, LINK_GBPS, core_scaling
from .trials import BATCH_NR, BATCH_TIMEOUT_US

DRIVERS = {"stock": "stock driver", "one_send": "one-send driver"}
TARGETS = {"nvme_ssd": "NVMe SSD", "ram": "RAM block device"}

READ_PERCENT = {"randread": 100, "randwrite": 0}

FULL_SSD_DEPTH, FULL_RAM_DEPTH = 64, 32
FULL_DEPTH = {"nvme_ssd": FULL_SSD_DEPTH, "ram": FULL_RAM_DEPTH}
"""By target: from this depth on, the document's curves are flat, since the queue is always full."""

THROUGHPUT, MEAN, P99 = "throughput_iops", "latency_mean_us", "latency_p99_us"


def _own_knobs(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Tell which rows are not those in which SBQ had other knobs than its defaults."""
    batch_nr = table["batch_nr"].to_numpy(dtype=float, na_value=np.nan)
    timeout_us = table["batch_timeout_us"].to_numpy(dtype=float, na_value=np.nan)
    own: NDArray[np.bool_] = (batch_nr == BATCH_NR) & (timeout_us == BATCH_TIMEOUT_US)
    own |= np.isnan(batch_nr)
    return own


def apart(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose host and target had processors of their own on one machine."""
    return table[table["cores"].notna()]


def shared(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that `apart` leaves out.

    In these, host and target share all processors, or are two machines.
    """
    return table[table["cores"].isna()]


def cores_in(table: pd.DataFrame) -> list[int]:
    """Return the numbers of processors that each side had of its own, in rising order."""
    return sorted({int(number) for number in table["cores"].dropna()})


def on_cores(table: pd.DataFrame, cores: int) -> pd.DataFrame:
    """Return the rows of `apart` with so many cores; where it has none, all rows."""
    own = apart(table)
    return table if own.empty else own[own["cores"] == cores]


def scale_of(table: pd.DataFrame, scaled: bool = True) -> float | None:
    """Return the factor on all times in the scaled rows of `table`, or in the unscaled rows.

    If all rows have the same factor, as on real machines, return that one. None for an empty table.
    """
    found = sorted(set(table["time_scale"]))
    return (found[-1] if scaled else found[0]) if found else None


def target_is_apart(table: pd.DataFrame) -> bool:
    """Tell whether the target was another machine, whose sends are not counted."""
    over_network = table[table["driver"].isin(list(DRIVERS))]
    return bool(over_network["target_sends_per_request"].isna().all())


def at(table: pd.DataFrame, column: str, **where: Any) -> pd.Series[float]:
    """Return a quantity at one point, indexed by repetition.

    `where` selects the point. Columns that it lacks have the values of `columns.WHERE`, and SBQ has
    its default knobs.
    """
    kept = _own_knobs(table)
    for name, value in {**WHERE, **where}.items():
        kept &= np.asarray(table[name].to_numpy() == value, dtype=bool)
    return pd.Series(table[column].to_numpy()[kept], table["repetition"].to_numpy()[kept])


def gain(
    table: pd.DataFrame, column: str = THROUGHPUT, scheduler: str = "sbq", **where: Any
) -> Interval | None:
    """Compare SBQ, or another scheduler, with noop at one point.

    `where`: Column values that select the point: target, driver, time_scale; others as in
    `columns.WHERE` unless named. Returns: SBQ / noop, paired by repetition; None where no
    repetition has both.
    """
    own = at(table, column, scheduler=scheduler, **where)
    return paired_ratio(own, at(table, column, **{**where, "scheduler": "none"}))


def peak(table: pd.DataFrame, **where: Any) -> pd.Series[float]:
    """Return the greatest throughput over all depths, by repetition (4 KiB reads)."""
    fixed = {name: value for name, value in WHERE.items() if name != "depth"}
    rows = rows_of(table[_own_knobs(table)], **fixed, **where)
    return rows.groupby("repetition")[THROUGHPUT].max()


def curve(
    table: pd.DataFrame, column: str, along: str, **where: Any
) -> list[tuple[float, Interval]]:
    """Return a quantity for each value of the column `along`.

    The other columns have the values of `where`, or else of `columns.WHERE`.

    Returns: The value of `along`, and the geometric mean over repetitions.
    """
    fixed = {name: value for name, value in WHERE.items() if name != along}
    rows = rows_of(table[_own_knobs(table)], **{**fixed, **where})
    points = ((cell[along], some[column]) for cell, some in cells(rows, [along]))
    return [(x, geometric_interval(values)) for x, values in points]


def gains(
    table: pd.DataFrame, along: str, scheduler: str = "sbq", **where: Any
) -> list[tuple[float, Interval]]:
    """Return `gain` for each value of the column `along`."""
    fixed = {name: value for name, value in WHERE.items() if name != along}
    there = sorted(set(rows_of(table, **{**fixed, **where})[along]))
    found = [(x, gain(table, scheduler=scheduler, **{**where, along: x})) for x in there]
    return [(x, ratio) for x, ratio in found if ratio is not None]


def where_of(row: Mapping[str, Any], table: pd.DataFrame) -> dict[str, Any]:
    """Return the column values that select a published row's measured rows (for `at`, `gain`)."""
    where = {"target": row["target"], "driver": row["driver"]}
    where["time_scale"] = scale_of(table, row.get("scale", "scaled") == "scaled")
    names = {"io_depth": "depth", "read_percent": "read_percent", "request_kb": "request_kib"}
    where |= {ours: row[theirs] for theirs, ours in names.items() if theirs in row}
    if "operation" in row:
        where["read_percent"] = READ_PERCENT[row["operation"]]
    return where


def words(where: Mapping[str, Any]) -> str:
    """Name the driver and the scale of time of measured rows (see `where_of`)."""
    return f"{DRIVERS[where['driver']]}, {times(where['time_scale'])}"


def cell_of(where: Mapping[str, Any]) -> str:
    """Return a name for the point to which measured rows belong (see `where_of`).

    Claims that share the point share the name.
    """
    point = {**WHERE, **where}
    return (
        f"{TARGETS[point['target']]}, {words(where)}, depth {point['depth']:g}, "
        f"{point['request_kib']:g} KiB, {point['read_percent']:g} % reads"
    )


def times(scale: float | None) -> str:
    """Return the scale of time in words."""
    return "times unscaled" if scale == 1 else f"all times x {scale:g}" if scale else "no run"


def limit_kiops(target: str, operation: str) -> float:
    """Return the limit of the document's rig, in thousand requests of 4 KiB per second.

    It is that of the link or, if lower, the highest throughput that the document shows for the SSD.
    """
    link = LINK_GBPS * 1e9 / (4 * KIB_BITS) / 1000
    if target != "nvme_ssd":
        return link
    table = core_scaling()
    shown = table[(table["target"] == target) & (table["operation"] == operation)]
    return min(link, float(shown["throughput_kiops"].max()))
