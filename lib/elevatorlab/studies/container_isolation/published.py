"""The paper's printed numbers."""

from __future__ import annotations

import pandas as pd

from ...judging.families import read_once, read_published

NAME = "container_isolation"


@read_once
def numbers() -> pd.DataFrame:
    """Return every printed number of the study's tables, each with its source and its sentence."""
    tables = [read_published(NAME, name) for name in ("endpoints", "waits", "regulation")]
    return pd.concat(tables, ignore_index=True)


def endpoints() -> pd.DataFrame:
    """Return the two printed end points of each of Figures 1 to 4.

    Returns: document, table, row, quantity, containers, value, half_step.
    """
    return read_published(NAME, "endpoints")


def endpoint(quantity: str, containers: int) -> float:
    """Return a quantity as printed at one end of Figures 1 to 4: at 1 or 20 containers."""
    rows = endpoints()
    here = (rows["quantity"] == quantity) & (rows["containers"] == containers)
    return float(rows.loc[here, "value"].iloc[0])


def printed_wait_ms(row: str) -> float:
    """Return a printed wait or difference of waits, in ms, by the name of its row."""
    rows = read_published(NAME, "waits")
    return float(rows.loc[rows["row"] == row, "value"].iloc[0])
