"""The engine that judges the claims of every study: from a published number to a verdict.

The statements come from `families`; the functions that judge them are registered by the study, in
`studies/<study>/claims.py`, and follow the rules of `verdicts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..errors import ElevatorLabError
from . import multiple_testing
from .claim import PUBLISHED_DATA, UNMEASURED, Claim, Constant, Role
from .matching import runs
from .verdicts import Evidence, Judgement, Verdict, not_testable

if TYPE_CHECKING:
    import pandas as pd

    from .constants import DecidedBy
    from .families import Statement

Judge: TypeAlias = "Callable[[Statement, pd.DataFrame], Judgement]"


def judge(
    items: Sequence[Statement],
    judges: Mapping[str, Judge],
    measured: pd.DataFrame,
    decided_by: DecidedBy | None = None,
) -> list[Claim]:
    """Judge every statement: arithmetic of the document once, all others once for each run.

    Parameters
    ----------
    items : sequence of Statement
        From `families.statements`.
    judges : mapping
        The study's judging functions by name. Each call receives the rows of one run: one machine,
        one preset, and one scheduler of the physical disk below (see `matching.runs`).
    measured : pandas.DataFrame
        Tidy table; may be empty.
    decided_by : mapping, optional
        For each constant, the names of the judges that decide by it.

    Returns
    -------
    list of Claim
        In the order of the statements. Each statement gives at least one claim.

    Raises
    ------
    ValueError
        When a statement names a judge that is not among `judges`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame(columns=["testbed", "machine", "preset", "backing_scheduler"])
    >>> judge([], {}, table)
    []
    """
    unknown = {item.judge for item in items} - set(judges)
    if unknown:
        raise ValueError(f"expected judges {sorted(judges)}, found {sorted(unknown)} in the claims")
    nothing = measured.iloc[:0]
    document = [(PUBLISHED_DATA, "", "", nothing)]
    measurements = [(run.testbed, run.machine, run.preset, run.rows) for run in runs(measured)]
    measurements = measurements or [(UNMEASURED, "", "", nothing)]
    found = []
    for item in items:
        judged_on = document if item.role == Role.ARITHMETIC else measurements
        for testbed, machine, preset, rows in judged_on:
            if testbed == UNMEASURED:
                judgement = not_testable("Published data alone: nothing was measured.")
            else:
                judgement = judges[item.judge](item, rows)
            where = {"testbed": testbed, "machine": machine, "preset": preset}
            constants = (one for one, some in (decided_by or {}).items() if item.judge in some)
            found.append(_claim(item, judgement, where, tuple(constants)))
    return multiple_testing.adjust(_on_met_calibrations(found, items))


def _on_met_calibrations(found: Sequence[Claim], items: Iterable[Statement]) -> list[Claim]:
    """Make a claim not testable if the same run missed the calibration that it stands on.

    A claim that is contradicted by more than the calibration was missed by stays so: the disk would
    still contradict it if it had been set right.
    """
    stands_on = {item.claim["id"]: item.stands_on for item in items if item.stands_on}
    missed = {
        (one.id, one.where): one for one in found if one.verdict == Verdict.CALIBRATION_MISSED
    }
    judged = []
    for one in found:
        calibration = missed.get((stands_on.get(one.id, ""), one.where))
        explained = calibration and not _farther_off(one, calibration)
        judged.append(_without_calibration(one, stands_on[one.id]) if explained else one)
    return judged


def _farther_off(claim: Claim, calibration: Claim) -> bool:
    return claim.verdict == Verdict.CONTRADICTED and _factor_off(claim) > _factor_off(calibration)


def _factor_off(claim: Claim) -> float:
    """Return by which factor the estimate lies outside the published range, at least; 1: inside."""
    factors = [1.0]
    for one in claim.compared:
        low, high = one.published
        estimate = (one.value if one.low is None else one.low, one.high or one.value)
        if high and estimate[0] > high:
            factors.append(estimate[0] / high)
        if low and 0 < estimate[1] < low:
            factors.append(low / estimate[1])
    return max(factors)


def _without_calibration(claim: Claim, calibration: str) -> Claim:
    if claim.verdict == Verdict.NOT_TESTABLE:
        return claim
    name = calibration.removeprefix(f"{claim.study}/")
    ground = f"The calibration that this stands on was missed: {name}."
    update = {"verdict": Verdict.NOT_TESTABLE, "ground": ground, **Evidence()._asdict()}
    reason = f"{ground} {claim.reason}"
    return claim.model_copy(update={**update, "reason": reason, "compared": claim.compared})


def _claim(
    item: Statement,
    judgement: Judgement,
    where: Mapping[str, str],
    constants: tuple[Constant, ...],
) -> Claim:
    verdict, firmness = judgement.verdict, judgement.evidence
    if item.role == Role.CALIBRATION:  # a calibration tests nothing
        verdict = _OF_CALIBRATIONS.get(verdict, verdict)
        firmness = firmness._replace(p_value=None)
    ground = judgement.ground or judgement.reason
    return Claim(
        **where,
        **item.claim,
        **firmness._asdict(),
        measured=judgement.measured,
        verdict=verdict,
        reason=judgement.reason,
        relative_to=judgement.relative_to,
        ground=ground if verdict == Verdict.NOT_TESTABLE else "",
        cell=judgement.cell,
        reference_cell=judgement.reference_cell,
        constants=constants,
    )


_OF_CALIBRATIONS = {
    Verdict.REPRODUCED: Verdict.CALIBRATED,
    Verdict.DIRECTION_ONLY: Verdict.CALIBRATION_MISSED,
    Verdict.CONTRADICTED: Verdict.CALIBRATION_MISSED,
}


def expect_once(measured: pd.DataFrame, keys: Sequence[str], what: str) -> None:
    """Refuse a table in which two rows hold the same measurement.

    `keys`: Columns that tell one measurement from another. `what`: What a measurement is and how
    often it may occur: "each read once per repetition".
    """
    twice = measured[measured.duplicated(list(keys), keep=False)]
    if len(twice):
        raise ElevatorLabError(
            f"measured table: expected {what}; found {len(twice)} rows that share one (trials "
            f"{', '.join(sorted(set(twice['trial'])))}); keep the trials of one image and one set "
            "of parameters"
        )


def named_reason(item: Statement, _: pd.DataFrame) -> Judgement:
    """Judge a claim as not testable, for the reason that the claims file gives."""
    return not_testable(item.select["reason"])
