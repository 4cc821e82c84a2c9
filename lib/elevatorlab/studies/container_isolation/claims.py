"""Every number and sentence of the paper with its verdict; see data/claims/.

A judging function takes a statement and the measured rows of one run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date
from functools import wraps

import numpy as np
import pandas as pd

from ...analysis.intervals import Interval, differ, mean_interval, ratio_interval
from ...analysis.models import EXPONENTIAL, LINEAR, WAIT_LAWS
from ...analysis.rivals import INDISTINGUISHABLE, ModelComparison
from ...judging import engine
from ...judging.claim import Claim, Constant, Role
from ...judging.comparison import comparison
from ...judging.constants import TIES, DecidedBy
from ...judging.engine import Judge
from ...judging.families import Statement, statements
from ...judging.verdicts import (
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
    together,
    undecided,
    widened,
)
from ..kit.cells import by_repetition, mean_of, paired_ratio
from ..kit.choices import Choice, whichever
from . import document
from .columns import CALM_PERIODS, PERIOD_S, TABLE
from .measures import (
    FEWEST_PLACES,
    PHASES,
    QUANTITIES,
    SETTLING_S,
    STUDY_DISK,
    WIDEST_GAP,
    at_utilization,
    by_load,
    by_scheduler,
    compare_curves,
    curves_over_containers,
    knee_of,
    longest_p99_ms,
    longest_wait_ms,
    of_first_scheduler,
    of_trials,
    over_repetitions,
    overload_settings,
    phase,
    rate_mb_s,
    rises,
    seconds,
    totals,
    wait_ms,
    waits,
)
from .published import NAME
from .trials_containers import (
    BY_HAND,
    NORMAL,
    OVERLOAD_BYTES,
    OVERLOADED,
    PAPERS_SCHEDULERS,
    READINGS,
    WRITERS,
    service_ms,
)

# The numbers in this study's code on which verdicts of its claims depend.

_CURVES = (
    *("curve", "linear_without_scheduling", "linear_before_knee", "exponential_above_knee"),
    "mm1",
)
_CHANGES = ("rise_changes_little", "system_rise_grows")
_AFTER = (
    *("regulation_rate", "regulation_wait", "regulation_longest_wait"),
    *("regulation_normal_rate_rises", "regulation_utilisation_falls"),
)

CALIBRATED = 0.05
"""Largest difference, as a share, of a calibration point from the published value."""

_DECIDED_BY: DecidedBy = {
    TIES: ("ratio_of_ends", "normal_suffers_more", *_CHANGES, "regulation_rate", "regulation_wait"),
    Constant(
        name="INDISTINGUISHABLE",
        value=INDISTINGUISHABLE,
        of="of AICc: curves that differ by less are not told apart",
        reason="Burnham, Anderson and Huyvaert 2011: such a rival should rarely be dismissed",
        fixed=date(2026, 11, 27),
    ): _CURVES,
    Constant(
        name="FEWEST_PLACES",
        value=FEWEST_PLACES,
        of="different loads at least",
        reason="fewer do not tell the shapes of curves apart",
        fixed=date(2026, 11, 21),
    ): _CURVES,
    Constant(
        name="WIDEST_GAP",
        value=WIDEST_GAP,
        of="of utilisation at most between the neighbouring loads",
        reason="the wait bends too much for a line across a wider gap",
        fixed=date(2026, 11, 21),
    ): ("wait_at",),
    Constant(
        name="CALIBRATED",
        value=CALIBRATED,
        of="of the published wait is the most by which an overload alone may differ from it",
        reason="as a claim about a calibration point has; another overload is not the paper's",
        fixed=date(2026, 11, 29),
    ): ("overload_wait", "rise", "normal_suffers_more", *_CHANGES),
    Constant(
        name="PERIOD_S",
        value=PERIOD_S,
        of="s is a control period, of which each has a mean",
        reason="the regulator's own period, so that a mean belongs to one decision",
        fixed=date(2026, 11, 21),
    ): (*_AFTER, "regulation_immediately"),
    Constant(
        name="SETTLING_S",
        value=SETTLING_S,
        of="s at most until the regulator is done; what follows is called after",
        reason="one control period to see the overload, and one to see what the limit did",
        fixed=date(2026, 11, 21),
    ): (*_AFTER, "regulation_immediately"),
    Constant(
        name="CALM_PERIODS",
        value=CALM_PERIODS,
        of="control periods without a violation end one",
        reason="a calm period between two violated ones ends nothing",
        fixed=date(2026, 11, 21),
    ): ("regulation_immediately",),
}


# Sections 2 and 3: equal containers.

_BUILT = (
    "The paper measured a real disk. This one is built as a closed server, and that decides which "
    "curve fits. A ranking of curves has no p-value."
)
"""Remark on each claim about a curve of equal containers; see data/claims."""

_KNEE_FROM, _KNEE_TO = 0.7, 0.8
"""The paper calls the wait linear below the first utilisation, and exponential above the second."""


def _endpoint(item: Statement, table: pd.DataFrame) -> Judgement:
    row = item.select
    count = int(row["containers"] if "containers" in row else row["normal_containers"])
    found = over_repetitions(by_load(table), count, QUANTITIES[row["quantity"]])
    if found is None:
        return _not_run(f"{count} equal containers")
    if row["quantity"] == "utilization_percent":
        found = found.map(lambda ratio: 100 * ratio)
    return _held(item, found, row["half_step"], cell=f"{count} equal containers")


def _ratio_of_ends(item: Statement, table: pd.DataFrame) -> Judgement:
    loads, column = by_load(table), QUANTITIES[item.select["quantity"]]
    first, last = (by_repetition(loads, column, containers=count) for count in (1, 20))
    found = paired_ratio(first, last)
    if found is None:
        return _not_run("1 and 20 equal containers")
    published = item.select["first"] / item.select["last"]
    allowed = widened((published, published), item.tolerance)
    verdict, why, evidence = compare(
        found, (published, published), neutral=1, margin=TIE_MARGIN, allowed=allowed
    )
    reason = f"{found.text()}; published {published:.4g}: {why}."
    return Judgement(verdict, _four_digits(found.value), reason, evidence)


def _held(
    item: Statement, found: Interval, half_step: float, unit: str = "", cell: str = ""
) -> Judgement:
    """Compare a measured mean with a printed number."""
    value, tolerance = item.number, item.tolerance
    low, high = value - half_step, value + half_step
    allowed = widened((low, high), tolerance)
    verdict, why, evidence = compare(found, (low, high), neutral=value, margin=0, allowed=allowed)
    reason = f"{found.text(unit)}; published {value:g}: {why}."
    return Judgement(verdict, _four_digits(found.value), reason, evidence, cell)


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
        return _not_run("enough different loads for a comparison of curves")
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
    return Judgement(verdict, found.best.model.name, f"{reason}{found.sentence} {_BUILT}")


def _wait_at(item: Statement, table: pd.DataFrame) -> Judgement:
    found = at_utilization(by_load(table), item.select["at_percent"] / 100)
    if found is None:
        return _not_run(f"loads on both sides of {item.select['at_percent']} % utilisation")
    return _held(item, found, item.select["half_step"], " ms")


def _wait_with(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge "this wait or more" at the number of containers for which it is said."""
    count = item.select["containers"]
    found = over_repetitions(by_load(table), count, "wait_ms")
    if found is None:
        return _not_run(f"{count} equal containers")
    bound = item.number
    verdict, why, evidence = compare(found, (bound, np.inf), neutral=bound, margin=0)
    reason = f"{found.text(' ms')}; published {bound:g} or more: {why}."
    cell = f"{count} equal containers"
    return Judgement(verdict, _four_digits(found.value), reason, evidence, cell)


