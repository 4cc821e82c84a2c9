"""How the claims of sections 2 and 3 are judged by what was measured.

A judging function takes a statement and the measured rows of one run.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ....analysis.intervals import Interval
from ....analysis.models import EXPONENTIAL, LINEAR, WAIT_LAWS
from ....analysis.rivals import ModelComparison
from ....judging.claims import Judge
from ....judging.families import Statement
from ....judging.verdicts import (
    TIE_MARGIN,
    Judgement,
    Verdict,
    compare,
    not_testable,
    widened,
)
from ...kit.cells import by_repetition, paired_ratio
from ..measures.curves import compare_curves, curves_over_containers, knee_of
from ..measures.interference import (
    QUANTITIES,
    STUDY_DISK,
    at_utilization,
    by_load,
    over_repetitions,
)

BUILT = (
    "The paper measured a real disk. This one is built as a closed server, and that decides which "
    "curve fits. To rank curves gives no p-value."
)
"""Remark on each claim about a curve of equal containers; see data/claims."""

KNEE_FROM, KNEE_TO = 0.7, 0.8
"""The paper calls the wait linear below the first utilisation, and exponential above the second."""


def _endpoint(item: Statement, table: pd.DataFrame) -> Judgement:
    row = item.select
    count = int(row["containers"] if "containers" in row else row["normal_containers"])
    found = over_repetitions(by_load(table), count, QUANTITIES[row["quantity"]])
    if found is None:
        return not_run(f"{count} equal containers")
    if row["quantity"] == "utilization_percent":
        found = found.map(lambda ratio: 100 * ratio)
    return held(item, found, row["half_step"], cell=f"{count} equal containers")


def _ratio_of_ends(item: Statement, table: pd.DataFrame) -> Judgement:
    loads, column = by_load(table), QUANTITIES[item.select["quantity"]]
    first, last = (by_repetition(loads, column, containers=count) for count in (1, 20))
    found = paired_ratio(first, last)
    if found is None:
        return not_run("1 and 20 equal containers")
    published = item.select["first"] / item.select["last"]
    allowed = widened((published, published), item.tolerance)
    verdict, why, evidence = compare(
        found, (published, published), neutral=1, margin=TIE_MARGIN, allowed=allowed
    )
    reason = f"{found.text()}; published {published:.4g}: {why}."
    return Judgement(verdict, four_digits(found.value), reason, evidence)


def held(
    item: Statement, found: Interval, half_step: float, unit: str = "", cell: str = ""
) -> Judgement:
    """Compare a measured mean with a printed number."""
    value, tolerance = item.number, item.tolerance
    low, high = value - half_step, value + half_step
    allowed = widened((low, high), tolerance)
    verdict, why, evidence = compare(found, (low, high), neutral=value, margin=0, allowed=allowed)
    reason = f"{found.text(unit)}; published {value:g}: {why}."
    return Judgement(verdict, four_digits(found.value), reason, evidence, cell)


def _curve(item: Statement, table: pd.DataFrame) -> Judgement:
    return _named_curve(item, curves_over_containers(by_load(table), item.select["quantity"]))


def _linear_without_scheduling(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge "not linear due to kernel scheduling": is it linear with the scheduler none?"""
    unscheduled = table[table["scheduler"] == "none"]
    found = _curve(item, unscheduled)
    return found._replace(reason=f"{found.reason} Scheduler of the disk: none.")


def _named_curve(item: Statement, found: ModelComparison | None) -> Judgement:
    """Judge a curve that the paper names, by its R2 and by its rivals.

    A curve with an R2 below the threshold is contradicted, even if it beats its rivals. If the
    loads cannot tell it from its best rival, the claim is undecided. If a rival beats it, the
    verdict is direction only, or contradicted where the claim is exclusive.
    """
    if found is None:
        return not_run("enough different loads for a comparison of curves")
    name = item.select["curve"]
    row = found.table.set_index("model").loc[name]
    describes, supported = row["r2"] >= item.threshold, found.supported()
    if describes and supported == [name]:
        verdict = Verdict.REPRODUCED
    elif describes and name in supported:
        verdict = Verdict.UNDECIDED
    elif describes and item.select.get("exclusive") != "yes":
        verdict = Verdict.DIRECTION_ONLY
    else:
        verdict = Verdict.CONTRADICTED
    reason = f"{name}: R2 {row['r2']:.4f}, AICc {row['delta_aicc']:.3g} above the best. "
    return Judgement(verdict, found.best.model.name, f"{reason}{found.sentence} {BUILT}")


def _wait_at(item: Statement, table: pd.DataFrame) -> Judgement:
    found = at_utilization(by_load(table), item.select["at_percent"] / 100)
    if found is None:
        return not_run(f"loads on both sides of {item.select['at_percent']} % utilisation")
    if item.select["relation"] != "at least":
        return held(item, found, item.select["half_step"], " ms")
    return _at_least(found, item.number)


def _at_least(found: Interval, bound: float) -> Judgement:
    verdict, why, evidence = compare(found, (bound, np.inf), neutral=bound, margin=0)
    reason = f"{found.text(' ms')}; published {bound:g} or more: {why}."
    return Judgement(verdict, four_digits(found.value), reason, evidence)


def _knee(item: Statement, table: pd.DataFrame) -> Judgement:
    found = knee_of(by_load(table))
    if found is None:
        return not_run("eight or more loads")
    low, high = KNEE_FROM, KNEE_TO
    if low <= found.low and found.high <= high:
        verdict = Verdict.REPRODUCED
    elif found.high < low or found.low > high:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.UNDECIDED
    return Judgement(verdict, round(100 * found.value, 1), f"{found.text()} {BUILT}")


def _linear_before_knee(item: Statement, table: pd.DataFrame) -> Judgement:
    loads = by_load(table)
    return _wait_law(item, loads[loads["utilization_ratio"] < KNEE_FROM], LINEAR.name)


def _exponential_above_knee(item: Statement, table: pd.DataFrame) -> Judgement:
    loads = by_load(table)
    return _wait_law(item, loads[loads["utilization_ratio"] > KNEE_TO], EXPONENTIAL.name)


def _wait_law(item: Statement, loads: pd.DataFrame, curve: str) -> Judgement:
    item = item._replace(select={**item.select, "curve": curve})
    return _named_curve(item, compare_curves(loads, WAIT_LAWS, "utilization_ratio", "wait_ms"))


def _mm1(item: Statement, table: pd.DataFrame) -> Judgement:
    item = item._replace(select={**item.select, "curve": "M/M/1", "exclusive": "yes"})
    return _named_curve(
        item, compare_curves(by_load(table), WAIT_LAWS, "utilization_ratio", "wait_ms")
    )


# Shared


def not_run(what: str) -> Judgement:
    """Judge a claim as not testable, because `what` was not measured on the study's disk."""
    return not_testable(f"Not run here: {what} on the disk {STUDY_DISK}.")


def four_digits(value: float) -> float:
    """Return the value rounded to four significant digits."""
    return float(f"{value:.4g}")


JUDGES: dict[str, Judge] = {
    "endpoint": _endpoint,
    "ratio_of_ends": _ratio_of_ends,
    "curve": _curve,
    "linear_without_scheduling": _linear_without_scheduling,
    "wait_at": _wait_at,
    "knee": _knee,
    "linear_before_knee": _linear_before_knee,
    "exponential_above_knee": _exponential_above_knee,
    "mm1": _mm1,
}
