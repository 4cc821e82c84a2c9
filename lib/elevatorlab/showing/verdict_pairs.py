"""Two sets of results side by side: claim by claim, those with different verdicts first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..judging.claim import Claim, is_measured
from ..judging.verdicts import Verdict


class OtherResults(NamedTuple):
    """Other results, with which those of a report are compared."""

    #: What the page calls the other results.
    name: str
    #: The claims, judged on the other results.
    claims: Sequence[Claim]


class Pair(NamedTuple):
    """A claim as judged on two sets of results, once for each run."""

    #: mine, other: The claim on the report's own results, and on the other results. Empty if these
    #: results have no run of the study.
    mine: list[Claim]
    other: list[Claim]

    @property
    def one(self) -> Claim:
        """The claim itself, from whichever side has it."""
        return (self.mine or self.other)[0]

    @property
    def differs(self) -> bool:
        """Whether the two sides come to different verdicts."""
        return {claim.verdict for claim in self.mine} != {claim.verdict for claim in self.other}


def pairs(mine: Iterable[Claim], other: Iterable[Claim]) -> list[Pair]:
    """Pair the claims of two sides, without claims that neither side could test.

    Returns: Pairs with different verdicts come first; otherwise the given order is kept.
    """
    found: dict[tuple[str, str], Pair] = {}
    for side, claims in enumerate((mine, other)):
        for claim in filter(is_measured, claims):
            pair = found.setdefault((claim.study, claim.id), Pair([], []))
            pair[side].append(claim)
    tested = [
        pair
        for pair in found.values()
        if any(claim.verdict != Verdict.NOT_TESTABLE for claim in pair.mine + pair.other)
    ]
    return sorted(tested, key=lambda pair: not pair.differs)