def _knee(item: Statement, table: pd.DataFrame) -> Judgement:
    found = knee_of(by_load(table))
    if found is None:
        return _not_run("eight or more loads")
    low, high = _KNEE_FROM, _KNEE_TO
    if low <= found.low and found.high <= high:
        verdict = Verdict.REPRODUCED
    elif found.high < low or found.low > high:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.UNDECIDED
    return Judgement(verdict, round(100 * found.value, 1), f"{found.text()} {_BUILT}")


def _linear_before_knee(item: Statement, table: pd.DataFrame) -> Judgement:
    loads = by_load(table)
    return _wait_law(item, loads[loads["utilization_ratio"] < _KNEE_FROM], LINEAR.name)


def _exponential_above_knee(item: Statement, table: pd.DataFrame) -> Judgement:
    loads = by_load(table)
    return _wait_law(item, loads[loads["utilization_ratio"] > _KNEE_TO], EXPONENTIAL.name)


def _wait_law(item: Statement, loads: pd.DataFrame, curve: str) -> Judgement:
    item = item._replace(select={**item.select, "curve": curve})
    return _named_curve(item, compare_curves(loads, WAIT_LAWS, "utilization_ratio", "wait_ms"))


def _mm1(item: Statement, table: pd.DataFrame) -> Judgement:
    item = item._replace(select={**item.select, "curve": "M/M/1", "exclusive": "yes"})
    return _named_curve(
        item, compare_curves(by_load(table), WAIT_LAWS, "utilization_ratio", "wait_ms")
    )


