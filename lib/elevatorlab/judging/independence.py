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
    """Count the data that claims were tested on: those that share a datum or measurement are one.

    Each datum counts once, with the worst of its claims' verdicts. So the counts add up to the
    number of independent data. A claim that is not testable has none. Verdicts without any are left
    out.
    """
    groups: dict[Hashable, Hashable] = {}
    worst: dict[Hashable, int] = {}

    def root(node: Hashable) -> Hashable:
        while groups.setdefault(node, node) != node:
            node = groups[node]
        return node

    found = [one for one in claims if one.verdict != Verdict.NOT_TESTABLE]
    data = [(one.study, "datum", one.datum) for one in found]
    for one, datum in zip(found, data, strict=True):
        for cell in filter(None, (one.cell, one.reference_cell)):
            groups[root(datum)] = root((one.study, "cell", cell))
    for one, datum in zip(found, data, strict=True):
        rank = _FROM_WORST.index(one.verdict)
        worst[root(datum)] = min(rank, worst.get(root(datum), rank))
    counts = Counter(_FROM_WORST[rank] for rank in worst.values())
    return {verdict: counts[verdict] for verdict in Verdict if counts[verdict]}
