"""How the claims of sections 2 and 3 are judged by what was measured.

A judging function takes a statement and the measured rows of one run. Claims at a point at which
the disk was calibrated say so: they show that it was done, and support nothing else.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ....analysis.intervals import Interval, mean_interval, ratio_interval
from ....analysis.models import LINEAR, WAIT_LAWS
from ....analysis.rivals import Comparison
from ....judging.claims import Judge
from ....judging.families import Statement
from ....judging.verdicts import Judgement, Verdict, compare, not_testable, widened
from ...kit.cells import by_repetition, paired_ratio
from ..measures.curves import compare_curves, curves_over_containers, knee_of
from ..measures.interference import (
    QUANTITIES,
    STUDY_DISK,
    at_utilization,
    by_load,
    over_repetitions,
    rises,
    waits,
)

KNEE_FROM = 0.7
"""Below this utilisation the paper calls the wait linear."""


def _endpoint(item: Statement, table: pd.DataFrame) -> Judgement:
    row = item.select
    count = int(row["containers"] if "containers" in row else row["normal_containers"])
    found = over_repetitions(by_load(table), count, QUANTITIES[row["quantity"]])
    if found is None:
        return _not_run(f"{count} equal containers")
    if row["quantity"] == "utilization_percent":
        found = found.map(lambda ratio: 100 * ratio)
    return _held(item, found, row["half_step"])


def _ratio_of_ends(item: Statement, table: pd.DataFrame) -> Judgement:
    loads, column = by_load(table), QUANTITIES[item.select["quantity"]]
    first, last = (by_repetition(loads, column, containers=count) for count in (1, 20))
    found = paired_ratio(first, last)
    if found is None:
        return _not_run("1 and 20 equal containers")
    published = item.select["first"] / item.select["last"]
    allowed = widened((published, published), item.tolerance)
    verdict, why = compare(found, (published, published), neutral=1, margin=0.01, allowed=allowed)
    reason = f"{found.text()}; published {published:.4g}: {why}. {calibrated(item)}"
    return Judgement(verdict, _digits(found.value), reason.strip())


def _held(item: Statement, found: Interval, half_step: float, unit: str = "") -> Judgement:
    """Hold a measured mean against a printed number: reproduced or contradicted."""
    value, tolerance = item.number, item.tolerance
    low, high = value - half_step, value + half_step
    allowed = widened((low, high), tolerance)
    verdict, why = compare(found, (low, high), neutral=value, margin=0, allowed=allowed)
    reason = f"{found.text(unit)}; published {value:g}: {why}. {calibrated(item)}"
    return Judgement(verdict, _digits(found.value), reason.strip())


def _curve(item: Statement, table: pd.DataFrame) -> Judgement:
    return _named_curve(item, curves_over_containers(by_load(table), item.select["quantity"]))


def _named_curve(item: Statement, found: Comparison | None) -> Judgement:
    """Judge a curve that the paper names by its R2 and by whether a rival beats it."""
    if found is None:
        return _not_run("enough different loads for a comparison of curves")
    name = item.select["curve"]
    row = found.table.set_index("model").loc[name]
    if name in found.supported():
        verdict = Verdict.REPRODUCED
    elif row["r2"] >= item.tolerance and item.select.get("exclusive") != "yes":
        verdict = Verdict.DIRECTION_ONLY
    else:
        verdict = Verdict.CONTRADICTED
    reason = f"{name}: R2 {row['r2']:.4f}, AICc {row['delta_aicc']:.3g} above the best. "
    return Judgement(verdict, found.best.model.name, reason + found.sentence)


def _wait_at(item: Statement, table: pd.DataFrame) -> Judgement:
    found = at_utilization(by_load(table), item.select["at_percent"] / 100)
    if found is None:
        return _not_run(f"loads on both sides of {item.select['at_percent']} % utilisation")
    if item.select["relation"] != "at least":
        return _held(item, found, item.select["half_step"], " ms")
    return _at_least(found, item.number)


def _at_least(found: Interval, bound: float) -> Judgement:
    if not found.bounded:
        verdict = Verdict.NOT_TESTABLE
    elif found.low >= bound:
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.CONTRADICTED if found.high < bound else Verdict.NOT_TESTABLE
    return Judgement(
        verdict, _digits(found.value), f"{found.text(' ms')}; published {bound:g} or more."
    )


def _knee(item: Statement, table: pd.DataFrame) -> Judgement:
    found = knee_of(by_load(table))
    if found is None:
        return _not_run("eight or more loads")
    low, high = 0.7, 0.8
    if low <= found.low and found.high <= high:
        verdict = Verdict.REPRODUCED
    elif found.high < low or found.low > high:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.DIRECTION_ONLY if low <= found.value <= high else Verdict.NOT_TESTABLE
    return Judgement(verdict, round(100 * found.value, 1), found.text())


def _linear_before_knee(item: Statement, table: pd.DataFrame) -> Judgement:
    loads = by_load(table)
    below = loads[loads["utilization_ratio"] < KNEE_FROM]
    item = item._replace(select={**item.select, "curve": LINEAR.name})
    return _named_curve(item, compare_curves(below, WAIT_LAWS, "utilization_ratio", "wait_ms"))


def _mm1(item: Statement, table: pd.DataFrame) -> Judgement:
    item = item._replace(select={**item.select, "curve": "M/M/1", "exclusive": "yes"})
    return _named_curve(
        item, compare_curves(by_load(table), WAIT_LAWS, "utilization_ratio", "wait_ms")
    )


# Section 3.2.4: beside an overloaded container


def _overload_wait(item: Statement, table: pd.DataFrame) -> Judgement:
    row, found = item.select, waits(table)
    here = (found["containers"] == row["normal_containers"]) & (
        found["overloaded"] == row["overloaded_containers"]
    )
    values = found.loc[here, f"{row['subject']}_ms"].dropna()
    if values.empty:
        return _not_run(row["row"])
    return _held(item, mean_interval(values), row["half_step"], " ms")


def _rise(item: Statement, table: pd.DataFrame) -> Judgement:
    row, found = item.select, rises(table)
    column = "rise_ms" if row["subject"] == "normal" else "overloaded_rise_ms"
    values = found.loc[found["containers"] == row["normal_containers"], column].dropna()
    if values.empty:
        return _not_run(row["row"])
    return _held(item, mean_interval(values), row["half_step"], " ms")


def _normal_suffers_more(item: Statement, table: pd.DataFrame) -> Judgement:
    found = rises(table).dropna()
    found = found[(found["rise_ms"] > 0) & (found["overloaded_rise_ms"] > 0)]
    if found.empty:
        return _not_run("an overloaded container alone and beside a normal one")
    sides = found[found["containers"] == found["containers"].min()].set_index("repetition")
    ratio = ratio_interval(sides["rise_ms"], sides["overloaded_rise_ms"])
    verdict, why = compare(ratio, (1.01, np.inf), neutral=1, margin=0.01)
    reason = f"dW normal / overloaded: {ratio.text()}; {why}."
    return Judgement(verdict, _digits(ratio.value), reason)


def _change(column: str, grows: bool) -> Judge:
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        found = rises(table).dropna(subset=[column])
        counts = sorted(found["containers"].unique())
        if len(counts) < 2:
            return _not_run("two or more numbers of normal containers beside an overloaded one")
        most, fewest = (
            by_repetition(found, column, containers=count) for count in (counts[-1], counts[0])
        )
        ratio = ratio_interval(most, fewest)
        tolerance = item.tolerance
        claimed = (1 + tolerance, np.inf) if grows else (1 / (1 + tolerance), 1 + tolerance)
        verdict, why = compare(ratio, claimed, neutral=1, margin=0.01)
        reason = (
            f"From {counts[0]:g} to {counts[-1]:g} normal containers: {ratio.text()} times; {why}."
        )
        return Judgement(verdict, _digits(ratio.value), reason)

    return judged


# Shared


def calibrated(item: Statement) -> str:
    """Say that a claim is about a point at which the disk was set; "" for all others."""
    formula = item.claim["formula"].lower()
    if "follows from the calibration" in formula:
        return "Follows from the calibration points: little evidence."
    return "Calibration point: no evidence." if "calibration point" in formula else ""


def _not_run(what: str) -> Judgement:
    return not_testable(f"Not run here: {what} on the disk {STUDY_DISK}.")


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


JUDGES: dict[str, Judge] = {
    "endpoint": _endpoint,
    "ratio_of_ends": _ratio_of_ends,
    "curve": _curve,
    "wait_at": _wait_at,
    "knee": _knee,
    "linear_before_knee": _linear_before_knee,
    "mm1": _mm1,
    "overload_wait": _overload_wait,
    "rise": _rise,
    "normal_suffers_more": _normal_suffers_more,
    "rise_changes_little": _change("rise_ms", grows=False),
    "system_rise_grows": _change("system_rise_ms", grows=True),
}