def _not_run(what: str) -> Judgement:
    """Judge a claim as not testable, because `what` was not measured on the study's disk."""
    return not_testable(f"Not run here: {what} on the disk {STUDY_DISK}.")


def _four_digits(value: float) -> float:
    """Return the value rounded to four significant digits."""
    return float(f"{value:.4g}")


# Section 3.2.4: what an overloaded container does to the others. The paper does not say how many
# writers overload the disk, nor how large their writes are. It does say how long they wait alone.
# So for each number of writers, only one service time is possible, and on this disk only one size
# of a write (`overload_bytes`). Nor does it name the disk's scheduler. Each claim is judged with
# every number of writers and every scheduler. Two or three writers under cfq are no possibility:
# they wait longer than the paper says even if they write single sectors
# (tests/machine/test_isolation_interference.py).

_OVERLOAD = Choice(
    "The paper does not say how many writers overload the disk, nor which scheduler of its kernel "
    "(noop, deadline or cfq) it has",
    "setting",
)


def _whatever_overloads(judge: Judge) -> Judge:
    """Let a claim be judged with each scheduler of the paper's kernel and number of writers."""

    @wraps(judge)
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        papers = table[table["scheduler"].isin(PAPERS_SCHEDULERS)]
        if papers.empty:
            return not_testable("None of the schedulers of the paper's kernel ran here.")
        settings = overload_settings(papers)
        found = {words: judge(item, rows) for words, rows in settings.items()}
        if item.role == Role.CALIBRATION:
            return next(iter(found.values()))
        others = [words for words, rows in settings.items() if not _waits_as_published(rows)]
        of_paper = {words: one for words, one in found.items() if words not in others}
        if not of_paper:
            return not_testable("No overload here waits alone as long as the paper says.")
        return whichever(of_paper, _OVERLOAD, len(PAPERS_SCHEDULERS) * len(WRITERS) - len(others))

    return judged


def _waits_as_published(table: pd.DataFrame) -> bool:
    """Return whether the overloaded container, where it ran alone, waits as long as published.

    The disk's time for its write is set from that: 4.7 ms (section 3.2.4).
    """
    found = waits(table)
    alone = found.loc[(found["containers"] == 0) & (found["overloaded"] == 1), "overloaded_ms"]
    return alone.empty or abs(alone.mean() / service_ms(OVERLOAD_BYTES) - 1) <= CALIBRATED


def _overload_wait(item: Statement, table: pd.DataFrame) -> Judgement:
    row, found = item.select, waits(table)
    here = (found["containers"] == row["normal_containers"]) & (
        found["overloaded"] == row["overloaded_containers"]
    )
    values = found.loc[here, f"{row['subject']}_ms"].dropna()
    if values.empty:
        return _not_run(row["row"])
    cell = _beside(row["normal_containers"], row["overloaded_containers"])
    return _held(item, mean_interval(values), row["half_step"], " ms", cell)


def _beside(normal: float, overloaded: float) -> str:
    """Name the measured cell; claims that rest on the same cell get the same name."""
    if not overloaded:
        return f"{normal:g} equal containers"
    return f"{normal:g} normal beside {overloaded:g} overloaded containers"


