"""What a study showed, in at most five sentences: computed from its claims alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from .claim import UNMEASURED, Claim, Role, is_measured
from .claims import by_place, by_study, how_many, independently, verdict_counts
from .comparison import Comparison
from .independence import by_datum, independent, worst
from .matching import DETERMINISTIC, in_words
from .value_texts import both_texts, measured_text, published_text
from .verdicts import DECIDED, TIE_MARGIN, Verdict

_OUTCOMES = {
    Verdict.REPRODUCED: ("is reproduced", "are reproduced"),
    Verdict.CONTRADICTED: ("is contradicted", "are contradicted"),
    Verdict.DIRECTION_ONLY: ("holds in direction only", "hold in direction only"),
    Verdict.UNDECIDED: ("is undecided", "are undecided"),
    Verdict.NOT_TESTABLE: ("cannot be tested here", "cannot be tested here"),
}
_CLEAREST = {
    Verdict.REPRODUCED: "Reproduced",
    Verdict.CONTRADICTED: "Contradicted",
    Verdict.DIRECTION_ONLY: "In direction only",
}

MOST_FINDINGS = 5
MOST_WORDS = 30
"""A finding that would be longer with the document's words does not quote them."""


class Example(NamedTuple):
    """A claim, the comparison that shows its verdict most clearly, and how clearly."""

    claim: Claim
    one: Comparison
    strength: float


def findings(claims: Sequence[Claim], turned: Collection[str] = ()) -> list[str]:
    """Say what came out: of the run that decided most, and of the document by itself.

    The first finding counts. Then each verdict has one example: the claim that shows it most
    clearly. That is the largest effect which the whole interval supports; of what is contradicted,
    the largest distance from the published value. What the document says in words goes before the
    numbers of its tables, unless it is about a tie. No example rests on a datum that is counted
    with a worse verdict, so no two rest on one.

    Returns: At most five findings of one sentence each, for somebody who has read nothing else.
    Calibrations, and what is beyond the document, have no part in them. `turned`: See `totals`.
    """
    roles = (Role.PREDICTION, Role.ARITHMETIC)
    tested = [_if_it_stands(one, turned) for one in claims if one.role in roles]
    parts = by_place(tested)
    runs = [some for some in parts if is_measured(some[0])]
    speaks = _deciding_most(runs)
    said = _examples(_speaking_for_data(speaks))
    for some in parts:
        if some[0].testbed == UNMEASURED:
            said.append(f"Nothing was measured that could decide {how_many(some)}.")
        elif not is_measured(some[0]):
            said.append(_of_document(some))
    if not speaks:
        return said
    why = [_why_not(speaks)] if len(said) + 1 < MOST_FINDINGS else []
    return [_counts(speaks, len(runs)), *filter(None, why), *said]


def totals(claims: Sequence[Claim], turned: Collection[str] = ()) -> str:
    """Count the predictions of all studies in one sentence: how many were tested, on what data.

    Of each study, the run that decided most counts. Predictions that share a datum or a measurement
    are one datum, with the worst of their verdicts (`independence.independent`). `turned`: Claims
    that another deterministic machine decides otherwise (`sensitivity.flips`): nobody knows which
    machine is the document's, so they are not testable here.
    """
    documents = outcomes(claims, turned)
    counted = sum(one.predictions for one in documents)
    tested = sum(one.tested for one in documents)
    data = Counter[Verdict]()
    for one in documents:
        data.update(one.data)
    split = ", ".join(f"{data[verdict]} {verdict}" for verdict in Verdict if data[verdict])
    return (
        f"{counted} predictions in {len(documents)} documents: {tested} were "
        f"tested, {counted - tested} are not testable here. The tested ones rest on "
        f"{data.total()} independent data{': ' if split else ''}{split}."
    )


class Outcome(NamedTuple):
    """What became of a document's predictions."""

    study: str
    predictions: int
    tested: int
    #: Independent data that the tested ones rest on, by the worst of their verdicts.
    data: dict[Verdict, int]


def outcomes(claims: Sequence[Claim], turned: Collection[str] = ()) -> list[Outcome]:
    """Return what became of each document's predictions in the run that decided most.

    `turned`: See `totals`.
    """
    found = []
    for some in by_study([one for one in claims if one.role == Role.PREDICTION]):
        counted = [_if_it_stands(one, turned) for one in _deciding_most(by_place(some))]
        tested = [one for one in counted if one.verdict != Verdict.NOT_TESTABLE]
        found.append(Outcome(some[0].study, len(counted), len(tested), independent(counted)))
    return found


def _if_it_stands(claim: Claim, turned: Collection[str]) -> Claim:
    if claim.testbed != DETERMINISTIC or claim.id not in turned:
        return claim
    turns = {"verdict": Verdict.NOT_TESTABLE, "ground": "Another machine decides it otherwise."}
    return claim.model_copy(update=turns)


def _deciding_most(runs: Sequence[list[Claim]]) -> list[Claim]:
    return max(runs, key=lambda some: len(_decided(some)), default=[])


