"""Loads and waits of equal containers, and of those beside an overloaded one (section 3)."""

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
"""Between two measured utilisations; the curve bends too much for a line across a wider one."""

ONE_SERVER = {
    "open arrivals, exponential service": (OPEN, "exponential_server"),
    "open arrivals, constant service": (OPEN, "single_server"),
    "closed writers, constant service": (EQUAL, "single_server"),
}
"""The loads of a disk that is one server and nothing else, by their experiment and disk."""

QUANTITIES = {
    "iops": "iops",
    "write_kb_s": "write_kib_s",
    "utilization_percent": "utilization_ratio",
    "queue_length": "queue_length",
    "wait_ms": "wait_ms",
}
"""What the published tables call a quantity, and its column here."""

_OF_DISK = [
    *("disk_iops", "disk_wait_ms", "disk_queue_length", "disk_utilization_ratio"),
    *("disk_busy_ratio", "service_ms", "cpu_busy_ratio"),
]


def by_load(
    table: pd.DataFrame, experiment: str = EQUAL, disk: str | None = STUDY_DISK
) -> pd.DataFrame:
    """Average over the normal containers of each trial.

    Parameters
    ----------
    table : pandas.DataFrame
        Tidy rows of one run.
    experiment : str
    disk : str or None
        None keeps all of them apart.

    Returns
    -------
    pandas.DataFrame
        One row per disk, number of containers, offered load and repetition, sorted; columns as in
        the tidy table.
    """
    rows = table[(table["experiment"] == experiment) & (table["role"] == NORMAL)]
    if disk is not None:
        rows = rows[rows["disk"] == disk]
    keys = ["disk", "containers", "offered_ratio", "repetition"]
    columns = [*QUANTITIES.values(), "latency_mean_ms", *_OF_DISK]
    means = rows.groupby(keys, dropna=False)[columns].mean(numeric_only=False)
    return means.astype(float).reset_index().sort_values(keys, ignore_index=True)


def over_repetitions(loads: pd.DataFrame, containers: int, column: str) -> Interval | None:
    """Estimate a mean at one number of containers; None where it was not measured."""
    return mean_of(loads.loc[loads["containers"] == containers, column])


def overloads(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows for each number of writers of the overload; the key is this number in words.

    The first entry has one writer: the rows of experiment ``overload``. In each further entry, the
    rows of experiment ``sweep`` with another number of writers take the place of those. All other
    rows are the same in every entry.
    """
    swept = table["experiment"] == SWEEP
    others = table[~swept & (table["experiment"] != OVERLOAD)]
    found = {"1 writer": table[~swept]}
    for words, rows in table[swept].groupby("load"):
        found[str(words)] = pd.concat([others, rows.assign(experiment=OVERLOAD)])
    return found


def waits(table: pd.DataFrame, disk: str = STUDY_DISK) -> pd.DataFrame:
    """Return mean waits with and without an overloaded container.

    Returns
    -------
    pandas.DataFrame
        One row per number of normal containers, number of overloaded ones and repetition: columns
        containers, overloaded, repetition, normal (ms), overloaded_ms.
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
    """Return what the overloaded container adds to the waits: the paper's dW and dSW.

    Returns
    -------
    pandas.DataFrame
        One row per number of normal containers and repetition: rise_ms (dW of a normal container,
        their mean), system_rise_ms (dSW: the sum over the normal ones and the overloaded one),
        overloaded_rise_ms (against running alone).
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
    """Interpolate the wait at a utilisation between neighbouring loads, in each repetition."""
    found = []
    for _, rows in loads.groupby("repetition"):
        rows = rows.sort_values("utilization_ratio")
        ratios = rows["utilization_ratio"].to_numpy()
        after = int(np.searchsorted(ratios, utilization_ratio))
        if 0 < after < len(ratios) and ratios[after] - ratios[after - 1] <= WIDEST_GAP:
            found.append(float(np.interp(utilization_ratio, ratios, rows["wait_ms"])))
    return mean_of(pd.Series(found, dtype=float))
