"""Two sets of results side by side."""

import re

import pytest

from elevatorlab.judging.claim import is_measured
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.showing.report_pages import build
from elevatorlab.showing.verdict_pairs import OtherResults, pairs
from synthetic import judged


@pytest.fixture(scope="module")
def claims():
    return judged("host", "container")


@pytest.fixture(scope="module")
def tested(claims):
    return [c for c in claims if is_measured(c) and c.verdict != Verdict.NOT_TESTABLE]


def other_verdict(claim):
    verdict = next(one for one in Verdict if one != claim.verdict)
    return claim.model_copy(update={"verdict": verdict})


def test_what_neither_side_could_test_is_left_out(claims, tested):
    """And so is what a document says of itself, which is the same on both sides."""
    found = pairs(claims, claims)
    assert [pair.one.id for pair in found] == [claim.id for claim in tested]
    assert not any(pair.differs for pair in found)


def test_what_differs_comes_first(claims, tested):
    changed = tested[-1]
    theirs = [other_verdict(claim) if claim == changed else claim for claim in claims]
    first, *rest = pairs(claims, theirs)
    assert first.differs and first.one.id == changed.id
    assert not any(pair.differs for pair in rest)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_side_may_lack_a_study(swapped, claims):
    sides = [claims, []] if swapped else [[], claims]
    assert {len(pair.mine if swapped else pair.other) for pair in pairs(*sides)} == {1}


def test_the_page_shows_both_sides(tmp_path, claims, tested):
    theirs = [*map(other_verdict, tested[:2]), *tested[2:-1]]
    build(tmp_path, claims, other=OtherResults("the <other> one", theirs))
    html = (tmp_path / "beside.html").read_text(encoding="utf-8")
    assert "Side by side with the &lt;other&gt; one" in html
    # Two have another verdict there, and one was not run there.
    assert "The verdicts differ on 3 of them" in html
    assert html.count("not run</span>") == 1
    rows = re.findall(r"<tr><td>", html)
    assert len(rows) == len(tested)
    assert 'href="beside.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_without_others_there_is_no_such_page(tmp_path, claims):
    build(tmp_path, claims)
    assert not (tmp_path / "beside.html").exists()
