"""How many data a number of claims rest on: those that share one count once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from .claim import Claim
from .verdicts import Verdict

#: A datum of which one claim has the published direction alone is not reproduced, whatever a claim
#: that is undecided may come to.
_FROM_WORST = (
    *(Verdict.CONTRADICTED, Verdict.CALIBRATION_MISSED, Verdict.DIRECTION_ONLY),
    *(Verdict.UNDECIDED, Verdict.REPRODUCED, Verdict.CALIBRATED),
)


def independent(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """Count the data that claims were tested on, by the worst verdict of each (`by_datum`).

    So the counts add up to the number of independent data. Verdicts without any are left out.
    """
    counts = Counter(worst(some) for some in by_datum(claims))
    return {verdict: counts[verdict] for verdict in Verdict if counts[verdict]}


def worst(claims: Iterable[Claim]) -> Verdict:
    """Return the worst verdict of claims that were tested."""
    return min((one.verdict for one in claims), key=_FROM_WORST.index)


def by_datum(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Group claims by what they were tested on: those that share a datum or measurement are one.

    A claim that is not testable is in no group.
    """
    groups: dict[Hashable, Hashable] = {}

    def root(node: Hashable) -> Hashable:
        while groups.setdefault(node, node) != node:
            node = groups[node]
        return node

    found = [one for one in claims if one.verdict != Verdict.NOT_TESTABLE]
    data = [(one.study, "datum", one.datum) for one in found]
    for one, datum in zip(found, data, strict=True):
        for cell in filter(None, (one.cell, one.reference_cell)):
            groups[root(datum)] = root((one.study, "cell", cell))
    by_root: dict[Hashable, list[Claim]] = {}
    for one, datum in zip(found, data, strict=True):
        by_root.setdefault(root(datum), []).append(one)
    return list(by_root.values())
