"""How each claim of the article is judged; the claims are in data/claims/iozone_ranking.yaml.

A judging function takes a statement and the measured rows of one run: of one machine and preset.
It looks at the device that may stand for a computer's disk (see `measures.LIKE_THE_ARTICLE`) and
at one thread, because the article's log has the figures of one process whatever it says. Absolute
rates belong to the author's hardware; ratios, places and points are compared.
"""

from __future__ import annotations

import math
from datetime import date
from itertools import combinations, pairwise

import pandas as pd

from ...analysis.intervals import Interval, mean_interval
from ...analysis.number_texts import plain
from ...analysis.ranking import DECIDED
from ...errors import ElevatorLabError
from ...judging import engine
from ...judging.claim import Claim, Constant
from ...judging.constants import TIES, DecidedBy
from ...judging.families import Statement, statements
from ...judging.verdicts import (
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
    six_digits,
    undecided,
    widened,
)
from ..kit.cells import by_repetition, paired_ratio, rows_of
from ..kit.reimplemented import with_stand_ins
from . import document
from .columns import TABLE
from .measures import HERE, LIKE_THE_ARTICLE, TESTS, arm_name, devices_in, gain, ranking
from .published import MOST_POINTS, NAME, RUNS, sample_log

#: The computer whose log the article prints; what names none is held against this one.
LOGGED = "laptop"

#: The article prints points, and gains in percent, without decimals.
HALF_A_STEP = 0.5


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every number and sentence of the article its verdict.

    `measured`: The study's tidy table (`columns.TABLE`); empty for published data alone. Returns:
    Claims about the document once; the others once for each machine and preset.
    """
    TABLE.expect_columns(measured, "measured table")
    _refuse_what_cannot_be_compared(measured)
    return engine.judge(statements(NAME), JUDGES, measured, DECIDED_BY)


def _refuse_what_cannot_be_compared(measured: pd.DataFrame) -> None:
    place = ["testbed", "machine", "preset", "arm", "backing_scheduler", "variant"]
    for what in ("tool", "size_mib", "record_kib"):
        kinds = measured.groupby(["testbed", "machine", "preset", "arm"])[what].unique()
        for several in kinds[kinds.map(len) > 1]:
            found = " and ".join(sorted(map(str, several)))
            raise ElevatorLabError(
                f"measured table: expected one {what} on each device; found {found}; keep the "
                "trials of one set of parameters"
            )
    cell = [*place, "scheduler", "threads", "test", "repetition"]
    engine.expect_once(measured, cell, "each test once per run")


def _stamped(judged: engine.Judge) -> engine.Judge:
    """Judge on the device like the article's, one thread; say which it was, and by which tool."""

    def judge_one(item: Statement, table: pd.DataFrame) -> Judgement:
        there = devices_in(table)
        like_it = LIKE_THE_ARTICLE[item.select.get("computer", LOGGED)]
        arm = next((one for one in like_it if one in there), None)
        if arm is None:
            ran = ", ".join(map(arm_name, there))
            return not_testable(f"No device like the article's disks was measured (only: {ran}).")
        rows = rows_of(table, arm=arm, threads=1)
        judgement = judged(item, rows)
        tool = (
            "" if set(rows["tool"]) == {"iozone"} else " (fio with the same patterns, not iozone)"
        )
        reason = f"{judgement.reason} Device: {arm_name(arm)}{tool}."
        cell = judgement.cell and f"{judgement.cell}, {arm_name(arm)}"
        return judgement._replace(reason=reason, cell=cell)

    return judge_one


def _about_cfq(judged: engine.Judge) -> engine.Judge:
    """Judge with cfq, or its successor in its place; say which it was."""

    def judge_one(item: Statement, table: pd.DataFrame) -> Judgement:
        judgement = judged(item, table)
        return judgement._replace(reason=with_stand_ins(judgement.reason, [_cfq(item)]))

    return judge_one


def _cfq(item: Statement) -> str:
    """Return what stands for the article's cfq in a claim: our reimplementation, or bfq."""
    return str(item.select["cfq"])


