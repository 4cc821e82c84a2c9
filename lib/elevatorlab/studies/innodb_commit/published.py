"""The article's table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ...judging.families import read_published
from ..kit.cells import rows_of
from ..kit.reimplemented import SUCCEEDS

NAME = "innodb_commit"

CELL = ("scheduler", "flush_log_at_trx_commit", "threads")
"""The columns whose values identify a cell of the table."""


def table() -> pd.DataFrame:
    """Return the printed table, one row per cell.

    Returns: document, table, row, published_scheduler, scheduler (the one here),
    flush_log_at_trx_commit, threads, tps, ioutil_percent; where the article prints an upper bound,
    ioutil_is_bound is True.
    """
    return read_published(NAME, "commits")


def printed(cell: Mapping[str, Any], quantity: str) -> float:
    """Return what the article prints for a cell.

    For bfq, which the article lacks, this is the value of its predecessor cfq.
    """
    column = {"tps": "tps", "utilization_ratio": "ioutil_percent"}[quantity]
    name = cell["scheduler"]
    stood_for = {**cell, "scheduler": SUCCEEDS.get(name, name)}
    return float(rows_of(table(), **stood_for)[column].iloc[0])
