"""Quantities that verdicts, figures and tables all take from the tidy table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...analysis.friedman import Friedman, friedman
from ...analysis.intervals import Interval, ratio_interval
from ...analysis.points import Points, points
from ...plugins.schedulers import OF_THE_KERNEL
from ..kit.cells import in_order

HERE = {"noop": "none", "deadline": "mq-deadline", "cfq": "cfq"}
"""The scheduler that stands for each scheduler of the article; cfq is a reimplementation."""

SCHEDULERS = tuple(dict.fromkeys((*HERE.values(), *OF_THE_KERNEL)))

TESTS = {
    "initial_write": "Initial write",
    "rewrite": "Rewrite",
    "random_write": "Random write",
    "random_read": "Random read",
    "mixed_workload": "Mixed workload",
}
"""The article's names for its tests, in the order of its list."""

ARMS = {
    "notebook-5400": "notebook hard disk (simulated)",
    "desktop-7200": "desktop hard disk (simulated)",
    "single_server_disk": "disk without seeks, one server (simulated)",
    "sata_ssd": "SATA SSD (simulated)",
    "nvme_ssd": "NVMe SSD (simulated)",
    "ram_disk": "RAM disk (simulated)",
    "file_backed": "file on the machine's disk",
    "disk": "disk of the machine",
}
"""Names of the devices. In this study, an arm is a device."""

VARIANTS = {
    "as_published": "with the page cache, as published",
    "direct": "bypassing the page cache (-I)",
}

LIKE_THE_ARTICLE = {
    computer: ("disk", "file_backed", drive, "single_server_disk")
    for computer, drive in {"laptop": "notebook-5400", "desktop": "desktop-7200"}.items()
}
"""For each computer of the article, the devices that may stand for its disk. The first one that was
measured is used."""


def devices_in(table: pd.DataFrame) -> list[str]:
    """Return the arms of a table, in the order in which they are shown."""
    return in_order(table, "arm", ARMS)


def arm_name(arm: str) -> str:
    """Return the name of an arm; it may also be a disk that is not in `ARMS`."""
    return ARMS.get(arm, f"{arm} (simulated)")


def comparisons(rows: pd.DataFrame, schedulers: tuple[str, ...] = SCHEDULERS) -> pd.DataFrame:
    """Return throughput in KiB/s: rows by test, threads and run, one column per scheduler.

    `rows`: Rows of one run of the study (see `matching.runs`), device and variant. `schedulers`:
    Schedulers to compare. A scheduler that was not measured has no column.
    """
    wide = rows.pivot(
        index=["test", "threads", "repetition"], columns="scheduler", values="throughput_kib_s"
    )
    return wide[[name for name in schedulers if name in wide]]


def ranking(rows: pd.DataFrame, schedulers: tuple[str, ...] = SCHEDULERS) -> Points | None:
    """Return the points by the article's method (see `analysis.points`)."""
    return points(comparisons(rows, schedulers)) if len(rows) else None


def over_tests(rows: pd.DataFrame, schedulers: tuple[str, ...] = SCHEDULERS) -> Friedman | None:
    """Test whether the schedulers differ over all tests and numbers of threads."""
    return friedman(comparisons(rows, schedulers).groupby(level=["test", "threads"]).mean())


def gain(rows: pd.DataFrame) -> tuple[str, str, Interval] | None:
    """Return the best and the worst scheduler of one test and number of threads, and the gain.

    Returns: The schedulers with the highest and the lowest geometric mean over runs, and the gain
    of the best over the worst, in percent of the worst. None if fewer than two schedulers were
    measured.
    """
    by_run = rows.pivot(index="repetition", columns="scheduler", values="throughput_kib_s").dropna()
    if len(by_run.columns) < 2 or by_run.empty:
        return None
    mean = np.log(by_run).mean()
    best, worst = mean.idxmax(), mean.idxmin()
    ratio = ratio_interval(by_run[best], by_run[worst])
    return best, worst, ratio.map(lambda value: (value - 1) * 100)
