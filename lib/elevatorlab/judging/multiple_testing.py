"""Adjust p-values, since many claims are tested at once and several may share a measurement."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from .claim import Claim
from .verdicts import DECIDED, MOST_REPETITIONS, Verdict

LARGEST_P = 0.05
"""Largest p-value of a verdict that stands, after adjustment for the number of tests."""


def adjust(claims: Sequence[Claim]) -> list[Claim]:
    """Adjust a study's claims for multiple tests, and link claims that share a measurement.

    All p-values of one run and one role are adjusted together (Benjamini and Hochberg, "Controlling
    the false discovery rate", Journal of the Royal Statistical Society B 57(1), 1995). Undecided
    claims count among the tests. A verdict whose adjusted p-value is above `LARGEST_P` becomes
    undecided.

    `claims`: Of one study, each with the verdict that it has by itself.
    """
    from scipy import stats  # the import takes most of a second, and cached verdicts do without

    tests: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    cells: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in claims:
        if one.p_value is not None:
            tests[*_run(one), one.role][one.id] = one.p_value
        if one.cell:
            cells[*_run(one), one.cell].append(one.id)
    for p_values in tests.values():
        adjusted = stats.false_discovery_control(list(p_values.values()))
        p_values.update(zip(p_values, map(float, adjusted), strict=True))
    return [
        _in_company(one, tests[*_run(one), one.role].get(one.id), cells[*_run(one), one.cell])
        for one in claims
    ]


def _in_company(claim: Claim, p_adjusted: float | None, of_cell: Sequence[str]) -> Claim:
    update: dict[str, object] = {"p_adjusted": p_adjusted}
    update["shared_with"] = tuple(name for name in of_cell if name != claim.id)
    if claim.verdict in DECIDED and p_adjusted is not None and p_adjusted > LARGEST_P:
        update["verdict"] = Verdict.UNDECIDED
        update["reason"] = (
            f"{claim.reason} Alone it would be {claim.verdict} (p = {claim.p_value:.2g}); among "
            f"all that was tested here it may be chance (adjusted p = {p_adjusted:.2g})."
        )
        update["repetitions_to_decide"] = _repetitions_to_stand(claim, p_adjusted)
    found = claim.model_copy(update=update)
    return found.model_copy(update={"reason": f"{found.reason}{_to_decide(found)}"})


def _to_decide(claim: Claim) -> str:
    """Say how many repetitions would decide an undecided claim."""
    needed = claim.repetitions_to_decide
    if claim.verdict != Verdict.UNDECIDED:
        return ""
    if needed:
        return f" Some {needed} repetitions would decide it."
    return (
        f" The number of repetitions that would decide it is above {MOST_REPETITIONS}, or cannot "
        "be estimated."
    )


def _repetitions_to_stand(claim: Claim, p_adjusted: float) -> int | None:
    """Estimate how many repetitions would let a verdict stand among the same number of tests.

    The estimate and its scatter are assumed to stay the same. So is the factor by which the
    adjustment multiplies the p-value.
    """
    from scipy import special

    count, p_value = claim.repetitions, claim.p_value
    if count is None or count < 2 or not p_value:
        return None
    errors = -special.stdtrit(count - 1, p_value / 2) / math.sqrt(count)
    for more in range(count + 1, MOST_REPETITIONS + 1):
        p_then = 2 * special.stdtr(more - 1, -errors * math.sqrt(more))
        if p_then * p_adjusted / p_value <= LARGEST_P:
            return more
    return None


def _run(claim: Claim) -> tuple[str, str, str, str]:
    return claim.study, claim.testbed, claim.machine, claim.preset
