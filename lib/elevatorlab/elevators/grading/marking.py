"""Marks for an order of dispatch, and for a number compared with the reference's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ...records import Record
from .. import check
from ..check.cases import CASES
from .assignments import Part, Scenario, Workload


class Marked(Record):
    """The marks of a part, and why."""

    #: The part.
    what: str
    #: Marks that are given, and the most that the part can get.
    marks: float
    of: int
    #: Sentences for the student.
    says: str
    #: For a scored part, how many times as good as the reference it is; otherwise None.
    ratio: float | None = None


def nothing(part: Part, why: str) -> Marked:
    """Return no marks for a part."""
    return Marked(what=part.what, marks=0, of=part.marks, says=why)


def everything(part: Part, says: str) -> Marked:
    """Return all marks for a part."""
    return Marked(what=part.what, marks=part.marks, of=part.marks, says=says)


def conformity(part: Part, checked: check.Conformity) -> Marked:
    """Mark the check, in proportion to the cases that passed; rounded down to half marks."""
    passed = sum(one.outcome == "passed" for one in checked.verdicts)
    marks = _halves(part.marks * passed / len(checked.verdicts))
    says = [f"{passed} of {len(checked.verdicts)} cases passed."]
    titles = {case.name: case for case in CASES}
    for one in checked.failures:
        # What a case says is a sentence with a full stop, but a line of the compiler has none.
        said = one.said.removesuffix(".")
        says.append(f"Not so: {titles[one.case].title} {said}. {titles[one.case].means}")
    return Marked(what=part.what, marks=marks, of=part.marks, says=" ".join(says))


def order(scenario: Scenario, found_kib: Sequence[int], right_kib: Sequence[int]) -> Marked:
    """Mark an order of dispatch.

    The reference's order gets all marks. Another order gets marks for each step, from one request
    to the next, that the reference's order has, too. Steps that would also come about by first
    come, first served do not count.

    `found_kib`, `right_kib`: Places of the requests, in the student's order of dispatch and in the
    reference's.
    """
    if list(found_kib) == list(right_kib):
        return everything(scenario, f"All {len(right_kib)} dispatches are in the right order.")
    wanted = set(pairwise(right_kib))
    common = wanted & set(pairwise(found_kib))
    for_nothing = set(pairwise(place_kib for _, place_kib in scenario.requests))
    share = len(common - for_nothing) / max(1, len(wanted - for_nothing))
    marks = min(_halves(scenario.marks * share), scenario.marks - 0.5)
    says = (
        f"{_first_difference(scenario, found_kib, right_kib)} "
        f"Of {len(wanted)} steps from one request to the next, {len(common)} are right."
    )
    return Marked(what=scenario.what, marks=marks, of=scenario.marks, says=says)


def _first_difference(
    scenario: Scenario, found_kib: Sequence[int], right_kib: Sequence[int]
) -> str:
    if sorted(found_kib) != sorted(right_kib):
        return (
            f"Expected {len(right_kib)} dispatches, one for each request; found {len(found_kib)}."
        )
    at = next(
        at for at, (one, other) in enumerate(zip(found_kib, right_kib, strict=True)) if one != other
    )
    came_ms = {place_kib: at_ms for at_ms, place_kib in scenario.requests}
    head = f"The head is at {_mib(right_kib[at - 1])} then. " if at else ""
    yours, right = (
        f"the request at {_mib(one[at])}, which came at {came_ms[one[at]]:g} ms"
        for one in (found_kib, right_kib)
    )
    return f"Dispatch {at + 1} is the first that differs. {head}Yours: {yours}. Right: {right}."


def _mib(place_kib: int) -> str:
    return f"{place_kib / 1024:.2f} MiB"


def measure(part: Workload, found: float, reference: float, best_ratio: float) -> Marked:
    """Mark a number that was measured.

    A number that is half as good as the reference's gets no marks. One that is `best_ratio` times
    as good gets all marks. In between, marks are linear in the ratio.
    """
    ratio = found / reference if part.measure == "rate" else reference / found
    share = min(1.0, max(0.0, (ratio - 0.5) / (best_ratio - 0.5)))
    unit = {"latency": "ms", "rate": "reads/s", "travel": "MiB"}[part.measure]
    yours, its = (f"{float(f'{number:.3g}'):g}" for number in (found, reference))
    says = f"{yours} {unit}; the reference has {its}: {ratio:.2f} times as good."
    marks = _halves(part.marks * share)
    return Marked(what=part.what, marks=marks, of=part.marks, says=says, ratio=round(ratio, 4))


def score(marked: Sequence[Marked], scored: int) -> float | None:
    """Return 100 times the geometric mean of the ratios; None if a scored part has no ratio.

    Examples
    --------
    >>> parts = [Marked(what=str(r), marks=1, of=1, says="", ratio=r) for r in (0.5, 2)]
    >>> score(parts, 2)
    100.0
    """
    ratios = [one.ratio for one in marked if one.ratio]
    if not scored or len(ratios) < scored:
        return None
    return round(100 * math.prod(ratios) ** (1 / scored), 1)


def _halves(marks: float) -> float:
    return math.floor(2 * marks) / 2
