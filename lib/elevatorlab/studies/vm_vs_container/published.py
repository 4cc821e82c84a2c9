"""The article's five tables."""

from __future__ import annotations

import pandas as pd

from ...analysis.improvement import rounding_half_step
from ...judging.families import read_once, read_published
from ..kit.cells import rows_of

NAME = "vm_vs_container"
TIME_DECIMALS = 3
"""Decimals of every printed time: the resolution is 1 ms."""

HALF_STEP_S = rounding_half_step(TIME_DECIMALS)

TEST_1 = "writes_starving_reads"
TEST_2 = "high_read_latency"


def writes_starving_reads() -> pd.DataFrame:
    """Return Tables 1 to 4: time to read one file while another is being written.

    Returns: One row per printed row: document, table, row, scheduler, published_size_mb, vm_time_s,
    container_time_s, improvement_percent.
    """
    return read_published(NAME, TEST_1)


def high_read_latency() -> pd.DataFrame:
    """Return Table 5: time to read a tree of small files while a big one is being read."""
    return read_published(NAME, TEST_2)


@read_once
def times() -> pd.DataFrame:
    """Return every printed time of Tables 1 to 5, one row per time.

    Returns: document, table, row, test, arm ("vm" or "container"), scheduler, published_size_mb
    (NaN for Table 5) and time_s.
    """
    tables = [
        writes_starving_reads().assign(test=TEST_1),
        high_read_latency().assign(test=TEST_2, published_size_mb=float("nan")),
    ]
    columns = ["document", "table", "row", "test", "scheduler", "published_size_mb"]
    wide = pd.concat([table.astype({"published_size_mb": float}) for table in tables])
    long = wide.melt(
        id_vars=columns,
        value_vars=["vm_time_s", "container_time_s"],
        var_name="arm",
        value_name="time_s",
    )
    return long.assign(arm=long["arm"].str.removesuffix("_time_s"))


def printed_times(test: str, arm: str | None = None) -> pd.DataFrame:
    """Return the printed times of a test, or of one of its arms. The tree's size is given as 0."""
    printed = rows_of(times().fillna({"published_size_mb": 0}), test=test)
    return printed if arm is None else rows_of(printed, arm=arm)
