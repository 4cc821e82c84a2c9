"""What a study showed, in a sentence for each run: computed from its claims, whatever they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .claims import UNMEASURED, Claim, by_place, how_many, is_measured, verdict_counts
from .evidence import independent
from .families import Role
from .verdicts import DECIDED, Verdict

MOST = 3
"""So many places of a document are named at most."""


def findings(claims: Sequence[Claim]) -> list[str]:
    """Say what came out, runs first, then what the document says of itself.

    Parameters
    ----------
    claims : sequence of Claim
        Of one study.

    Returns
    -------
    list of str
        One or two sentences for each run; no two are added up.
    """
    return [_finding(some) for some in by_place(claims)]


def _finding(claims: Sequence[Claim]) -> str:
    if claims[0].testbed == UNMEASURED:
        return f"Nothing was measured that could decide the other {how_many(claims)}."
    tested = [one for one in claims if one.role in (Role.PREDICTION, Role.ARITHMETIC)]
    decided = [claim for claim in tested if claim.verdict in DECIDED]
    others = [claim for claim in tested if claim.verdict == Verdict.NOT_TESTABLE]
    measured = is_measured(claims[0])
    what = f"Measured on {claims[0].where}" if measured else "By the document's own numbers"
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in verdict_counts(decided).items() if n)
    kind = "prediction" if measured else "claim"
    of_all = f"{len(tested)} {kind}{'' if len(tested) == 1 else 's'}"
    sentence = f"{what}, {len(decided)} of {of_all} could be decided"
    sentence += f" ({verdicts}; {independent(decided)} independent)." if verdicts else "."
    return sentence + _where_contradicted(decided) + _why_not(others)


def _where_contradicted(decided: Sequence[Claim]) -> str:
    """Name the places of the document that are contradicted more than once, and how often."""
    of_place = Counter(claim.source.place for claim in decided)
    contradicted = Counter(
        claim.source.place for claim in decided if claim.verdict == Verdict.CONTRADICTED
    )
    often = [
        f"{place} ({n} of {of_place[place]})"
        for place, n in contradicted.most_common(MOST)
        if n > 1
    ]
    return f" Contradicted most often: {'; '.join(often)}." if often else ""


def _why_not(others: Sequence[Claim]) -> str:
    """Give the reason that most claims share which cannot be decided, if there is one."""
    reasons = Counter(claim.reason.partition(". ")[0].rstrip(".") for claim in others)
    for reason, count in reasons.most_common(1):
        if count > max(1, len(others) / 2):
            return f" Of the {len(others)} others {count} share one reason: {reason}."
    return ""
