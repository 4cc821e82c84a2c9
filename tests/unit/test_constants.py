"""The numbers in the code that decide about verdicts: each claim says which, since when and why."""

from datetime import date
from types import CodeType, FunctionType

import pytest

from elevatorlab.judging import claims, constants, engine
from elevatorlab.plugins import studies
from elevatorlab.results import store
from elevatorlab.showing import report_pages
from elevatorlab.studies.container_isolation.claims import JUDGES

#: The value of each, and the date of the commit since which it has it. Who changes a value changes
#: its date, and both here.
FIXED = {
    "CALIBRATED": (0.05, date(2026, 11, 29)),
    "CALM_PERIODS": (2, date(2026, 11, 21)),
    "CONFIDENCE": (0.95, date(2026, 11, 20)),
    "DECIDED": (0.95, date(2026, 11, 21)),
    "FEWEST_FOR_P99": (299, date(2026, 11, 21)),
    "FEWEST_PLACES": (3, date(2026, 11, 21)),
    "FULL_SSD_DEPTH": (64, date(2026, 11, 28)),
    "FULL_RAM_DEPTH": (32, date(2026, 11, 28)),
    "FULL_SHARE": (0.9, date(2026, 11, 28)),
    "HALF_A_STEP": (0.5, date(2026, 11, 21)),
    "LEAST_IN_FLIGHT": (0.9, date(2026, 11, 27)),
    "INDISTINGUISHABLE": (7, date(2026, 11, 27)),
    "LARGEST_P": (0.05, date(2026, 11, 22)),
    "LEAST_SIZE": (0.9, date(2026, 11, 22)),
    "MOST_REPETITIONS": (200, date(2026, 11, 22)),
    "ORDER_OF_MAGNITUDE": (10, date(2026, 11, 24)),
    "PERIOD_S": (1, date(2026, 11, 21)),
    "SETTLING_S": (2, date(2026, 11, 21)),
    "TICK_S": (0.004, date(2026, 11, 28)),
    "PORTION_S": (0.020, date(2026, 11, 28)),
    "TIE_MARGIN": (0.01, date(2026, 11, 21)),
    "WIDEST_GAP": (0.15, date(2026, 11, 21)),
}

OURS = [study.NAME for study in studies.ours()]


@pytest.fixture(scope="module")
def judged():
    """Return the claims of each study as published, without any measurement."""
    return {study.NAME: study.judge(empty(study)) for study in studies.ours()}


def empty(study):
    return store.load(study.NAME, "published")


def names_in(judge):
    """Return the numbers that a function names, or one of ours that it calls, however deep."""
    found, seen, left = set(), set(), [judge]
    while left:
        function = left.pop()
        if id(function) in seen or not isinstance(function, FunctionType):
            continue
        seen.add(id(function))
        mentioned = _names(function.__code__)
        known = {name: function.__globals__.get(name) for name in mentioned}
        found |= {name for name, one in known.items() if isinstance(one, int | float)}
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        left += [
            one
            for one in [*cells, *known.values(), getattr(function, "__wrapped__", None)]
            if getattr(one, "__module__", "").startswith("elevatorlab.")
        ]
    return found


def _names(code):
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


@pytest.mark.parametrize("name", OURS)
def test_a_claim_names_each_constant_that_its_judge_mentions(name, judged, monkeypatch):
    by_judge, judges = {}, {}

    def remember(items, functions, measured, decided_by=None):
        judges.update(functions)
        decisive = (decided_by or {}).items()
        by_judge.update({one: [c for c, some in decisive if one in some] for one in functions})
        known = {judge for some in (decided_by or {}).values() for judge in some}
        assert known <= set(functions)
        return []

    monkeypatch.setattr(engine, "judge", remember)
    study = studies.get(name)
    study.judge(empty(study))
    decisive = FIXED.keys() - {one.name for one in constants.SHARED}
    named = {judge: names_in(function) & decisive for judge, function in judges.items()}
    declared = {judge: {one.name for one in some} for judge, some in by_judge.items()}
    assert {judge: some - declared[judge] for judge, some in named.items() if some} == {
        judge: set() for judge, some in named.items() if some
    }


def test_each_constant_has_the_value_and_the_date_of_the_commit_that_fixed_it(judged):
    found = {one for some in judged.values() for claim in some for one in claim.constants}
    found |= set(constants.SHARED)
    assert {one.name: (one.value, one.fixed) for one in found} == FIXED
    assert all(one.reason and one.of for one in found)


def test_the_walk_finds_what_a_judge_mentions_through_others():
    assert "SETTLING_S" in names_in(JUDGES["regulation_wait"])
    assert "TIE_MARGIN" in names_in(JUDGES["rise_changes_little"])  # a closure in a wrapper
    assert "FEWEST_PLACES" in names_in(JUDGES["curve"])
    assert "SETTLING_S" not in names_in(JUDGES["curve"])


def test_the_report_shows_them_with_their_dates(judged, tmp_path):
    some = [one for one in judged["container_isolation"] if "immediately" in one.id]
    assert some and {one.name for one in some[0].constants} >= {"SETTLING_S", "CALM_PERIODS"}
    report_pages.build(tmp_path, some)
    page, overview = ((tmp_path / f"{name}.html").read_text() for name in ("claims", "index"))
    assert "<code>SETTLING_S</code>, 2 s " in page and "fixed 2026-11-21" in page
    assert "<code>LARGEST_P</code>, 0.05 " in overview and "fixed 2026-11-22" in overview


def test_claims_as_objects_have_them(judged):
    (one, *_) = [one for one in judged["innodb_commit"] if one.constants]
    (told,) = claims.to_json([one])[0]["constants"]
    assert (told["name"], told["value"], told["fixed"]) == ("TIE_MARGIN", 0.01, "2026-11-21")
