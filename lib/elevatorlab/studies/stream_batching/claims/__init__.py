"""How each claim of the document is judged; the claims are in data/claims/stream_batching.yaml.

A judging function takes a statement and the measured rows of one run. Only ratios are held
against the document: SBQ against noop at the same point, or a curve against its own reference
point. What is shown as measured is that ratio on the document's scale.
"""

from __future__ import annotations

import pandas as pd

from ....judging import claims
from ....judging.claims import Claim, Judge
from ....judging.expectations import expect_columns, expect_once
from ....judging.families import Statement, statements
from ....judging.verdicts import Judgement, not_testable
from .. import document
from ..columns import COLUMNS, WHERE
from ..published import NAME
from . import curves, points


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every point of the document its verdict.

    Parameters
    ----------
    measured : pandas.DataFrame
        One row a point, with `columns.COLUMNS`; empty for published data alone.

    Returns
    -------
    list of Claim
        Claims about the document once; the others once for each machine and preset.

    Raises
    ------
    ElevatorLabError
        When a column is missing, or a point was measured twice in the same repetition.
    """
    expect_columns(measured, COLUMNS, "point")
    where = ["machine", "preset", "testbed", "target", "driver", "time_scale", "scheduler"]
    where += ["batch_nr", "batch_timeout_us", *WHERE, "repetition"]
    expect_once(measured, where, "each point once per repetition")
    return claims.judge(statements(NAME), JUDGES, measured)


def _once(judge: Judge) -> Judge:
    """Judge what is said with times unscaled only where others are scaled: not the same twice."""

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        if item.select.get("scale") == "unscaled" and set(table["time_scale"]) == {1}:
            return not_testable(
                "No times are scaled on this machine, so that this is the claim about the scaled "
                "ones again."
            )
        return judge(item, table)

    return judged


JUDGES: dict[str, Judge] = {
    **document.JUDGES,
    **{name: _once(judge) for name, judge in points.JUDGES.items()},
    **{name: _once(judge) for name, judge in curves.JUDGES.items()},
}
