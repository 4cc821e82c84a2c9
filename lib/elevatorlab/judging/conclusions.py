"""What a study showed, in at most five plain sentences: computed from its claims alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .claims import UNMEASURED, Claim, by_place, how_many, is_measured, verdict_counts
from .families import Role
from .verdicts import DECIDED, Verdict

_OUTCOMES = {
    Verdict.REPRODUCED: "reproduced",
    Verdict.DIRECTION_ONLY: "the same in direction only",
    Verdict.CONTRADICTED: "contradicted",
}


def findings(claims: Sequence[Claim]) -> list[str]:
    """Say what came out: of the run that decided most, and of the document by itself.

    Parameters
    ----------
    claims : sequence of Claim
        Of one study.

    Returns
    -------
    list of str
        At most five sentences, for somebody who has read nothing else. Calibrations, and what is
        beyond the document, have no part in them.
    """
    tested = [one for one in claims if one.role in (Role.PREDICTION, Role.ARITHMETIC)]
    parts = by_place(tested)
    runs = [some for some in parts if is_measured(some[0])]
    said = _of_run(max(runs, key=lambda some: len(_decided(some))), len(runs)) if runs else []
    for some in parts:
        if some[0].testbed == UNMEASURED:
            said.append(f"Nothing was measured that could decide {how_many(some)}.")
        elif not is_measured(some[0]):
            said.append(_of_document(some))
    return said


def _of_run(claims: Sequence[Claim], runs: int) -> list[str]:
    decided = _decided(claims)
    where = claims[0].where + (f" (one of {runs} runs)" if runs > 1 else "")
    said = [
        f"The run {where} decides {len(decided)} of {_predictions(len(claims))}{_counted(decided)}."
    ]
    said += [
        sentence
        for verdict in (Verdict.REPRODUCED, Verdict.CONTRADICTED)
        if (sentence := _example(decided, verdict))
    ]
    return said if len(decided) == len(claims) else [*said, _why_not(claims)]


def _decided(claims: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in claims if claim.verdict in DECIDED]


def _predictions(count: int) -> str:
    return f"{count} prediction{'' if count == 1 else 's'}"


def _counted(decided: Sequence[Claim]) -> str:
    """Say ": 8 reproduced, 9 contradicted"; nothing of nothing."""
    counts = verdict_counts(decided)
    parts = [
        f"{counts[verdict]} {words}" for verdict, words in _OUTCOMES.items() if counts[verdict]
    ]
    return f": {', '.join(parts)}" if parts else ""


def _example(decided: Sequence[Claim], verdict: Verdict) -> str:
    """Quote a sentence of the document that came to one verdict alone, or name the best place."""
    verdicts: dict[str, set[Verdict]] = {}
    for claim in decided:
        verdicts.setdefault(str(claim.published), set()).add(claim.verdict)
    for claim in decided:
        text = str(claim.published)
        if _is_sentence(claim) and verdicts[text] == {verdict}:
            quoted = f"\N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}"
            return f"{str(verdict).capitalize()}, for example: {quoted}."
    place = _most_often(decided, verdict)
    return f"{str(verdict).capitalize()} most often: {place}." if place else ""


def _is_sentence(claim: Claim) -> bool:
    """Tell whether a claim quotes words of the document, not a number or what they imply."""
    published = claim.published
    return isinstance(published, str) and published.count(" ") > 2 and ": " not in published


def _most_often(decided: Sequence[Claim], verdict: Verdict) -> str:
    """Name the place of the document that came to a verdict most often, and how often."""
    of_place = Counter(claim.source.place for claim in decided)
    found = Counter(claim.source.place for claim in decided if claim.verdict == verdict)
    for place, count in found.most_common(1):
        return f"{place} ({count} of {of_place[place]})"
    return ""


def _why_not(claims: Sequence[Claim]) -> str:
    """Say of what is not decided how much scatters too much, and how much is out of reach."""
    counts = verdict_counts(claims)
    open_ones, cannot = counts[Verdict.UNDECIDED], counts[Verdict.NOT_TESTABLE]
    parts = [f"the repetitions leave {open_ones} undecided"] if open_ones else []
    if cannot:
        parts.append(f"{cannot} cannot be tested here{_shared(claims)}")
    said = ", and ".join(parts)
    return f"{said[0].upper()}{said[1:]}."


def _shared(claims: Sequence[Claim]) -> str:
    """Give the reason that most claims share which cannot be tested, if there is one."""
    reasons = Counter(
        claim.reason.partition(". ")[0].rstrip(".")
        for claim in claims
        if claim.verdict == Verdict.NOT_TESTABLE
    )
    for reason, count in reasons.most_common(1):
        if count > max(1, reasons.total() / 2):
            return f", {count} of them for one reason: {reason}"
    return ""


def _of_document(claims: Sequence[Claim]) -> str:
    decided = _decided(claims)
    wrong = sum(claim.verdict == Verdict.CONTRADICTED for claim in decided)
    checked = f"{len(decided)} check{'' if len(decided) == 1 else 's'} of its own numbers"
    if not wrong:
        return f"The document passes {checked}."
    place = _most_often(decided, Verdict.CONTRADICTED)
    return f"The document fails {wrong} of {checked}; most often: {place}."