def clearest(
    claims: Sequence[Claim], turned: Collection[str] = (), verdict: Verdict | None = None
) -> Claim | None:
    """Return the decided prediction with the largest effect, in the run that decided most.

    The effect is the one by which `findings` chooses its examples. None if nothing was decided.
    `turned`: See `totals`. `verdict`: Of the claim, and of the datum that it rests on.
    """
    predictions = [one for one in claims if one.role == Role.PREDICTION and is_measured(one)]
    standing = [_if_it_stands(one, turned) for one in _deciding_most(by_place(predictions))]
    speaking = [one for one in _speaking_for_data(standing) if verdict in (None, one.verdict)]
    found = map(example, speaking)
    best = max(filter(None, found), key=_clearness, default=None)
    return best.claim if best else None


def headlines(claims: Sequence[Claim], name: str) -> list[str]:
    """Say what was published, what was measured, and the verdict, of the claim called `name`.

    Returns: A line for each run in which the claim was judged.
    """
    lines = []
    for claim in claims:
        if claim.id == name:
            published = published_text(claim)
            says = _quoted(published) if claim.quoted else published
            measured = measured_text(claim) or "nothing that could tell"
            role = "" if claim.role == Role.PREDICTION else f" ({claim.role})"
            lines.append(
                f"{claim.quantity}: published {says}, measured {measured}: {claim.verdict}{role}"
            )
    return lines


def _decided(claims: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in claims if claim.verdict in DECIDED]


def _speaking_for_data(claims: Sequence[Claim]) -> list[Claim]:
    """Return the decided claims that have the verdict with which their datum is counted."""
    grouped = [(some, worst(some)) for some in by_datum(claims)]
    return _decided([one for some, verdict in grouped for one in some if one.verdict == verdict])


def _examples(decided: Sequence[Claim]) -> list[str]:
    """Quote the clearest finding of each verdict."""
    said = []
    for verdict, begins in _CLEAREST.items():
        some = [one for one in decided if one.verdict == verdict]
        if not some:
            continue
        best = max(filter(None, map(example, some)), key=_clearness, default=None)
        claim = best.claim if best else next((one for one in some if one.quoted), some[0])
        said.append(f"{begins}: {_in_words(claim, best)}.")
    return said


def example(claim: Claim) -> Example | None:
    """Return the comparison that shows a claim's verdict best; None where none has an interval.

    Of several that contradict a claim, it is the one that comes nearest to the document: what the
    document left open is then no way out.
    """
    several = [
        Example(claim, one, _strength(one, claim.verdict))
        for one in claim.compared
        if one.low is not None and one.high is not None
    ]
    against = [one for one in several if one.strength > 0]
    if claim.verdict == Verdict.CONTRADICTED and against:
        return min(against, key=lambda one: one.strength)
    return max(several, key=lambda one: one.strength, default=None)


def _clearness(found: Example) -> tuple[bool, float]:
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


def _in_words(claim: Claim, found: Example | None) -> str:
    """Say of what there are two numbers: the document's, and the measured one."""
    subject = subject_of(claim, found)
    if found is None:
        published, measured = published_text(claim), measured_text(claim)
        said = _quoted(published) if claim.quoted else published
        return f"{subject}: {said} in the document, {measured} here"
    where = "implied by the document" if isinstance(claim.published, str) else "in the document"
    published, measured = both_texts(claim, found.one)
    numbers = f"{published} {where}, {measured} here"
    if claim.quoted:
        quoting = f"{_quoted(str(claim.published))}, {subject}: {numbers}"
        if len(quoting.split()) <= MOST_WORDS:
            return quoting
    return f"{subject}: {numbers}"


def subject_of(claim: Claim, found: Example | None) -> str:
    """Return what a claim is about, relative to what, and which of several comparisons it is."""
    subject = claim.quantity
    if claim.relative_to:
        subject = f"{subject}, relative to {claim.relative_to}"
    parts = found.one.what.split(": ") if found else []
    # without what the quantity says already
    which = ": ".join(part for part in parts if part not in claim.quantity)
    if not which:
        return subject
    return f"{subject[:-1]}; {which})" if subject.endswith(")") else f"{subject} ({which})"


def _quoted(words: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{words}\N{RIGHT DOUBLE QUOTATION MARK}"


def _counts(claims: Sequence[Claim], runs: int) -> str:
    """Count what came of the predictions of one run."""
    first = claims[0]
    where = f" on {in_words(first.testbed, first.preset, first.machine)} (one of {runs} runs)"
    counts, data = verdict_counts(claims), independent(claims)
    parts = [
        f"{counts[verdict]} {words[counts[verdict] > 1]}"
        f"{independently(counts[verdict], verdict, data)}"
        for verdict, words in _OUTCOMES.items()
        if counts[verdict]
    ]
    many = f"{len(claims)} prediction{'' if len(claims) == 1 else 's'}"
    return f"Of {many}{where if runs > 1 else ''}, {_listed(parts)}."


def _listed(parts: Sequence[str]) -> str:
    *others, last = parts
    comma = "," if len(others) > 1 else ""
    return f"{', '.join(others)}{comma} and {last}" if others else last


def _why_not(claims: Sequence[Claim]) -> str:
    """Give the most frequent reason for which claims cannot be tested, if several share it."""
    reasons = Counter(
        claim.ground.rstrip(".") for claim in claims if claim.verdict == Verdict.NOT_TESTABLE
    )
    for reason, count in reasons.most_common(1):
        if count > 1:
            total = reasons.total()
            of_all = f"All {count}" if count == total else f"{count} of the {total}"
            return f"{of_all} that cannot be tested have one reason: {_quoted(reason)}."
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
        return f"{said}: it gives {printed} for {furthest.quantity}; computed: {computed}."
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
