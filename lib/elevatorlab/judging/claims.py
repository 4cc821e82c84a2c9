"""What the pages, the terminal and JSON say of judged claims: tables, counts, lists.

The verdicts themselves are made in `engine`.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .claim import PUBLISHED_DATA, UNMEASURED, Claim, Role, is_measured
from .independence import independent
from .matching import in_words
from .value_texts import measured_text, published_text
from .verdicts import DECIDED, Verdict

if TYPE_CHECKING:
    import pandas as pd

ROLES = {
    Role.PREDICTION: "predictions",
    Role.CALIBRATION: "calibrations",
    Role.IDENTITY: "identities",
    Role.ARITHMETIC: "arithmetic checks",
    Role.BEYOND: "beyond the document",
}
"""What counts call the claims of each role."""


def to_json(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """Return claims as plain objects, for `elevatorlab claims --json`."""
    return [claim.model_dump(mode="json") for claim in claims]


def to_frame(claims: Iterable[Claim]) -> pd.DataFrame:
    """Return claims as a table with one row per claim and run; the source is one text.

    `published_shown` and `measured_shown` have the values as pages show them: with unit, interval,
    and the ratio where that is compared.
    """
    import pandas as pd

    rows = [
        {
            **claim.model_dump(mode="json"),
            "source": str(claim.source),
            "published_shown": published_text(claim),
            "measured_shown": measured_text(claim),
        }
        for claim in claims
    ]
    columns = [*Claim.model_fields, "published_shown", "measured_shown"]
    return pd.DataFrame(rows, columns=columns)


def verdict_counts(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """Count the verdicts, in the order of `Verdict`, zeros included."""
    counts = Counter(claim.verdict for claim in claims)
    return {verdict: counts[verdict] for verdict in Verdict}


def role_counts(claims: Iterable[Claim]) -> dict[Role, dict[Verdict, int]]:
    """Count the verdicts of each role separately, without zeros and without empty roles."""
    found = list(claims)
    of_role = {role: [one for one in found if one.role == role] for role in Role}
    return {
        role: {verdict: count for verdict, count in verdict_counts(some).items() if count}
        for role, some in of_role.items()
        if some
    }


def counted(claims: Sequence[Claim]) -> str:
    """Count claims by role and verdict, in words, with the number of independent data.

    Examples
    --------
    >>> counted([])
    ''
    """
    parts = []
    for role, counts in role_counts(claims).items():
        data = independent(one for one in claims if one.role == role)
        verdicts = ", ".join(
            f"{count} {verdict}{independently(count, verdict, data)}"
            for verdict, count in counts.items()
        )
        parts.append(f"{ROLES[role]}: {verdicts}")
    return "; ".join(parts)


def independently(count: int, verdict: Verdict, data: Mapping[Verdict, int]) -> str:
    """Return in words on how many independent data a verdict rests: " (20 independent)".

    The text is empty if each claim has a datum of its own, or if the verdict is "not testable". A
    datum counts with its worst verdict, so that a better one may have none.
    """
    of_it = data.get(verdict, 0)
    if verdict == Verdict.NOT_TESTABLE or count == of_it:
        return ""
    return f" ({of_it} independent)" if of_it else " (on data of which another claim fares worse)"


def by_study(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Group claims by study; the groups and their claims keep the given order."""
    return _grouped(claims, lambda claim: claim.study)


