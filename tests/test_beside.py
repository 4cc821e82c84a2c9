"""Two sets of results side by side."""

import re

import pytest

from elevatorlab.judging.claims import is_measured
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.showing.beside import Other, pairs
from elevatorlab.showing.pages import build
from synthetic import judged

CLAIMS = judged("host", "container")
TESTED = [c for c in CLAIMS if is_measured(c) and c.verdict != Verdict.NOT_TESTABLE]


def other_verdict(claim):
    verdict = next(one for one in Verdict if one != claim.verdict)
    return claim.model_copy(update={"verdict": verdict})


def test_what_neither_side_could_test_is_left_out():
    """And so is what a document says of itself, which is the same on both sides."""
    found = pairs(CLAIMS, CLAIMS)
    assert [pair.one.id for pair in found] == [claim.id for claim in TESTED]
    assert not any(pair.differs for pair in found)


def test_what_differs_comes_first():
    changed = TESTED[-1]
    theirs = [other_verdict(claim) if claim == changed else claim for claim in CLAIMS]
    first, *rest = pairs(CLAIMS, theirs)
    assert first.differs and first.one.id == changed.id
    assert not any(pair.differs for pair in rest)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_side_may_lack_a_study(swapped):
    sides = [CLAIMS, []] if swapped else [[], CLAIMS]
    assert {len(pair.mine if swapped else pair.other) for pair in pairs(*sides)} == {1}


def test_the_page_shows_both_sides(tmp_path):
    theirs = [*map(other_verdict, TESTED[:2]), *TESTED[2:-1]]
    build(tmp_path, CLAIMS, other=Other("the <other> one", theirs))
    html = (tmp_path / "beside.html").read_text(encoding="utf-8")
    assert "Side by side with the &lt;other&gt; one" in html
    # Two have another verdict there, and one was not run there.
    assert "The verdicts differ on 3 of them" in html
    assert html.count("not run</span>") == 1
    rows = re.findall(r"<tr><td>", html)
    assert len(rows) == len(TESTED)
    assert 'href="beside.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_without_others_there_is_no_such_page(tmp_path):
    build(tmp_path, CLAIMS)
    assert not (tmp_path / "beside.html").exists()
