"""What a study showed, in at most five sentences: computed from its claims alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .claims import (
    UNMEASURED,
    Claim,
    by_place,
    how_many,
    is_measured,
    verdict_counts,
)
from .comparison import Comparison
from .evidence import independent
from .families import Role
from .matching import in_words
from .values import both_texts, measured_text, published_text
from .verdicts import DECIDED, TIE_MARGIN, Verdict

_OUTCOMES = {
    Verdict.REPRODUCED: "reproduced",
    Verdict.CONTRADICTED: "contradicted",
    Verdict.DIRECTION_ONLY: "right in direction only",
}
_CLEAREST = {
    Verdict.REPRODUCED: "The clearest reproduction",
    Verdict.CONTRADICTED: "The clearest contradiction",
    Verdict.DIRECTION_ONLY: "The clearest agreement in direction only",
}


class _Example(NamedTuple):
    """A claim, the comparison that shows its verdict most clearly, and how clearly."""

    claim: Claim
    one: Comparison
    strength: float


def findings(claims: Sequence[Claim]) -> list[str]:
    """Say what came out: of the run that decided most, and of the document by itself.

    Each verdict has one example: the claim that shows it most clearly. That is the largest effect
    which the whole interval supports; of what is contradicted, the largest distance from the
    published value. What the document says in words goes before the numbers of its tables, unless
    it is about a tie. No two examples rest on one datum or one measurement.

    Parameters
    ----------
    claims : sequence of Claim
        Of one study.

    Returns
    -------
    list of str
        At most five findings of one sentence each, for somebody who has read nothing else; the
        last one counts. Calibrations, and what is beyond the document, have no part in them.
    """
    tested = [one for one in claims if one.role in (Role.PREDICTION, Role.ARITHMETIC)]
    parts = by_place(tested)
    runs = [some for some in parts if is_measured(some[0])]
    speaks = max(runs, key=lambda some: len(_decided(some)), default=[])
    said = _examples(_decided(speaks))
    for some in parts:
        if some[0].testbed == UNMEASURED:
            said.append(f"Nothing was measured that could decide {how_many(some)}.")
        elif not is_measured(some[0]):
            said.append(_of_document(some))
    return [*said, _counts(speaks, len(runs))] if speaks else said


def _decided(claims: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in claims if claim.verdict in DECIDED]


def _examples(decided: Sequence[Claim]) -> list[str]:
    """Quote the clearest finding of each verdict, each on data of its own."""
    said, used = [], set[str]()
    for verdict, begins in _CLEAREST.items():
        some = [one for one in decided if one.verdict == verdict and not used & _rests_on(one)]
        if not some:
            continue
        clearest = max(filter(None, map(_clearest, some)), key=_clearness, default=None)
        claim = clearest.claim if clearest else next(filter(_is_sentence, some), some[0])
        used |= _rests_on(claim)
        said.append(f"{begins} concerns {_in_words(claim, clearest)}.")
    return said


def _rests_on(claim: Claim) -> set[str]:
    return {claim.datum, claim.cell or claim.datum}


def _clearest(claim: Claim) -> _Example | None:
    """Return the comparison that shows a claim's verdict best; None where none has an interval."""
    several = [
        _Example(claim, one, _strength(one, claim.verdict))
        for one in claim.compared
        if one.low is not None and one.high is not None
    ]
    return max(several, key=lambda one: one.strength, default=None)


def _clearness(found: _Example) -> tuple[bool, float]:
    in_words = isinstance(found.claim.published, str)
    return in_words and found.strength > math.log1p(TIE_MARGIN), found.strength


def _strength(one: Comparison, verdict: Verdict) -> float:
    """Return by which factor, as a logarithm, an interval lies off what it tells against.

    That is the published range for what is contradicted, else no difference. Zero where the
    interval reaches it, or where there is no factor between them.
    """
    if verdict == Verdict.CONTRADICTED:
        low, high = one.published
        return max(_factor(one.low, high), _factor(low, one.high))
    if one.low is None or one.low <= 0:  # any factor is possible
        return 0.0
    return max(_factor(one.low, one.neutral), _factor(one.neutral, one.high))


def _factor(above: float | None, below: float | None) -> float:
    if above is None or below is None or min(above, below) <= 0:
        return 0.0
    return max(0.0, math.log(above / below))


def _in_words(claim: Claim, found: _Example | None) -> str:
    """Say of a claim what it is about, and behind a colon what was published and measured."""
    subject = claim.quantity
    if found is None:
        measured = measured_text(claim)
        if not isinstance(claim.published, str):
            return f"{subject}: {_both(f'gives {published_text(claim)}', measured)}"
        if _is_sentence(claim):
            return f"the words {_quoted(claim.published)}: {_gives(measured)} for {subject}"
        return f"{subject}: {_both(f'says {_quoted(claim.published)}', measured)}"
    published, measured = both_texts(claim, found.one)
    if condition := _condition(claim, found.one):
        within = subject.endswith(")")
        subject = f"{subject[:-1]}; {condition})" if within else f"{subject} ({condition})"
    if not isinstance(claim.published, str):
        return f"{subject}: {_both(f'gives {published}', measured)}"
    implied = published if published.startswith(("above", "below")) else f"of {published}"
    if _is_sentence(claim):
        return (
            f"the words {_quoted(claim.published)}: for {subject}, they imply a value {implied}, "
            f"and {_gives(measured)}"
        )
    return f"{subject}: {_both(f'implies a value {implied}', measured)}"


