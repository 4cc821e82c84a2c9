"""Loads and waits of equal containers, with and without an overloaded container (section 3)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ....analysis.intervals import Interval
from ...kit.cells import mean_of
from ..trials.containers import NORMAL, OVERLOADED
from ..trials.disks import DISKS

EQUAL, OVERLOAD, SWEEP, OPEN = "equal", "overload", "sweep", "open"
STUDY_DISK = next(iter(DISKS))
"""The disk that the claims are about; the others are there for contrast."""

WIDEST_GAP = 0.15
"""The wait is interpolated between two measured utilisations at most this far apart. The curve
bends too much for a straight line across a wider gap."""

ONE_SERVER = {
    "open arrivals, exponential service": (OPEN, "exponential_server"),
    "open arrivals, constant service": (OPEN, "single_server"),
    "closed writers, constant service": (EQUAL, "single_server"),
}
"""Loads of a disk that is one server without a buffer: experiment and disk, by name."""

QUANTITIES = {
    "iops": "iops",
    "write_kb_s": "write_kib_s",
    "utilization_percent": "utilization_ratio",
    "queue_length": "queue_length",
    "wait_ms": "wait_ms",
}
"""The tidy table's column for each quantity, by its name in the published tables."""

_OF_DISK = [
    *("disk_iops", "disk_wait_ms", "disk_queue_length", "disk_utilization_ratio"),
    *("disk_busy_ratio", "service_ms", "cpu_busy_ratio"),
]


def by_load(
    table: pd.DataFrame, experiment: str = EQUAL, disk: str | None = STUDY_DISK
) -> pd.DataFrame:
    """Average over the normal containers of each trial.

    Returns: One row per disk, number of containers, offered load and repetition, sorted; columns as
    in the tidy table.
    """
    rows = table[(table["experiment"] == experiment) & (table["role"] == NORMAL)]
    if disk is not None:
        rows = rows[rows["disk"] == disk]
    keys = ["disk", "containers", "offered_ratio", "repetition"]
    columns = [*QUANTITIES.values(), "latency_mean_ms", *_OF_DISK]
    means = rows.groupby(keys, dropna=False)[columns].mean(numeric_only=False)
    return means.astype(float).reset_index().sort_values(keys, ignore_index=True)


def over_repetitions(loads: pd.DataFrame, containers: int, column: str) -> Interval | None:
    """Estimate a column's mean at one number of containers; None if that was not measured."""
    return mean_of(loads.loc[loads["containers"] == containers, column])


def overloads(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return one table for each number of writers of the overload; the key is this number in words.

    The first table is for one writer: its overload is experiment ``overload``. In each further
    table, these rows are replaced by those of experiment ``sweep`` with another number of writers.
    All other rows are the same in every table.
    """
    swept = table["experiment"] == SWEEP
    others = table[~swept & (table["experiment"] != OVERLOAD)]
    found = {"1 writer": table[~swept]}
    for words, rows in table[swept].groupby("load"):
        found[str(words)] = pd.concat([others, rows.assign(experiment=OVERLOAD)])
    return found


def waits(table: pd.DataFrame, disk: str = STUDY_DISK) -> pd.DataFrame:
    """Return mean waits with and without an overloaded container.

    Returns: One row per number of normal containers, number of overloaded ones and repetition:
    columns containers, overloaded, repetition, normal_ms, overloaded_ms.
    """
    rows = table[(table["disk"] == disk) & table["experiment"].isin([EQUAL, OVERLOAD])]
    keys = ["containers", "overloaded", "repetition"]
    means = rows.assign(wait_ms=rows["wait_ms"].astype(float)).pivot_table(
        index=keys, columns="role", values="wait_ms", aggfunc="mean"
    )
    for role in (NORMAL, OVERLOADED):
        if role not in means:
            means[role] = np.nan
    return means.rename(columns={NORMAL: "normal_ms", OVERLOADED: "overloaded_ms"}).reset_index()


def rises(table: pd.DataFrame, disk: str = STUDY_DISK) -> pd.DataFrame:
    """Return how much longer the overloaded container makes the waits: the paper's dW and dSW.

    Returns: One row per number of normal containers and repetition, with the columns rise_ms (mean
    dW of the normal containers), overloaded_rise_ms (wait of the overloaded container minus its
    wait alone; NaN if it did not run alone) and system_rise_ms (dSW: the sum of the rises of the
    normal containers and the overloaded one).
    """
    found = waits(table, disk)
    keys = ["containers", "repetition"]
    before = found[(found["overloaded"] == 0)].set_index(keys)["normal_ms"]
    after = found[found["overloaded"] == 1].set_index(keys)
    alone = after.xs(0, level="containers")["overloaded_ms"] if 0 in after.index else None
    beside = after.drop(index=0, level="containers", errors="ignore")
    rise = (beside["normal_ms"] - before).dropna().rename("rise_ms").to_frame()
    own = beside["overloaded_ms"].reindex(rise.index)
    repetition = rise.index.get_level_values("repetition")
    own = own - (np.nan if alone is None else alone.reindex(repetition).to_numpy())
    count = rise.index.get_level_values("containers").to_numpy()
    return rise.assign(
        overloaded_rise_ms=own, system_rise_ms=rise["rise_ms"] * count + own
    ).reset_index()


def at_utilization(loads: pd.DataFrame, utilization_ratio: float) -> Interval | None:
    """Estimate the wait in ms at a utilisation, by interpolation in each repetition.

    None if no repetition has two loads around this utilisation that are at most `WIDEST_GAP` apart.
    """
    found = []
    for _, rows in loads.groupby("repetition"):
        rows = rows.sort_values("utilization_ratio")
        ratios = rows["utilization_ratio"].to_numpy()
        after = int(np.searchsorted(ratios, utilization_ratio))
        if 0 < after < len(ratios) and ratios[after] - ratios[after - 1] <= WIDEST_GAP:
            found.append(float(np.interp(utilization_ratio, ratios, rows["wait_ms"])))
    return mean_of(pd.Series(found, dtype=float))
