"""Every number and sentence of the paper with its verdict; see data/claims/."""

from __future__ import annotations

import pandas as pd

from ... import claims
from ...claims import Claim, Judge
from ...families import statements
from ...measured import expect_columns
from . import claims_document, claims_observation, claims_regulation
from .columns import COLUMNS
from .making import NAME

JUDGES: dict[str, Judge] = {
    **claims_document.JUDGES,
    **claims_observation.JUDGES,
    **claims_regulation.JUDGES,
}


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every number and sentence of the paper its verdict.

    Parameters
    ----------
    measured : pandas.DataFrame
        One row a container and trial, with `columns.COLUMNS`; empty for published data alone.

    Returns
    -------
    list of Claim
        Claims about the document once; the others once for each run (`matching.runs`).

    Raises
    ------
    ElevatorLabError
        When a column is missing.
    """
    expect_columns(measured, COLUMNS, "container and trial")
    return claims.judge(statements(NAME), JUDGES, measured)