def _relative_to_initial_write(item: Statement, rows: pd.DataFrame) -> Judgement:
    test = item.select["test"]
    taken = "random_write" if test == "rewrite" else test
    where = {"variant": "as_published", "scheduler": _cfq(item)}
    numerator, denominator = (
        by_repetition(rows, "throughput_kib_s", **where, test=t) for t in (taken, "initial_write")
    )
    ratio = paired_ratio(numerator, denominator)
    if ratio is None:
        return not_testable(f"{where['scheduler']} did not run here as published.")
    base = rows_of(sample_log(), run=item.select["run"], test="initial_write")
    base_kib_s = float(base["throughput_kib_s"].iloc[0])
    printed = item.number / base_kib_s
    allowed = widened((printed, printed), item.tolerance)
    verdict, why, evidence = compare(
        ratio, (printed, printed), neutral=1, margin=TIE_MARGIN, allowed=allowed
    )
    reason = f"{TESTS[taken]} / initial write: {ratio.text()}; printed {printed:.3g}: {why}."
    cell = f"{where['scheduler']}, {TESTS[taken]}"
    found = six_digits(numerator.mean())
    return Judgement(verdict, found, reason, evidence, cell, "initial write")


def _absolute_rate(item: Statement, rows: pd.DataFrame) -> Judgement:
    where = {"variant": "as_published", "scheduler": _cfq(item), "test": "initial_write"}
    rates = by_repetition(rows, "throughput_kib_s", **where)
    shown = "" if rates.empty else f" Here: {mean_interval(rates).text(' KiB/s')}."
    return not_testable(f"An absolute rate belongs to the author's hardware.{shown}")


def _file_bytes(rows: pd.DataFrame) -> pd.Series:
    return rows["size_mib"].astype(float) * 2**20


def _reads_from_the_disk(item: Statement, rows: pd.DataFrame) -> Judgement:
    runs = rows_of(rows, variant="as_published", test="random_read")
    if runs.empty:
        return not_testable("The variant as published did not run here.")
    share = mean_interval(runs["run_read_bytes"] / (2 * _file_bytes(runs)))
    verdict, why, evidence = bounded(share, (item.threshold, math.inf), neutral=0)
    reason = f"Of the bytes that both tests read, {share.value:.2%} came from the disk: {why}."
    if verdict == Verdict.CONTRADICTED:
        reason += " So the tests measured the page cache, and no scheduler had anything to decide."
    return Judgement(verdict, f"{share.value:.2%}", f"{reason}{_no_test(evidence)}", evidence)


def _mixed_is_read(item: Statement, rows: pd.DataFrame) -> Judgement:
    runs = rows_of(rows, variant="direct", test="mixed_workload")
    if runs.empty:
        return not_testable("The variant that bypasses the page cache did not run here.")
    files = mean_interval(runs["run_read_bytes"] / _file_bytes(runs))
    verdict, why, evidence = bounded(files, (-math.inf, 2 - item.threshold), neutral=2)
    reason = (
        f"Random read and mixed workload together read the file {files.value:.3g} times: {why}."
    )
    if verdict == Verdict.CONTRADICTED:
        reason += (
            " So with one thread, the mixed workload is a second random read. (In iozone, a thread "
            "only reads or only writes: the first, third ... read.)"
        )
    measured = f"{files.value:.3g} files read"
    return Judgement(verdict, measured, f"{reason}{_no_test(evidence)}", evidence)


def _no_test(evidence: Evidence) -> str:
    tested = evidence.p_value is not None
    return "" if tested else " There is no p-value, because no two repetitions differ."


