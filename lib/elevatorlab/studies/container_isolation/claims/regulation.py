"""How the claims of section 4 of the paper are judged: what the regulator does to whom.

The paper does not say which of its two algorithms drew Figures 8 and 9: each claim is judged with
both. *Before* are the seconds until the regulator began, *after* those from two control periods on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

import pandas as pd

from ....analysis.intervals import Interval, differ
from ....judging.claims import Judge
from ....judging.comparison import comparison
from ....judging.families import Statement
from ....judging.verdicts import (
    MOST_REPETITIONS,
    TIE_MARGIN,
    Evidence,
    Judgement,
    Verdict,
    bounded,
    compare,
    excluding,
    not_testable,
    repetitions_to_decide,
    reproduced_if,
    sentence,
    six_digits,
    undecided,
    widened,
    would_decide,
)
from ...kit.cells import mean_of
from ..measures.regulation import (
    PHASES,
    SETTLING_S,
    longest_wait_ms,
    of_trials,
    phase,
    rate_mb_s,
    seconds,
    totals,
    wait_ms,
)
from ..trials.containers import NORMAL, OVERLOADED


def _rate(item: Statement, table: pd.DataFrame) -> Judgement:
    before, after = _phases(item, table, OVERLOADED, rate_mb_s)
    if before is None or after is None:
        return _not_run(item)
    if item.select["phase"] == "before":
        return _about(item, before, neutral=0)
    return _about(item, after, neutral=before.value)


def _wait(item: Statement, table: pd.DataFrame) -> Judgement:
    before, after = _phases(item, table, NORMAL, wait_ms)
    if before is None or after is None:
        return _not_run(item)
    if item.select["phase"] == "before":
        return _about(item, before, neutral=0)
    return _below(item, after, before)


def _longest_wait(item: Statement, table: pd.DataFrame) -> Judgement:
    before, _ = _phases(item, table, NORMAL, longest_wait_ms)
    if before is None:
        return _not_run(item)
    limit = item.number
    verdict, why, evidence = compare(before, (limit, math.inf), neutral=limit, margin=0)
    reason = (
        f"{before.text(' ms')}, the longest mean wait of one container in one second; published "
        f"above {limit:g} ms: {why}."
    )
    return Judgement(verdict, _rounded(before), reason, evidence)


def _immediately(item: Statement, table: pd.DataFrame) -> Judgement:
    rows = totals(table, "regulation", mechanism=item.select["policy"])
    found = of_trials(rows, "recovery_s")
    if found is None:
        return _not_run(item)
    verdict, why, evidence = bounded(found, (-math.inf, SETTLING_S), neutral=SETTLING_S)
    reason = (
        f"It took {found.not_negative().text(' s')} until no normal container waited longer than "
        f"{rows['sla_wait_ms'].iloc[0]:g} ms. Two control periods ({SETTLING_S} s) are allowed. "
        f"{sentence(why)}."
    )
    return Judgement(verdict, _rounded(found), reason, evidence)


def _normal_rate_rises(item: Statement, table: pd.DataFrame) -> Judgement:
    before, after = _phases(item, table, NORMAL, rate_mb_s)
    if before is None or after is None:
        return _not_run(item)
    return _changed(after, before, claimed=1, unit=" MB/s")


def _utilisation_falls(item: Statement, table: pd.DataFrame) -> Judgement:
    rows = seconds(table, "regulation", mechanism=item.select["policy"])
    if rows.empty:
        return _not_run(item)
    rows = rows.assign(busy=_busy(rows))
    before, after = (
        mean_of(phase(rows, name).groupby("repetition")["busy"].mean()) for name in PHASES
    )
    if before is None or after is None:
        return _not_run(item)
    return _changed(after, before, claimed=-1, unit="")


# Shared


def _busy(rows: pd.DataFrame) -> pd.Series[float]:
    """Return the share of each second in which a container had a write in flight."""
    return (rows["requests"] * rows["latency_mean_ms"] / 1e3 / rows["duration_s"]).clip(upper=1)


def _phases(
    item: Statement,
    table: pd.DataFrame,
    role: str,
    measure: Callable[[pd.DataFrame], Interval | None],
) -> list[Interval | None]:
    """Return a measure of the containers of a role, before and after."""
    rows = seconds(table, "regulation", mechanism=item.select["policy"], role=role)
    return [measure(phase(rows, name)) for name in PHASES]


def _about(item: Statement, measured: Interval, neutral: float) -> Judgement:
    half_step = item.select["half_step"]
    low, high = item.number - half_step, item.number + half_step
    allowed = widened((low, high), item.tolerance)
    verdict, why, evidence = compare(
        measured,
        (low, high),
        neutral=neutral,
        margin=TIE_MARGIN,
        allowed=allowed,
    )
    reason = (
        f"{measured.text()}; allowed {allowed[0]:.3g} to {allowed[1]:.3g} {item.claim['unit']}: "
        f"{why}."
    )
    return Judgement(verdict, _rounded(measured), reason, evidence)


def _below(item: Statement, after: Interval, before: Interval) -> Judgement:
    """Judge "drops below": the limit, or at least the way there."""
    found = _fallen_below(item.number, after, before)
    return _drawn(found, after, before, (-math.inf, item.number))


def _fallen_below(limit: float, after: Interval, before: Interval) -> Judgement:
    reason = f"{before.text(' ms')} before, {after.text(' ms')} after; the limit is {limit:g} ms"
    if not (after.bounded and before.bounded):
        return undecided(f"{reason}: one repetition.", _rounded(after))
    if after.high >= before.low:
        return _moved(after, before, claimed=-1, unit=" ms")
    if after.high < limit:
        evidence = excluding(after, (limit,))
        return Judgement(Verdict.REPRODUCED, _rounded(after), f"{reason}.", evidence)
    if after.low > limit:
        reason += ": the wait falls, but not below the limit."
        evidence = excluding(after, (limit,))
        return Judgement(Verdict.DIRECTION_ONLY, _rounded(after), reason, evidence)
    needed = repetitions_to_decide(after, lambda one: one.high < limit or one.low > limit)
    reason += f": the wait falls, perhaps below the limit{would_decide(needed)}."
    return Judgement(Verdict.UNDECIDED, _rounded(after), reason, Evidence(1.0, needed))


def _changed(after: Interval, before: Interval, claimed: int, unit: str) -> Judgement:
    """Judge "rises" (`claimed` is 1) or "falls" (-1)."""
    side = (before.value, math.inf) if claimed > 0 else (-math.inf, before.value)
    return _drawn(_moved(after, before, claimed, unit), after, before, side)


def _drawn(
    found: Judgement, after: Interval, before: Interval, claimed: tuple[float, float]
) -> Judgement:
    """Add what a picture shows: the value after beside the claimed range and the value before."""
    shown = (comparison(after, claimed, claimed, before.value),)
    return found._replace(evidence=found.evidence._replace(compared=shown))


def _moved(after: Interval, before: Interval, claimed: int, unit: str) -> Judgement:
    reason = f"{before.text(unit)} before, {after.text(unit)} after"
    if not (after.bounded and before.bounded):
        return undecided(f"{reason}: one repetition.", _rounded(after))
    side = _apart(after, before)
    if side == 0:
        more = range(max(after.repetitions, before.repetitions) + 1, MOST_REPETITIONS + 1)
        narrower = ((n, after.with_repetitions(n), before.with_repetitions(n)) for n in more)
        needed = next((n for n, one, other in narrower if _apart(one, other)), None)
        return undecided(f"{reason}: the repetitions do not decide it.", _rounded(after), needed)
    verdict = reproduced_if(side == claimed)
    repetitions = min(after.repetitions, before.repetitions)
    evidence = Evidence(differ(after, before), repetitions=repetitions)
    return Judgement(verdict, _rounded(after), f"{reason}.", evidence)


def _apart(one: Interval, other: Interval) -> int:
    """Return on which side of another an interval lies; 0: they overlap."""
    return 1 if one.low > other.high else -1 if one.high < other.low else 0


def _rounded(measured: Interval) -> float:
    return six_digits(measured.value)


def _not_run(item: Statement) -> Judgement:
    return not_testable(
        f"Policy {item.select['policy']} was not run here in experiment regulation."
    )


def _of_policy(judge: Judge) -> Judge:
    """Name what was measured: all claims about a policy rest on the same trials."""

    @wraps(judge)
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        found = judge(item, table)
        if found.verdict == Verdict.NOT_TESTABLE:
            return found
        return found._replace(cell=f"regulation by {item.select['policy']}")

    return judged


JUDGES = {
    name: _of_policy(judge)
    for name, judge in {
        "regulation_rate": _rate,
        "regulation_wait": _wait,
        "regulation_longest_wait": _longest_wait,
        "regulation_immediately": _immediately,
        "regulation_normal_rate_rises": _normal_rate_rises,
        "regulation_utilisation_falls": _utilisation_falls,
    }.items()
}
