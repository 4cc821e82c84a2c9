"""Every number and sentence of the paper with its verdict; see data/claims/."""

from __future__ import annotations

import pandas as pd

from ....judging import claims
from ....judging.claim import Claim
from ....judging.claims import Judge
from ....judging.expectations import expect_columns
from ....judging.families import statements
from ...kit.reasons import named_reason
from .. import document
from ..columns import COLUMNS
from ..measures.schedulers import of_first_scheduler
from ..published import NAME
from . import constants, interference, overload, regulation

JUDGES: dict[str, Judge] = {
    **document.JUDGES,
    **interference.JUDGES,
    **overload.JUDGES,
    **regulation.JUDGES,
    "named_reason": named_reason,
}


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every number and sentence of the paper its verdict.

    `measured`: One row per container and trial, with `columns.COLUMNS`; empty for published data
    alone. Returns: Each claim about the document once; each other claim once per run
    (`matching.runs`).
    """
    expect_columns(measured, COLUMNS, "container and trial")
    rows = of_first_scheduler(measured)
    return claims.judge(statements(NAME), JUDGES, rows, constants.DECIDED_BY)
