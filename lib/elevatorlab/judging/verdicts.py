"""The rules of judgement: what a measured estimate makes of a published number."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..analysis.intervals import Interval

TIE_MARGIN = 0.01
"""Differences of less than 1 % are called a tie."""


class Verdict(StrEnum):
    """What a claim can come to; see idea 6 of the design."""

    REPRODUCED = "reproduced"
    DIRECTION_ONLY = "direction only"
    CONTRADICTED = "contradicted"
    NOT_TESTABLE = "not testable here"


class Judgement(NamedTuple):
    """What a judging function returns: the verdict, the value that it rests on, and why."""

    verdict: Verdict
    measured: float | str | None
    reason: str


def not_testable(reason: str) -> Judgement:
    """Judge that nothing was measured here that could decide, and why."""
    return Judgement(Verdict.NOT_TESTABLE, None, reason)


def reproduced_if(holds: bool) -> Verdict:
    """Return the verdict on what holds or does not, with nothing between."""
    return Verdict.REPRODUCED if holds else Verdict.CONTRADICTED


def widened(bounds: tuple[float, float], tolerance: float) -> tuple[float, float]:
    """Widen a range of positive values by a share of its ends.

    >>> widened((1, 2), 0.5)
    (0.5, 3.0)
    """
    low, high = bounds
    return low * (1 - tolerance), high * (1 + tolerance)


def six_digits(value: float) -> float:
    """Return six significant digits: more would suggest a precision that nobody has."""
    return float(f"{value:.6g}")


def compare(
    measured: Interval,
    published: tuple[float, float],
    *,
    neutral: float,
    margin: float,
    allowed: tuple[float, float] | None = None,
) -> tuple[Verdict, str]:
    """Hold an estimate against a published range.

    *Reproduced*: the whole interval lies in the allowed range. *Direction only*: it does not,
    but is on the published side of `neutral`. *Contradicted*: it is on the other side, or
    wholly outside the allowed range. Where the repetitions decide none of this, or there
    is only one, *not testable here*: imprecision never reproduces anything.

    Parameters
    ----------
    measured : Interval
        The estimate.
    published : tuple of float
        Range that rounding leaves to the published value.
    neutral, margin : float
        "No difference", and the smallest difference that counts; see `Interval.direction`.
    allowed : tuple of float
        `published` widened by the tolerance; `published` itself by default.

    Returns
    -------
    Verdict, str
        The verdict, and its reason as the end of a sentence.
    """
    low, high = allowed or published
    claimed = 1 if published[0] > neutral else -1 if published[1] < neutral else 0
    if not measured.bounded:
        return Verdict.NOT_TESTABLE, "one repetition does not decide it"
    side = measured.direction(neutral, margin)
    if side is not None and side == -claimed != 0:
        return Verdict.CONTRADICTED, "the opposite direction"
    if low <= measured.low and measured.high <= high:
        return Verdict.REPRODUCED, "the whole interval is within the allowed range"
    if side is not None and side == claimed != 0:
        return Verdict.DIRECTION_ONLY, "the same direction, another size"
    if measured.low > high or measured.high < low:
        return Verdict.CONTRADICTED, "the interval excludes the allowed range"
    return Verdict.NOT_TESTABLE, "the repetitions do not decide it"


def ordering(pairs: Mapping[str, tuple[Interval, bool]], margin: float) -> tuple[Verdict, str]:
    """Judge a claimed order from the ratio slower/faster of each pair that it names.

    Parameters
    ----------
    pairs : mapping of str to (Interval, bool)
        For each pair, by a name such as "bfq / none": the measured ratio, which the
        document says is above 1, and whether the interval excludes the published ratio.
    margin : float
        The smallest relative difference that counts.

    Returns
    -------
    Verdict, str
        The verdict, and one clause for each pair.
    """
    words = {1: "as published", -1: "the other way round", 0: "a tie", None: "undecided"}
    sides = {name: ratio.direction(1, margin) for name, (ratio, _) in pairs.items()}
    reason = "; ".join(
        f"{name} = {ratio.text()}: {words[sides[name]]}" for name, (ratio, _) in pairs.items()
    )
    values = list(sides.values())
    if -1 in values:
        return Verdict.CONTRADICTED, reason
    if all(side == 1 for side in values):
        return Verdict.REPRODUCED, reason
    if 1 in values:
        return Verdict.DIRECTION_ONLY, reason
    if all(sides[name] == 0 and excluded for name, (_, excluded) in pairs.items()):
        return Verdict.CONTRADICTED, reason
    return Verdict.NOT_TESTABLE, reason