def by_place(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Group claims by where they were judged: runs, then the document, then unmeasured claims."""
    kinds = {PUBLISHED_DATA: 1, UNMEASURED: 2}
    ordered = sorted(claims, key=lambda claim: kinds.get(claim.testbed, 0))
    return _grouped(ordered, lambda claim: claim.where)


def _grouped(claims: Iterable[Claim], key: Callable[[Claim], str]) -> list[list[Claim]]:
    found: dict[str, list[Claim]] = {}
    for claim in claims:
        found.setdefault(key(claim), []).append(claim)
    return list(found.values())


def summary(claims: Sequence[Claim]) -> str:
    """Say in one line how many claims came to which verdict; each run is counted separately.

    Examples
    --------
    >>> summary([])
    '0 claims.'
    """
    return " ".join([f"{how_many(claims)}.", *_counts(claims)])


def how_many(claims: Iterable[Claim]) -> str:
    """Say how many claims these are, "3 claims"; a claim that several runs judge counts once."""
    count = len({(claim.study, claim.id) for claim in claims})
    return f"{count} claim{'' if count == 1 else 's'}"


def overview(claims: Sequence[Claim], width: int = 80) -> str:
    """Return a paragraph per study for a terminal: its claims, counted by run and verdict."""
    parts = []
    for some in by_study(claims):
        parts.append(f"{some[0].study}: {how_many(some)}")
        parts += [textwrap.fill(line, width, **_INDENT) for line in _counts(some)]
        parts.append("")
    return "\n".join(parts).rstrip()


def _counts(claims: Iterable[Claim]) -> Iterable[str]:
    """Yield a sentence with counts for each run, for the document, and for unmeasured claims."""
    for some in by_place(claims):
        if some[0].testbed == UNMEASURED:
            yield f"Not judged, because nothing was measured: {len(some)}."
            continue
        title = "The documents' own arithmetic"
        if is_measured(some[0]):
            place = in_words(some[0].testbed, some[0].preset, some[0].machine)
            title = f"Measured on {place}"
        yield f"{title}: {counted(some)}."


def as_text(claims: Sequence[Claim], width: int = 80) -> str:
    """Return claims for a terminal, by run, role and verdict; untestable claims by reason."""
    parts = []
    for some in [part for study in by_study(claims) for part in by_place(study)]:
        parts.append(f"{some[0].study}: {some[0].where}")
        for role, counts in role_counts(some).items():
            for verdict, count in counts.items():
                parts.append(f"\n{ROLES[role]}: {verdict} ({count})")
                of_it = [one for one in some if (one.role, one.verdict) == (role, verdict)]
                lines = _by_reason if verdict == Verdict.NOT_TESTABLE else _one_by_one
                parts += lines(of_it, width)
        parts.append("")
    return "\n".join(parts).rstrip()


def _one_by_one(claims: Iterable[Claim], width: int) -> Iterable[str]:
    for claim in claims:
        yield f"  {claim.id.removeprefix(claim.study + '/')}"
        values = f"published {_quoted(published_text(claim), claim.published)}"
        if claim.measured is not None:
            values += f"; found {_quoted(measured_text(claim), claim.measured)}"
        yield textwrap.fill(f"{values}. {claim.reason}{_company(claim)}", width, **_INDENT)


def _quoted(text: str, value: float | str) -> str:
    """Put several words in quotation marks."""
    return f'"{text}"' if isinstance(value, str) and " " in text else text


def _company(claim: Claim) -> str:
    """Say how much a verdict counts: its p-values, and how many claims share its measurement."""
    said = ""
    if claim.p_value is not None and claim.verdict in DECIDED:
        said += f" p = {claim.p_value:.2g}, adjusted {claim.p_adjusted:.2g}."
    if others := len(claim.shared_with):
        who = "1 other claim rests" if others == 1 else f"{others} other claims rest"
        said += f" {who} on the same measurement ({claim.cell})."
    return said


def _by_reason(claims: Sequence[Claim], width: int) -> Iterable[str]:
    """Count the claims that share a reason, and list each claim whose reason is unique."""
    grounds = Counter(claim.ground for claim in claims)
    for ground, count in grounds.most_common():
        if count > 1:
            yield textwrap.fill(f"{count} \N{MULTIPLICATION SIGN} {ground}", width, **_INDENT)
    yield from _one_by_one((one for one in claims if grounds[one.ground] == 1), width)


_INDENT: dict[str, Any] = {"initial_indent": " " * 4, "subsequent_indent": " " * 6}
