"""What is undecided says how many repetitions would decide it, or that this cannot be estimated."""

import math

import pandas as pd
import pytest

from elevatorlab.analysis.intervals import Interval, mean_interval
from elevatorlab.analysis.points import points
from elevatorlab.judging import claims
from elevatorlab.judging.multiple_testing import LARGEST_P, adjust
from elevatorlab.judging.verdicts import (
    MOST_REPETITIONS,
    Verdict,
    bounded,
    compare,
    excluding,
    to_decide_sides,
    undecided,
)
from elevatorlab.judging.verdicts import together as both
from elevatorlab.showing import report_pages
from elevatorlab.studies.container_isolation import claims as regulation
from synthetic import plain_claim as claim

NOT_KNOWN = "The number of repetitions that would decide it is above 200, or cannot be estimated."


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"repetitions_to_decide": 7}, "Some 7 repetitions would decide it."),
        ({}, NOT_KNOWN),
        ({"verdict": Verdict.REPRODUCED}, ""),
        ({"verdict": Verdict.NOT_TESTABLE}, ""),
    ],
)
def test_page_and_terminal_say_how_many_would(changes, said, tmp_path):
    one = claim(**changes)
    (one,) = adjust([one])
    page = report_pages.build(tmp_path, [one]).with_name("claims.html").read_text()
    shown = " ".join(claims.as_text([one], width=1000).split())
    for text in (shown, page):
        assert text.count("would decide it") == bool(said)
        assert said in text


def test_a_reason_that_no_other_claim_has_is_told_with_its_claim():
    """Not counted: a reader must learn why this one has no verdict."""
    untested = {"verdict": Verdict.NOT_TESTABLE}
    same = untested | {"reason": "No VM arm. Run one.", "ground": "No VM arm."}
    told = {"reason": "By another rule. No match.", "ground": "By another rule."}
    alone = claim(id="x/alone", **untested, **told)
    shown = claims.as_text([claim(id="x/b", **same), claim(id="x/c", **same), alone], width=1000)
    assert "2 \N{MULTIPLICATION SIGN} No VM arm.\n" in shown and "x/b" not in shown
    head, said = shown.splitlines()[-2:]
    assert head.endswith("alone") and said.endswith("By another rule. No match.")


def test_a_verdict_that_may_be_chance_among_many_says_how_many_would_let_it_stand():
    measured = mean_interval([1.2, 1.4, 1.9])
    alone = excluding(measured, (0.3,))
    lucky = claim(verdict=Verdict.REPRODUCED, **alone._asdict())
    others = [claim(id=f"s/{n}", p_value=1.0) for n in range(4)]
    found = adjust([lucky, *others])[0]
    assert found.verdict == Verdict.UNDECIDED and found.p_value < LARGEST_P
    strictness, needed = found.p_adjusted / found.p_value, found.repetitions_to_decide
    for count, stands in ((needed, True), (needed - 1, False)):
        p_then = measured.with_repetitions(count).p_value(0.3)
        assert (p_then * strictness <= LARGEST_P) == stands
    assert found.reason.endswith(f" Some {needed} repetitions would decide it.")


def test_what_another_machine_or_preset_tests_counts_for_itself():
    lucky = claim(id="s/lucky", verdict=Verdict.REPRODUCED, p_value=0.04)
    for elsewhere in ({"machine": "another"}, {"preset": "paper"}, {"testbed": "host"}):
        others = [claim(id=f"s/{n}", p_value=1.0, **elsewhere) for n in range(4)]
        assert adjust([lucky, *others])[0].verdict == Verdict.REPRODUCED


def test_what_may_be_chance_among_many_is_undecided():
    """One p-value of 0.04 stands alone, and not beside four claims that are undecided."""
    lucky = claim(verdict=Verdict.REPRODUCED, p_value=0.04)
    (alone,) = adjust([lucky])
    assert (alone.verdict, alone.p_adjusted) == (Verdict.REPRODUCED, 0.04)
    beside = adjust([lucky, *(claim(id=f"s/{n}", p_value=1.0) for n in range(4))])[0]
    assert (beside.verdict, beside.p_adjusted) == (Verdict.UNDECIDED, pytest.approx(0.2))
    assert "Alone it would be reproduced (p = 0.04)" in beside.reason
    assert beside.repetitions_to_decide is None and beside.reason.endswith(NOT_KNOWN)


def test_a_change_is_decided_by_as_many_as_part_the_two_intervals():
    before, after = mean_interval([10.0, 11.0, 13.0]), mean_interval([8.0, 9.5, 10.0])
    found = regulation._changed(after, before, claimed=-1, unit=" ms")
    needed = found.evidence.repetitions_to_decide
    assert found.verdict == Verdict.UNDECIDED and 3 < needed <= MOST_REPETITIONS
    for count, parted in ((needed, True), (needed - 1, False)):
        one, other = after.with_repetitions(count), before.with_repetitions(count)
        assert (one.high < other.low) == parted
    same = regulation._changed(before, before, claimed=-1, unit=" ms")
    assert (same.verdict, same.evidence.repetitions_to_decide) == (Verdict.UNDECIDED, None)


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((0.06, 0.09), Verdict.REPRODUCED),
        ((0.01, 0.04), Verdict.CONTRADICTED),
        ((0.05, 0.09), Verdict.REPRODUCED),
        ((0.01, 0.05), Verdict.UNDECIDED),
        ((0.01, 0.06), Verdict.UNDECIDED),
        ((math.nan, math.nan), Verdict.UNDECIDED),
    ],
)
def test_a_share_keeps_a_bound_with_its_whole_interval(ends, verdict):
    repetitions = 1 if math.isnan(ends[0]) else 3
    found = bounded(Interval(0.05, *ends, repetitions), (0.05, math.inf), neutral=0)
    assert found.verdict == verdict


