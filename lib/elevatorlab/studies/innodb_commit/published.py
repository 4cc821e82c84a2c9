"""The article's table."""

from __future__ import annotations

import pandas as pd

from elevatorlab.families import read_published

STUDY = "innodb_commit"


def table() -> pd.DataFrame:
    """Return the printed table, one row a cell.

    Returns
    -------
    pandas.DataFrame
        document, table, row, published_scheduler, scheduler (its descendant),
        flush_log_at_trx_commit, threads, tps, ioutil_percent; where the article prints an upper
        bound, ioutil_is_bound is True.
    """
    return read_published(STUDY, "commits")
