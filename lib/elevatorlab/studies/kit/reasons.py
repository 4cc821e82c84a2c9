"""Claims that no testbed can decide, for a reason that the claims file gives."""

from __future__ import annotations

import pandas as pd

from ...judging.families import Statement
from ...judging.verdicts import Judgement, not_testable


def named_reason(item: Statement, _: pd.DataFrame) -> Judgement:
    """Judge a claim as not testable, for the reason that the claims file gives."""
    return not_testable(item.select["reason"])
