"""How each claim of the document is judged; the claims are in data/claims/stream_batching.yaml.

A judging function takes a statement and the measured rows of one run. Only ratios are compared
with the document: SBQ relative to noop at the same point, or a curve relative to its own reference
point. The value shown as measured is that ratio times the published value of the reference.
"""

from __future__ import annotations

from datetime import date

import pandas as pd

from ....judging import claims
from ....judging.claim import Claim, Constant
from ....judging.claims import Judge
from ....judging.constants import TIES, DecidedBy
from ....judging.expectations import expect_columns, expect_once
from ....judging.families import Statement, statements
from ....judging.verdicts import Judgement, not_testable
from .. import document
from ..columns import COLUMNS, WHERE
from ..measures import FEWEST_FOR_P99
from ..published import NAME
from . import cores, curves, points


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every point of the document its verdict.

    `measured`: One row per point, with `columns.COLUMNS`; empty for published data alone. Returns:
    Each claim about the document once; each other claim once per machine and preset.
    """
    expect_columns(measured, COLUMNS, "point")
    where = ["machine", "preset", "testbed", "target", "driver", "time_scale", "scheduler"]
    where += ["cores", "batch_nr", "batch_timeout_us", *WHERE, "repetition"]
    expect_once(measured, where, "each point once per repetition")
    return cores.steadied(claims.judge(statements(NAME), JUDGES, measured, DECIDED_BY), measured)


def _once(judge: Judge) -> Judge:
    """Let a claim about unscaled times be judged only if the run has scaled times, too.

    Otherwise, it would be the same as the claim about scaled times.
    """

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        if item.select.get("scale") == "unscaled" and set(table["time_scale"]) == {1}:
            return not_testable(
                "No times are scaled on this machine, so this claim is the same as the one about "
                "scaled times."
            )
        return judge(item, table)

    return judged


_POINTS = ("point_gain", "noop_shape")

DECIDED_BY: DecidedBy = {
    TIES: (*_POINTS, "cores", "many_cores", "peak_ratio", "latency_price", "local_loss"),
    Constant(
        name="FEWEST_FOR_P99",
        value=FEWEST_FOR_P99,
        of="requests at least behind a 99th percentile",
        reason="so many have one above it in 95 of 100 cases",
        fixed=date(2026, 11, 21),
    ): _POINTS,
}

JUDGES: dict[str, Judge] = {
    **document.JUDGES,
    **cores.judges({name: _once(judge) for name, judge in points.JUDGES.items()}),
    **cores.judges({name: _once(judge) for name, judge in curves.JUDGES.items()}),
}
