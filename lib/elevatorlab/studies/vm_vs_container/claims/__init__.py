"""How each claim of the article is judged; the claims are in data/claims/vm_vs_container.yaml.

A judging function takes a statement and the measured rows of one run: of one machine, preset and
scheduler of the physical disk below. Times are always paired by repetition, never pooled. Only
ratios are compared with the article, because its seconds come from another machine.
"""

from __future__ import annotations

import pandas as pd

from ....errors import ElevatorLabError
from ....judging import claims
from ....judging.claim import Claim
from ....judging.expectations import expect_columns, expect_once
from ....judging.families import statements
from ...kit.reasons import named_reason
from .. import document
from ..columns import COLUMNS
from ..published import NAME
from ..trials import DRIVE_SUFFIX
from . import numbers, sentences


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every number and sentence of the article its verdict.

    `measured`: One row per timed read, with `COLUMNS`; empty for published data alone. Returns:
    Each claim about the document once; each other claim once per machine and preset. The arms of a
    machine may come from several testbeds (see `matching.runs`).
    """
    expect_columns(measured, COLUMNS, "timed read")
    _refuse_what_cannot_be_compared(measured)
    return claims.judge(statements(NAME), JUDGES, measured, numbers.DECIDED_BY)


def _refuse_what_cannot_be_compared(measured: pd.DataFrame) -> None:
    machine = ["machine", "preset"]
    read = [*machine, "test", "published_size_mb", "repetition"]
    where = [*read, "testbed", "arm", "backing_scheduler", "scheduler", "variant"]
    expect_once(measured, where, "each read once per repetition")
    size_mib = measured["size_mib"].astype(float).round(6)
    on_drive = measured["variant"].str.endswith(DRIVE_SUFFIX)  # another device, on purpose
    alike = (("device", measured["device"], machine), ("MiB", size_mib, [*read, "variant"]))
    for what, values, keys in alike:
        grouped = values.groupby([on_drive, *(measured[key] for key in keys)], dropna=False)
        for several in grouped.unique()[grouped.nunique() > 1]:
            found = " and ".join(map(str, sorted(several)))
            raise ElevatorLabError(
                "measured table: expected all arms of a machine to read the same from the same "
                f"device; found for one of them ({what}): {found}; keep the trials of one set of "
                "parameters"
            )


JUDGES: dict[str, claims.Judge] = {
    **document.JUDGES,
    **numbers.JUDGES,
    **sentences.JUDGES,
    "named_reason": named_reason,
}
