"""The paper's printed numbers."""

import pandas as pd

from ...families import read_published
from .making import NAME


def numbers() -> pd.DataFrame:
    """Return every printed number of the study's tables, each with its source and its sentence."""
    tables = [read_published(NAME, name) for name in ("endpoints", "waits", "regulation")]
    return pd.concat(tables, ignore_index=True)
