"""Claims that no testbed could decide, for a reason that the claims file gives."""

from __future__ import annotations

import pandas as pd

from ...judging.families import Statement
from ...judging.verdicts import Judgement, not_testable


def named_reason(item: Statement, _: pd.DataFrame) -> Judgement:
    """Judge that a claim cannot be tested, for the reason that it names."""
    return not_testable(item.select["reason"])