def _rise(item: Statement, table: pd.DataFrame) -> Judgement:
    row, found = item.select, rises(table)
    column = "rise_ms" if row["subject"] == "normal" else "overloaded_rise_ms"
    values = found.loc[found["containers"] == row["normal_containers"], column].dropna()
    if values.empty:
        return _not_run(row["row"])
    cell = _beside(row["normal_containers"], 1)
    return _held(item, mean_interval(values), row["half_step"], " ms", cell)


def _normal_suffers_more(item: Statement, table: pd.DataFrame) -> Judgement:
    found = rises(table).dropna()
    found = found[(found["rise_ms"] > 0) & (found["overloaded_rise_ms"] > 0)]
    if found.empty:
        return _not_run("an overloaded container alone and beside a normal one")
    sides = found[found["containers"] == found["containers"].min()].set_index("repetition")
    ratio = ratio_interval(sides["rise_ms"], sides["overloaded_rise_ms"])
    verdict, why, evidence = compare(ratio, (1 + TIE_MARGIN, np.inf), neutral=1, margin=0)
    reason = f"dW normal / overloaded: {ratio.text()}; {why}."
    return Judgement(verdict, _four_digits(ratio.value), reason, evidence)


def _change(columns: Sequence[str], grows: bool) -> Judge:
    """Judge how rises change with the number of normal containers; each column must hold."""

    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        found = rises(table).dropna(subset=columns)
        counts = sorted(found["containers"].unique())
        if len(counts) < 2:
            return _not_run("two or more numbers of normal containers beside an overloaded one")
        if (found[columns] <= 0).any(axis=None):
            return not_testable("Some containers wait less beside the overload: no ratio of rises.")
        change = 1 + item.threshold
        claimed = (change, np.inf) if grows else (1 / change, change)
        ratios, held = [], []
        for column in columns:
            most, fewest = (
                by_repetition(found, column, containers=count) for count in (counts[-1], counts[0])
            )
            ratios.append(ratio_interval(most, fewest))
            held.append(compare(ratios[-1], claimed, neutral=1, margin=TIE_MARGIN))
        verdict, evidence = together(held)
        each = "; ".join(
            f"{_RISES[column]}: {ratio.text()} times, {one.why}"
            for column, ratio, one in zip(columns, ratios, held, strict=True)
        )
        reason = f"From {counts[0]:g} to {counts[-1]:g} normal containers: {each}."
        farthest = max(ratios, key=lambda ratio: abs(math.log(ratio.value)))
        return Judgement(verdict, _four_digits(farthest.value), reason, evidence)

    return judged


_RISES = {
    "rise_ms": "the rise of a normal container",
    "overloaded_rise_ms": "of the overloaded one",
    "system_rise_ms": "the sum of all rises",
}


# Section 4: what a limit on the overloaded container does to whom. The paper set it by hand for
# Figures 8 and 9 (``io_max``). It shows no run of its two algorithms, so each claim is judged with
# both, too, beyond the document. *Before* are the seconds until the limit or the regulator began,
# *after* those from two control periods on.


def _rate(item: Statement, table: pd.DataFrame) -> Judgement:
    before, after = _phases(item, table, OVERLOADED, rate_mb_s)
    if before is None or after is None:
        return _policy_not_run(item)
    return _about(item, after, neutral=before.value)


def _wait(item: Statement, table: pd.DataFrame) -> Judgement:
    before, after = _phases(item, table, NORMAL, wait_ms)
    if before is None or after is None:
        return _policy_not_run(item)
    if item.select["phase"] == "before":
        return _about(item, before, neutral=0)
    found = _fallen_below(item.number, after, before)
    return _drawn(found, after, before, (-math.inf, item.number))


