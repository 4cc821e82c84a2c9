"""Verdicts on claims for which the document leaves something open.

The claim is judged with each possibility, and has a verdict only if all of them were measured and
come to the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from ...judging.comparison import Comparison
from ...judging.verdicts import DECIDED, Evidence, Judgement, Verdict, not_testable, sentence

Number = TypeVar("Number", int, float)


class Choice(NamedTuple):
    """What a document leaves open."""

    #: The beginning of a sentence that says what is open.
    said: str
    #: What one possibility is called, in the singular.
    each: str


def whichever(found: Mapping[str, Judgement], choice: Choice, possible: int) -> Judgement:
    """Combine the judgements of all possibilities.

    `found`: The judgement of each possibility, at least one. The key names the possibility in
    words. Of those that are not testable, only the reason is kept. `possible`: How many
    possibilities there are, measured or not. The measured value is that of the first where all
    agree, else their range; there is none unless all could be judged.
    """
    reasons = " ".join(f"{sentence(words)}: {one.reason}" for words, one in found.items())
    able = {words: one for words, one in found.items() if one.verdict != Verdict.NOT_TESTABLE}
    if not able:
        first, *others = found.values()
        if all(one.ground == first.ground for one in others):
            return first
        return not_testable(f"{choice.said}; no {choice.each} could be judged here.", reasons)
    found, first = able, next(iter(able.values()))
    evidence = Evidence(
        p_value=_most([one.evidence.p_value for one in found.values()]),
        repetitions=_most([one.evidence.repetitions for one in found.values()]),
        compared=tuple(each for words, one in found.items() for each in compared_with(words, one)),
    )
    verdicts = {one.verdict for one in found.values()}
    all_measured = len(found) == possible
    verdict, why = _common(verdicts, choice, all_measured)
    measured = first.measured if len(verdicts) == 1 else _range(found.values())
    if verdict == Verdict.UNDECIDED:
        undecided = [one for one in found.values() if one.verdict == Verdict.UNDECIDED]
        needed = [one.evidence.repetitions_to_decide for one in undecided]
        evidence = evidence._replace(p_value=1.0, repetitions_to_decide=_most(needed))
    elif verdict not in DECIDED:
        evidence = evidence._replace(p_value=None)
    return first._replace(
        verdict=verdict,
        measured=measured if all_measured else None,
        reason=f"{reasons} {why}",
        evidence=evidence,
        ground=why,
    )


def compared_with(words: str, judged: Judgement) -> tuple[Comparison, ...]:
    """Return what a judgement compared, where each comparison names a possibility."""
    return tuple(
        each.model_copy(update={"what": ", ".join(filter(None, (words, each.what)))})
        for each in judged.evidence.compared
    )


def _range(found: Iterable[Judgement]) -> str | None:
    """Return the least and the largest measured value; None if one is no number."""
    values = [one.measured for one in found]
    numbers = [value for value in values if isinstance(value, float)]
    if len(numbers) < len(values):
        return None
    return f"{min(numbers):.3g} to {max(numbers):.3g}"


def _common(verdicts: set[Verdict], choice: Choice, all_measured: bool) -> tuple[Verdict, str]:
    """Return the verdict that follows from those of all possibilities, and the reason."""
    open_ones, each = choice
    if not all_measured:
        return Verdict.NOT_TESTABLE, f"{open_ones}; not all of these {each}s could be judged here."
    if len(verdicts) == 1:
        (verdict,) = verdicts
        return verdict, f"{open_ones}; each {each} gives the same verdict."
    if len(verdicts & set(DECIDED)) > 1:
        return Verdict.NOT_TESTABLE, f"{open_ones}, and the verdict depends on it."
    return Verdict.UNDECIDED, f"{open_ones}; some {each}s leave the claim undecided."


def _most(values: Sequence[Number | None]) -> Number | None:
    """Return the largest value; None if any value is None."""
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None