def _published_three(item: Statement, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the article's three schedulers as it ran them."""
    published = rows_of(rows, variant="as_published")
    return published[published["scheduler"].isin({**HERE, "cfq": _cfq(item)}.values())]


def _points_of_30(item: Statement, rows: pd.DataFrame) -> Judgement:
    found = ranking(_published_three(item, rows))
    name = _cfq(item) if item.select["scheduler"] == "cfq" else item.select["descendant"]
    if found is None or len(found.total) < 3:
        return not_testable(f"Not all of {_cfq(item)}, none and mq-deadline ran here as published.")
    scale = MOST_POINTS / (2 * found.comparisons)
    points = found.interval[name].map(lambda value: value * scale)
    printed, tolerance = item.number, item.tolerance
    verdict, why, evidence = compare(
        points,
        (printed, printed),
        neutral=MOST_POINTS / 2,
        margin=HALF_A_STEP,
        allowed=(printed - tolerance, printed + tolerance),
    )
    reason = f"{_interval(points)} points: {why}."
    return Judgement(verdict, round(points.value, 2), reason, evidence, _ranked(item))


def _winner(item: Statement, rows: pd.DataFrame) -> Judgement:
    found = ranking(_published_three(item, rows))
    if found is None or len(found.total) < 3:
        return not_testable(f"Not all of {_cfq(item)}, none and mq-deadline ran here as published.")
    order = ", ".join(f"{name} {value:g}" for name, value in found.total.items())
    reason = f"Points: {order}"
    if found.runs > 1:
        reason += f"; {found.wins.idxmax()} wins in {found.wins.max():.0%} of resampled runs"
    if found.says != "decided" or found.winner is None:
        by_chance = len(found.total) ** (1 - found.runs)
        reason = f"{reason}: {found.says}."
        if found.runs > 1:
            percent = plain(100 * by_chance, 1 if by_chance < 0.01 else 2)
            reason += f" By chance alone, {found.runs} runs agree in {percent} % of cases."
        needed = found.fewest_runs if found.runs < found.fewest_runs else None
        return undecided(reason, found.winner, needed)._replace(cell=_ranked(item))
    expected = {**HERE, "cfq": _cfq(item)}[item.select["winner"]]
    same = found.winner == expected
    verdict = reproduced_if(same)
    reason += ": decided. The runs are resampled, so there is no p-value."
    return Judgement(verdict, found.winner, reason, cell=_ranked(item))


def _ranked(item: Statement) -> str:
    """Name the measurement behind every claim about points: who has more, another has less."""
    return f"points of none, mq-deadline and {_cfq(item)}"


def _gains(item: Statement, rows: pd.DataFrame) -> dict[str, tuple[str, str, Interval]]:
    """Return `gain` by test."""
    three = _published_three(item, rows)
    found = {test: gain(rows_of(three, test=test)) for test in TESTS}
    return {test: one for test, one in found.items() if one}


def _improvement(item: Statement, rows: pd.DataFrame) -> Judgement:
    found = _gains(item, rows)
    if not found:
        return not_testable(
            f"Fewer than two of {_cfq(item)}, none and mq-deadline ran here as published."
        )
    printed = item.number
    test = min(found, key=lambda name: abs(found[name][2].value - printed))
    best, worst, percent = found[test]
    tolerance = item.tolerance
    # The best over the worst gains something by construction: no direction is evidence.
    verdict, why, evidence = bounded(percent, (printed - tolerance, printed + tolerance), neutral=0)
    reason = (
        f"The gain nearest to the printed one ({TESTS[test]}, {best} over {worst}) is "
        f"{percent.text(' %')}: {why}."
    )
    cell = f"{best} over {worst}, {TESTS[test]}"
    return Judgement(verdict, float(f"{percent.value:.4g}"), reason, evidence, cell)


def _best_depends_on_test(item: Statement, rows: pd.DataFrame) -> Judgement:
    gains, margin = _gains(item, rows), 100 * TIE_MARGIN
    decided = {
        test: best
        for test, (best, _, percent) in gains.items()
        if percent.direction(0, margin) == 1
    }
    if len(decided) < 2:
        others = [one[2] for test, one in gains.items() if test not in decided]
        runs = (
            repetitions_to_decide(one, lambda more: more.direction(0, margin) == 1)
            for one in others
        )
        enough = sorted(count for count in runs if count)[: 2 - len(decided)]
        return undecided(
            f"The runs decide the best scheduler of {len(decided)} of {len(TESTS)} tests; two are "
            "needed.",
            needed=enough[-1] if len(enough) == 2 - len(decided) else None,
        )
    words = "; ".join(f"{TESTS[test]}: {best}" for test, best in decided.items())
    several = len(set(decided.values())) > 1
    verdict = reproduced_if(several)
    tests = [excluding(gains[test][2], (margin,)) for test in decided]
    weakest = max(tests, key=lambda one: one.p_value or 0)
    return Judgement(verdict, f"{len(set(decided.values()))} best ones", f"{words}.", weakest)


def _order_flips(item: Statement, rows: pd.DataFrame) -> Judgement:
    """Judge "sometimes ... other time is vice-versa" by as many runs as the article had.

    Of more runs, some change places sooner. So every choice of the article's number is asked.
    """
    wide = (
        _published_three(item, rows)
        .pivot(index=["repetition", "test"], columns="scheduler", values="throughput_kib_s")
        .dropna()
    )
    runs = sorted(wide.index.unique("repetition"))
    if len(wide.columns) < 3 or not runs:
        return not_testable(f"Not all of {_cfq(item)}, none and mq-deadline ran here as published.")
    order = [_cfq(item), HERE["deadline"], HERE["noop"]]
    forth, back = (_runs_in_order(wide[names], item.threshold) for names in (order, order[::-1]))
    choices = list(combinations(runs, min(RUNS, len(runs))))
    both = sum(not forth.isdisjoint(chosen) and not back.isdisjoint(chosen) for chosen in choices)
    share = both / len(choices)
    measured = f"{share:.0%}"
    said = (
        f"The article has {RUNS} runs. Ways to choose {len(choices[0])} of the {len(runs)} runs "
        f"here: {len(choices)}. Of these, {both} show both orders, in whichever test: "
        f"{' before '.join(order)}, and the opposite. This is counted, so there is no p-value."
    )
    if len(runs) < RUNS and not share:
        return undecided(said, measured, RUNS)
    if 1 - DECIDED < share < DECIDED:
        return undecided(said, measured)
    return Judgement(reproduced_if(share >= DECIDED), measured, said)


def _runs_in_order(wide: pd.DataFrame, margin: float) -> set[int]:
    """Return the runs with a test in which each column is ahead of the next by the margin."""
    columns = list(wide)
    ahead = [wide[one] / wide[other] > 1 + margin for one, other in pairwise(columns)]
    in_order = pd.concat(ahead, axis=1).all(axis=1)
    return set(in_order.index[in_order].get_level_values("repetition"))


def _interval(value: Interval) -> str:
    if not value.bounded:
        return f"{value.value:.3g} (one run)"
    return (
        f"{value.value:.3g} (95 % CI {value.low:.3g} to {value.high:.3g}, n = {value.repetitions})"
    )


DECIDED_BY: DecidedBy = {
    TIES: ("relative_to_initial_write", "best_depends_on_test"),
    Constant(
        name="HALF_A_STEP",
        value=HALF_A_STEP,
        of="of a point: the smallest difference",
        reason="half of the last digit that the article prints",
        fixed=date(2026, 11, 21),
    ): ("points_of_30",),
    Constant(
        name="DECIDED",
        value=DECIDED,
        of="of the resampled runs have the same winner, or of choices of runs a flipped order",
        reason="as firm as an interval",
        fixed=date(2026, 11, 21),
    ): ("winner", "order_flips"),
}

JUDGES: dict[str, engine.Judge] = {
    **document.JUDGES,
    "relative_to_initial_write": _stamped(_about_cfq(_relative_to_initial_write)),
    "absolute_rate": _stamped(_absolute_rate),
    "reads_from_the_disk": _stamped(_reads_from_the_disk),
    "mixed_is_read": _stamped(_mixed_is_read),
    "points_of_30": _stamped(_about_cfq(_points_of_30)),
    "winner": _stamped(_about_cfq(_winner)),
    "improvement": _stamped(_about_cfq(_improvement)),
    "named_reason": engine.named_reason,
    "order_flips": _stamped(_about_cfq(_order_flips)),
    "best_depends_on_test": _stamped(_about_cfq(_best_depends_on_test)),
}