def _longest_wait(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge "the maximum has exceeded 20Ms": of means of a second, and of single waits."""
    means, single = (
        _phases(item, table, NORMAL, measure)[0] for measure in (longest_wait_ms, longest_p99_ms)
    )
    if means is None or single is None:
        return _policy_not_run(item)
    above = (item.number, math.inf)
    held = [bounded(one, above, neutral=item.number) for one in (means, single)]
    reason = (
        f"The longest mean wait of one container in one second is {means.text(' ms')}, the longest "
        f"99th percentile {single.text(' ms')}; published above {item.number:g} ms."
    )
    if held[0].verdict != held[1].verdict:
        ground = "The paper does not say whether its maximum is one of single waits or of means."
        return not_testable(ground, reason)._replace(measured=six_digits(means.value))
    verdict, why, evidence = held[0]
    return Judgement(verdict, six_digits(means.value), f"{reason} {sentence(why)}.", evidence)


def _immediately(item: Statement, table: pd.DataFrame) -> Judgement:
    rows = totals(table, "regulation", mechanism=item.select["policy"])
    found = of_trials(rows, "recovery_s")
    if found is None:
        return _policy_not_run(item)
    verdict, why, evidence = bounded(found, (-math.inf, SETTLING_S), neutral=SETTLING_S)
    reason = (
        f"It took {found.not_negative().text(' s')} until no normal container waited longer than "
        f"{rows['sla_wait_ms'].iloc[0]:g} ms. At most {SETTLING_S} s are allowed. "
        f"{sentence(why)}."
    )
    return Judgement(verdict, six_digits(found.value), reason, evidence)


def _normal_rate_rises(item: Statement, table: pd.DataFrame) -> Judgement:
    before, after = _phases(item, table, NORMAL, rate_mb_s)
    if before is None or after is None:
        return _policy_not_run(item)
    return _changed(after, before, claimed=1, unit=" MB/s")


def _utilisation_falls(item: Statement, table: pd.DataFrame) -> Judgement:
    rows = seconds(table, "regulation", mechanism=item.select["policy"])
    if rows.empty:
        return _policy_not_run(item)
    # The share of each second in which a container had a write in flight.
    busy = rows["requests"] * rows["latency_mean_ms"] / 1e3 / rows["duration_s"]
    rows = rows.assign(busy=busy.clip(upper=1))
    before, after = (
        mean_of(phase(rows, name).groupby("repetition")["busy"].mean()) for name in PHASES
    )
    if before is None or after is None:
        return _policy_not_run(item)
    return _changed(after, before, claimed=-1, unit="")


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
        measured, (low, high), neutral=neutral, margin=TIE_MARGIN, allowed=allowed
    )
    reason = (
        f"{measured.text()}; allowed {allowed[0]:.3g} to {allowed[1]:.3g} {item.claim['unit']}: "
        f"{why}."
    )
    return Judgement(verdict, six_digits(measured.value), reason, evidence)


def _fallen_below(limit: float, after: Interval, before: Interval) -> Judgement:
    """Judge "drops below": the limit, or at least the way there."""
    reason = f"{before.text(' ms')} before, {after.text(' ms')} after; the limit is {limit:g} ms"
    if not (after.bounded and before.bounded):
        return undecided(f"{reason}: one repetition.", six_digits(after.value))
    if after.high >= before.low:
        return _moved(after, before, claimed=-1, unit=" ms")
    if after.high < limit:
        evidence = excluding(after, (limit,))
        return Judgement(Verdict.REPRODUCED, six_digits(after.value), f"{reason}.", evidence)
    if after.low > limit:
        reason += ": the wait falls, but not below the limit."
        evidence = excluding(after, (limit,))
        return Judgement(Verdict.DIRECTION_ONLY, six_digits(after.value), reason, evidence)
    needed = repetitions_to_decide(after, lambda one: one.high < limit or one.low > limit)
    reason += ": the wait falls, perhaps below the limit."
    return Judgement(Verdict.UNDECIDED, six_digits(after.value), reason, Evidence(1.0, needed))


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
        return undecided(f"{reason}: one repetition.", six_digits(after.value))
    side = _apart(after, before)
    if side == 0:
        more = range(max(after.repetitions, before.repetitions) + 1, MOST_REPETITIONS + 1)
        narrower = ((n, after.with_repetitions(n), before.with_repetitions(n)) for n in more)
        needed = next((n for n, one, other in narrower if _apart(one, other)), None)
        return undecided(
            f"{reason}: the repetitions do not decide it.", six_digits(after.value), needed
        )
    verdict = reproduced_if(side == claimed)
    repetitions = min(after.repetitions, before.repetitions)
    evidence = Evidence(differ(after, before), repetitions=repetitions)
    return Judgement(verdict, six_digits(after.value), f"{reason}.", evidence)


def _apart(one: Interval, other: Interval) -> int:
    """Return on which side of another an interval lies; 0: they overlap."""
    return 1 if one.low > other.high else -1 if one.high < other.low else 0


def _policy_not_run(item: Statement) -> Judgement:
    return not_testable(
        f"Policy {item.select['policy']} was not run here in experiment regulation."
    )


_READING = Choice("The paper's text allows several readings of its algorithm", "reading")


def _of_policy(judge: Judge) -> Judge:
    """Let a claim about a policy of the paper be judged in each reading of its text.

    A reading that is chosen once its result is known predicts nothing, so all of them must have
    been measured. All claims about a policy rest on the same trials.
    """

    @wraps(judge)
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        policy = item.select["policy"]
        readings = [name for name, (of, _) in READINGS.items() if of == policy] or [policy]
        found = {
            reading: judge(item._replace(select={**item.select, "policy": reading}), table)
            for reading in readings
        }
        first = found[policy] if len(found) == 1 else whichever(found, _READING, len(readings))
        return first._replace(cell=f"regulation by {policy}")

    return judged


def _of_first_scheduler(judge: Judge) -> Judge:
    @wraps(judge)
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        return judge(item, of_first_scheduler(table))

    return judged


_SCHEDULER = Choice(
    "The paper does not name its disk's scheduler (its kernel has noop, deadline and cfq)",
    "scheduler",
)


def _whatever_schedules(judge: Judge) -> Judge:
    """Let a claim about what the paper shows be judged under each scheduler of its kernel.

    Policies that the paper does not show run under one scheduler.
    """
    otherwise = _of_first_scheduler(judge)

    @wraps(judge)
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        if item.select["policy"] != BY_HAND:
            return otherwise(item, table)
        found = {
            f"under {scheduler}": judge(item, rows)
            for scheduler, rows in by_scheduler(table)
            if scheduler in PAPERS_SCHEDULERS
        }
        if not found:
            return otherwise(item, table)
        return whichever(found, _SCHEDULER, len(PAPERS_SCHEDULERS))

    return judged


_OVERLOADED: dict[str, Judge] = {
    "overload_wait": _whatever_overloads(_overload_wait),
    "rise": _whatever_overloads(_rise),
    "normal_suffers_more": _whatever_overloads(_normal_suffers_more),
    "rise_changes_little": _whatever_overloads(
        _change(["rise_ms", "overloaded_rise_ms"], grows=False)
    ),
    "system_rise_grows": _whatever_overloads(_change(["system_rise_ms"], grows=True)),
}

_OF_ONE_SCHEDULER: dict[str, Judge] = {
    "endpoint": _endpoint,
    "ratio_of_ends": _ratio_of_ends,
    "curve": _curve,
    "linear_without_scheduling": _linear_without_scheduling,
    "wait_at": _wait_at,
    "wait_with": _wait_with,
    "knee": _knee,
    "linear_before_knee": _linear_before_knee,
    "exponential_above_knee": _exponential_above_knee,
    "mm1": _mm1,
}


_REGULATION: dict[str, Judge] = {
    "regulation_rate": _rate,
    "regulation_wait": _wait,
    "regulation_longest_wait": _longest_wait,
    "regulation_immediately": _immediately,
    "regulation_normal_rate_rises": _normal_rate_rises,
    "regulation_utilisation_falls": _utilisation_falls,
}


JUDGES: dict[str, Judge] = {
    **document.JUDGES,
    **_OVERLOADED,
    **{name: _of_first_scheduler(judge) for name, judge in _OF_ONE_SCHEDULER.items()},
    **{name: _whatever_schedules(_of_policy(judge)) for name, judge in _REGULATION.items()},
    "named_reason": engine.named_reason,
}


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every number and sentence of the paper its verdict.

    `measured`: The study's tidy table (`columns.TABLE`); empty for published data alone. Returns:
    Each claim about the document once; each other claim once per run (`matching.runs`).
    """
    TABLE.expect_columns(measured, "measured table")
    return engine.judge(statements(NAME), JUDGES, measured, _DECIDED_BY)
