"""How the article's sentences are judged by what was measured."""

from __future__ import annotations

import pandas as pd

from ....analysis.improvement import ratio_range
from ....analysis.intervals import Interval
from ....judging.claims import Judge
from ....judging.families import Statement
from ....judging.verdicts import (
    Evidence,
    Judgement,
    Verdict,
    not_testable,
    ordering,
)
from ...kit.cells import rows_of
from ..measures import SCHEDULERS, ranking, total_ratio
from ..published import HALF_STEP_S, TEST_1, TEST_2, printed_times
from .arms import not_comparable, with_stand_in
from .caches import in_each_state

_CALLED = {TEST_1: "Test 1", TEST_2: "Test 2"}


def _none_was_best(item: Statement, table: pd.DataFrame) -> Judgement:
    tests = item.select["tests"]
    tests = [TEST_1, TEST_2] if tests == "both_tests" else [tests]
    variant = item.select["variant"]
    others = [name for name in SCHEDULERS if name != "none"]

    def order(arm: str) -> Judgement:
        sides = {
            f"{_CALLED[test]}: {other} / none": total_ratio(
                table,
                {"test": test, "variant": variant, "arm": arm, "scheduler": other},
                {"test": test, "variant": variant, "arm": arm, "scheduler": "none"},
            )
            for test in tests
            for other in others
        }
        return _ordered(item, sides)

    return with_stand_in(item, table, order)


def _container_was_better(item: Statement, table: pd.DataFrame) -> Judgement:
    where = {name: item.select[name] for name in ("test", "variant")}

    def order(arm: str) -> Judgement:
        sides = {
            f"{name}: {arm} / container": total_ratio(
                table,
                {**where, "scheduler": name, "arm": arm},
                {**where, "scheduler": name, "arm": "container"},
            )
            for name in SCHEDULERS
        }
        return _ordered(item, sides)

    emulated = not_comparable(table)
    return not_testable(emulated) if emulated else with_stand_in(item, table, order, arm="vm")


def _ranking(item: Statement, table: pd.DataFrame) -> Judgement:
    where = {name: item.select[name] for name in ("test", "variant")}
    printed = printed_times(item.select["test"], item.select["arm"])

    def order(arm: str) -> Judgement:
        rows = rows_of(table, **where, arm=arm)
        if item.select["test"] == TEST_1:
            sizes = rows.groupby("scheduler")["published_size_mb"].agg(set)
            common = set.intersection(*sizes) if len(sizes) else set()
            totals = printed[printed["published_size_mb"].isin(common)]
        else:
            common, totals = {None}, printed
        total_s = totals.groupby("scheduler")["time_s"].sum().sort_values()
        half_step_s = len(common) * HALF_STEP_S
        sides, excluded = {}, {}
        for place, slower in enumerate(total_s.index):
            for faster in total_s.index[:place]:
                low, high = ratio_range(total_s[slower], total_s[faster], half_step_s)
                if low <= 1 + item.threshold:
                    continue
                name = f"{slower} / {faster}"
                sides[name] = total_ratio(
                    table,
                    {**where, "arm": arm, "scheduler": slower},
                    {**where, "arm": arm, "scheduler": faster},
                )
                ratio = sides[name]
                excluded[name] = bool(ratio and (ratio.low > high or ratio.high < low))
        if not sides:
            return not_testable("The printed times differ by no more than rounding and tolerance.")
        judgement, stability = _ordered(item, sides, excluded), ranking(rows)
        if stability is None:
            return judgement
        return judgement._replace(reason=f"{judgement.reason} {stability.text()}")

    return with_stand_in(item, table, order)


def _ordered(
    item: Statement, sides: dict[str, Interval | None], excluded: dict[str, bool] | None = None
) -> Judgement:
    """Judge pairs whose ratios are claimed to be above 1.

    `excluded` says for each pair whether the measured interval excludes the printed ratio. Without
    it, a tie counts against the claim.
    """
    found = {
        name: (ratio, excluded[name] if excluded else True)
        for name, ratio in sides.items()
        if ratio is not None
    }
    if not found:
        return not_testable("No pair of schedulers or arms that this claim compares was run here.")
    verdict, reason, evidence = ordering(found, item.threshold)
    absent = [name for name in sides if name not in found]
    if absent:
        reason += f"; not run: {', '.join(absent)}"
        if verdict != Verdict.CONTRADICTED:
            verdict, evidence = Verdict.NOT_TESTABLE, Evidence()
    as_claimed = sum(ratio.direction(1, item.threshold) == 1 for ratio, _ in found.values())
    return Judgement(verdict, f"{as_claimed} of {len(sides)} pairs", f"{reason}.", evidence)


JUDGES: dict[str, Judge] = {
    "none_was_best": in_each_state(_none_was_best),
    "container_was_better": in_each_state(_container_was_better),
    "ranking": in_each_state(_ranking),
}
