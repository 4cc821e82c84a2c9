"""Tables as a notebook shows them: an empty cell says why it is empty."""

from __future__ import annotations

import pandas as pd
from IPython.display import Markdown, display

EMPTY = "–"


def show(table: pd.DataFrame, why_empty: str) -> None:
    """Show a table, and below it why some of its cells are empty, if any are."""
    display(filled(table))
    if table.isna().any(axis=None):
        display(Markdown(f"{EMPTY}: {why_empty}"))


def filled(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a dash in each cell that has no number; full columns stay as they are.

    Examples
    --------
    >>> filled(pd.DataFrame({"batch": [16.0, float("nan")]}))["batch"].tolist()
    [16.0, '–']
    """
    gaps = table.isna()
    return table.astype(dict.fromkeys(table.columns[gaps.any()], object)).where(~gaps, EMPTY)