def test_a_bound_is_kept_by_what_is_just_as_much():
    exactly = Interval(2.0, 2.0, 2.0, 3)
    assert bounded(exactly, (-math.inf, 2), neutral=0).verdict == Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("low", "verdict"),
    [
        ([1.5, 1.6, 1.7], Verdict.REPRODUCED),
        ([1.5, 0.4, 1.7], Verdict.UNDECIDED),
        ([0.4, 0.5, 0.6], Verdict.CONTRADICTED),
    ],
)
def test_what_holds_only_if_each_of_several_does(low, verdict):
    above = (1.0, math.inf)
    one, other = (
        bounded(mean_interval(values), above, neutral=0) for values in (low, [2.0, 2.1, 2.2])
    )
    found, evidence = both([other, one])
    assert found == verdict and len(evidence.compared) == 2
    assert evidence.p_value == {
        Verdict.REPRODUCED: one.evidence.p_value,
        Verdict.UNDECIDED: 1.0,
        Verdict.CONTRADICTED: 2 * (one.evidence.p_value or 0),
    }.get(verdict)


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((0.80, 0.98), Verdict.REPRODUCED),
        ((0.80, 0.995), Verdict.UNDECIDED),  # part of it counts as a tie, from one side
        ((1.003, 1.034), Verdict.CONTRADICTED),  # from the other one: nothing is as claimed
        ((1.02, 1.05), Verdict.CONTRADICTED),
        ((0.995, 1.005), Verdict.CONTRADICTED),
    ],
)
def test_what_may_be_a_tie_does_not_show_the_claimed_difference(ends, verdict):
    measured = Interval(sum(ends) / 2, *ends, 8)
    assert compare(measured, (0.7, 0.99), neutral=1, margin=0.01).verdict == verdict


def test_a_published_value_that_may_be_a_tie_claims_no_difference():
    measured = Interval(1.004, 1.002, 1.006, 8)
    assert compare(measured, (1.001, 1.007), neutral=1, margin=0.01).verdict == Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("published", "value", "verdict", "excluded"),
    [
        (0.9, 0.5, Verdict.DIRECTION_ONLY, 0.99),
        (0.9, 0.05, Verdict.CONTRADICTED, 0.09),
        (1.2, 11.0, Verdict.DIRECTION_ONLY, 1.01),
        (1.2, 14.0, Verdict.CONTRADICTED, 12.0),
    ],
)
def test_the_direction_alone_counts_within_one_order_of_magnitude(
    published, value, verdict, excluded
):
    measured = Interval(value, 0.99 * value, 1.01 * value, 8)
    found = compare(measured, (published, published), neutral=1, margin=0.01)
    assert found.verdict == verdict
    assert found.evidence.p_value == measured.p_value(excluded)


def test_sides_are_decided_by_as_many_as_the_last_of_them_needs():
    clear, open_one = mean_interval([1.2, 1.21, 1.22]), mean_interval([1.0, 1.2, 1.3])
    worse = mean_interval([0.9, 1.2, 1.3])
    alone = [to_decide_sides([one], margin=0.01) for one in (clear, open_one, worse)]
    assert alone[0] is None and 3 < alone[1] < alone[2]
    assert to_decide_sides([clear, open_one, worse], margin=0.01) == alone[2]
    assert to_decide_sides([open_one, mean_interval([0.9, 1.1])], margin=0.01) is None


@pytest.mark.parametrize(("schedulers", "runs"), [(2, 6), (3, 4), (4, 4), (5, 3)])
def test_a_winner_needs_as_many_runs_as_chance_rarely_lets_agree(schedulers, runs):
    def found(count):
        places = pd.MultiIndex.from_product([["write"], range(count)], names=["t", "repetition"])
        rates = {f"s{n}": [float(9 - n)] * count for n in range(schedulers)}
        return points(pd.DataFrame(rates, places))

    assert {found(count).fewest_runs for count in (1, 2, 7)} == {runs}
    assert found(runs).says == "decided"
    assert found(runs - 1).says == "too few runs"


def test_a_judge_can_say_how_many():
    assert undecided("So.", 1.0, 5).evidence.repetitions_to_decide == 5
    assert undecided("So.").evidence.repetitions_to_decide is None


def test_what_is_decided_knows_how_many_its_test_rests_on():
    found = compare(mean_interval([1.2, 1.21, 1.22]), (1.19, 1.25), neutral=1, margin=0.01)
    assert (found.verdict, found.evidence.repetitions) == (Verdict.DIRECTION_ONLY, 3)
