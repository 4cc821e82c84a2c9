"""Two sets of results side by side: claim by claim, what differs first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..judging.claims import Claim, is_measured
from ..judging.verdicts import Verdict


class Other(NamedTuple):
    """Results to hold a report's own against.

    Attributes
    ----------
    name : str
        What the page calls them.
    claims : sequence of Claim
        Judged on them.
    """

    name: str
    claims: Sequence[Claim]


class Pair(NamedTuple):
    """A claim as both sides came to judge it, once for each of their runs.

    Attributes
    ----------
    mine, other : list of Claim
        Empty where a side has no run of the study.
    """

    mine: list[Claim]
    other: list[Claim]

    @property
    def one(self) -> Claim:
        """The claim itself, from whichever side has it."""
        return (self.mine or self.other)[0]

    @property
    def differs(self) -> bool:
        """Whether the two sides come to other verdicts."""
        return {claim.verdict for claim in self.mine} != {claim.verdict for claim in self.other}


def pairs(mine: Iterable[Claim], other: Iterable[Claim]) -> list[Pair]:
    """Put the claims that either side could test side by side.

    Parameters
    ----------
    mine, other : iterable of Claim
        Of any number of studies and runs.

    Returns
    -------
    list of Pair
        Those on which the sides differ first; otherwise in the order in which they come.
    """
    found: dict[tuple[str, str], Pair] = {}
    for side, claims in enumerate((mine, other)):
        for claim in filter(is_measured, claims):
            pair = found.setdefault((claim.study, claim.id), Pair([], []))
            pair[side].append(claim)
    tested = [pair for pair in found.values() if any(map(_was_tested, pair.mine + pair.other))]
    return sorted(tested, key=lambda pair: not pair.differs)


def _was_tested(claim: Claim) -> bool:
    return claim.verdict != Verdict.NOT_TESTABLE
