"""Verdicts where a document leaves something open: each possibility is judged.

A claim is contradicted only where no possibility explains what was published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from ...judging.verdicts import DECIDED, Evidence, Judgement, Verdict

Number = TypeVar("Number", int, float)


class Choice(NamedTuple):
    """What a document leaves open, as the beginning of a sentence, and what one is called."""

    said: str
    each: str


def together(found: Mapping[str, Judgement], choice: Choice, possible: int) -> Judgement:
    """Make one judgement of those with each possibility: contradicted where none explains it.

    Parameters
    ----------
    found : mapping of str to Judgement
        By what was chosen, in words. The first tells the value.
    choice : Choice
    possible : int
        How many possibilities there are.
    """
    first = next(iter(found.values()))
    evidence = Evidence(
        p_value=_most([one.evidence.p_value for one in found.values()]),
        repetitions=_most([one.evidence.repetitions for one in found.values()]),
        compared=tuple(
            each.model_copy(update={"what": ", ".join(filter(None, (words, each.what)))})
            for words, one in found.items()
            for each in one.evidence.compared
        ),
    )
    verdict, why = _common({one.verdict for one in found.values()}, choice, len(found) == possible)
    if verdict == Verdict.UNDECIDED:
        needed = [one.evidence.repetitions_to_decide for one in found.values() if _is_open(one)]
        evidence = evidence._replace(p_value=1.0, repetitions_to_decide=_most(needed))
    elif verdict not in DECIDED:
        evidence = evidence._replace(p_value=None)
    reasons = " ".join(
        f"{words[:1].upper()}{words[1:]}: {continued(one.reason)}" for words, one in found.items()
    )
    return first._replace(verdict=verdict, reason=f"{reasons} {why}", evidence=evidence)


def continued(reason: str) -> str:
    """Return a reason as the rest of a sentence, after a colon."""
    return f"t{reason[1:]}" if reason.startswith("The ") else reason


def _common(verdicts: set[Verdict], choice: Choice, all_measured: bool) -> tuple[Verdict, str]:
    """Return what the verdicts with each possibility come to, and why."""
    against = verdicts & {Verdict.CONTRADICTED, Verdict.DIRECTION_ONLY}
    open_ones, each = choice
    if against and not all_measured:
        return Verdict.NOT_TESTABLE, f"{open_ones}; not all of these {each}s were measured."
    if len(verdicts) == 1:
        (verdict,) = verdicts
        return verdict, f"{open_ones}; each {each} that was measured gives the same verdict."
    if against == verdicts:
        return Verdict.DIRECTION_ONLY, f"{open_ones}; no {each} explains the published value."
    if against and Verdict.REPRODUCED in verdicts:
        return Verdict.NOT_TESTABLE, f"{open_ones}, and the verdict depends on it."
    return Verdict.UNDECIDED, f"{open_ones}; some {each}s leave the claim undecided."


def _is_open(judgement: Judgement) -> bool:
    return judgement.verdict == Verdict.UNDECIDED


def _most(values: Sequence[Number | None]) -> Number | None:
    """Return the largest; None where one is not known."""
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None
