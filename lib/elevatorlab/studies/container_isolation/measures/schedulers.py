"""The disk's scheduler, which the paper does not name: results of several are never pooled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pandas as pd

from ...kit.cells import in_order, rows_of
from ...kit.tables import PLACE, cells


def by_scheduler(measured: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each scheduler and its rows; the scheduler ``none`` comes first, if it was run.

    Experiment ``comparison`` is left out, because there each mechanism chooses its scheduler.
    """
    of_paper = measured[measured["experiment"] != "comparison"]
    for scheduler in in_order(of_paper, "scheduler", ("none",)):
        yield scheduler, rows_of(of_paper, scheduler=scheduler)


def runs_by_scheduler(measured: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield place, scheduler and rows of each run, once per scheduler (see `by_scheduler`)."""
    for place, run in cells(measured, PLACE):
        for scheduler, rows in by_scheduler(run):
            yield {**place, "scheduler": scheduler}, rows


def of_first_scheduler(measured: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows that the claims are judged by: in each run, those of its first scheduler.

    The order is that of `by_scheduler`. All rows of experiment ``comparison`` are kept, too.
    """
    kept = measured["experiment"] == "comparison"
    for _, run in cells(measured, PLACE):
        for _, rows in islice(by_scheduler(run), 1):
            kept[rows.index] = True
    return measured[kept]


def without_needless_scheduler(table: pd.DataFrame) -> pd.DataFrame:
    """Drop the column ``scheduler`` from a table if its only value is ``none``."""
    if "scheduler" in table and set(table["scheduler"]) <= {"none"}:
        return table.drop(columns="scheduler")
    return table