def _both(document: str, measured: str) -> str:
    return f"the document {document}, and {_gives(measured)}"


def _gives(measured: str) -> str:
    return f"the measurement gives {measured}"


def _condition(claim: Claim, one: Comparison) -> str:
    """Return which one of several comparisons it is, without what the quantity says already."""
    parts = one.what.split(": ")
    return ": ".join(part for part in parts if part not in claim.quantity)


def _quoted(words: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{words}\N{RIGHT DOUBLE QUOTATION MARK}"


def _is_sentence(claim: Claim) -> bool:
    """Tell whether a claim quotes words of the document, not a number or what they imply."""
    published = claim.published
    return isinstance(published, str) and published.count(" ") > 2 and ": " not in published


def _counts(claims: Sequence[Claim], runs: int) -> str:
    """Count what one run decided, and say why it did not decide the rest."""
    decided = _decided(claims)
    first = claims[0]
    where = in_words(first.testbed, first.preset, first.machine)
    where += f" (one of {runs} runs)" if runs > 1 else ""
    counts = verdict_counts(decided)
    parts = [
        f"{_are(counts[verdict])} {words}{_independently(decided, verdict)}"
        for verdict, words in _OUTCOMES.items()
        if counts[verdict]
    ]
    said = f"The run on {where} decides {len(decided) or 'none'} of {_predictions(len(claims))}"
    said += f": {_listed(parts)}" if parts else ""
    return f"{said}{_why_not(claims)}."


def _are(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'}"


def _independently(claims: Sequence[Claim], verdict: Verdict) -> str:
    """Say on how many independent results a verdict rests, where claims share some."""
    some = [one for one in claims if one.verdict == verdict]
    count = independent(some)
    if count == len(some):
        return ""
    return f" ({count} independent result{'' if count == 1 else 's'})"


def _listed(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def _predictions(count: int) -> str:
    return f"{count} prediction{'' if count == 1 else 's'}"


def _why_not(claims: Sequence[Claim]) -> str:
    """Say of what is not decided how much scatters too much, and how much is out of reach."""
    counts = verdict_counts(claims)
    open_ones, cannot = counts[Verdict.UNDECIDED], counts[Verdict.NOT_TESTABLE]
    parts = [f"the repetitions leave {open_ones} undecided"] if open_ones else []
    if cannot:
        parts.append(f"{cannot} cannot be tested here{_shared(claims)}")
    return f"; {', and '.join(parts)}" if parts else ""


def _shared(claims: Sequence[Claim]) -> str:
    """Give the reason for which most of the untestable claims cannot be tested, if there is one."""
    reasons = Counter(
        claim.reason.partition(". ")[0].rstrip(".")
        for claim in claims
        if claim.verdict == Verdict.NOT_TESTABLE
    )
    for reason, count in reasons.most_common(1):
        if count > max(1, reasons.total() / 2):
            return f", {count} of them for this reason: {_quoted(reason)}"
    return ""


def _of_document(claims: Sequence[Claim]) -> str:
    decided = _decided(claims)
    wrong = [claim for claim in decided if claim.verdict == Verdict.CONTRADICTED]
    checked = f"{len(decided)} check{'' if len(decided) == 1 else 's'} of its own numbers"
    if not wrong:
        return f"The document passes {checked}."
    said = f"The document fails {len(wrong)} of {checked}"
    furthest = max(wrong, key=_discrepancy)
    if _discrepancy(furthest):
        printed, computed = published_text(furthest), measured_text(furthest)
        return (
            f"{said}, most clearly that of {furthest.quantity}: the document gives {printed}, and "
            f"the check gives {computed}."
        )
    return f"{said}, most often in {_most_often(decided, wrong)}."


def _discrepancy(claim: Claim) -> float:
    """Return the factor, as a logarithm, between a printed number and the one computed from it."""
    printed, computed = claim.published, claim.measured
    if not isinstance(printed, float) or not isinstance(computed, float):
        return 0.0
    return max(_factor(printed, computed), _factor(computed, printed))


def _most_often(decided: Iterable[Claim], wrong: Iterable[Claim]) -> str:
    """Name the place of the document that fails most often, and how often."""
    of_place = Counter(claim.source.place for claim in decided)
    place, count = Counter(claim.source.place for claim in wrong).most_common(1)[0]
    return f"{place} ({count} of {of_place[place]})"
