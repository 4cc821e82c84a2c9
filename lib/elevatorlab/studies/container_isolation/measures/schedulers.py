"""Which scheduler the disk had: the paper does not say, so rows of several are never pooled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pandas as pd

from ...kit.cells import in_order, rows_of
from ...kit.tables import PLACE, cells


def by_scheduler(measured: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each scheduler and its rows of the paper's experiments; ``none`` first, if there.

    Experiment ``comparison`` is left out: there a mechanism chooses its scheduler.
    """
    of_paper = measured[measured["experiment"] != "comparison"]
    for scheduler in in_order(of_paper, "scheduler", ("none",)):
        yield scheduler, rows_of(of_paper, scheduler=scheduler)


def runs_by_scheduler(measured: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield where each run was made, its scheduler, and its rows of the paper's experiments."""
    for place, run in cells(measured, PLACE):
        for scheduler, rows in by_scheduler(run):
            yield {**place, "scheduler": scheduler}, rows


def of_first_scheduler(measured: pd.DataFrame) -> pd.DataFrame:
    """Keep of each run what the claims are judged by: the first scheduler of `by_scheduler`."""
    kept = measured["experiment"] == "comparison"
    for _, run in cells(measured, PLACE):
        for _, rows in islice(by_scheduler(run), 1):
            kept[rows.index] = True
    return measured[kept]


def without_needless_scheduler(table: pd.DataFrame) -> pd.DataFrame:
    """Leave the column ``scheduler`` out of a table to be shown, where all of it is ``none``."""
    if "scheduler" in table and set(table["scheduler"]) <= {"none"}:
        return table.drop(columns="scheduler")
    return table
