"""Published and measured values as rows of a forest plot: positions for the pages to draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..judging.claim import Claim
from ..judging.comparison import Comparison, Range

WIDTH = 200
"""Width of a picture, in its own units."""

MARGIN = 8
"""Width that is left free on each side, for arrows."""

FURTHEST = (1.25, 1.5, 2, 4, 10)
"""An axis ends at the published value times one of these factors, and divided by this factor."""


class Row(NamedTuple):
    """One estimate as positions along the picture."""

    #: Which of a claim's comparisons this is; see `Comparison`.
    what: str
    #: The estimate, moved to the edge if it lies outside the picture.
    value: float
    #: low, high: Ends of the interval, cut off where the picture ends; None after one repetition.
    low: float | None
    high: float | None
    #: beyond_low, beyond_high: Whether the estimate or its interval goes beyond this edge of the
    #: picture.
    beyond_low: bool
    beyond_high: bool
    #: published, allowed: Ends of the published range, and of the allowed range.
    published: tuple[float, float]
    allowed: tuple[float, float]
    #: The value that means "no difference"; None if it lies outside the picture.
    neutral: float | None


class Picture(NamedTuple):
    """Rows on one axis, and the position of each mark of the axis, by the mark's label."""

    rows: list[Row]
    marks: dict[str, float]


def is_relative(one: Comparison) -> bool:
    """Tell whether an estimate can be shown as a multiple of the published value."""
    ends = [end for end in one.published if end is not None]
    return one.value > 0 and bool(ends) and min(ends) > 0


def relative(several: Sequence[Comparison]) -> Picture:
    """Draw estimates as multiples of what was published, on one logarithmic axis.

    A published range without an end on one side is represented by the other end.
    """
    far = max(abs(math.log(one.value / _middle(one.published))) for one in several)
    most = next((end for end in FURTHEST if math.log(end) >= far), FURTHEST[-1])

    def row(one: Comparison) -> Row:
        middle = _middle(one.published)

        def place(value: float) -> float:
            return math.log(value / middle) / math.log(most) if value > 0 else -math.inf

        return _row(one, place)

    marks = {f"1/{most:g}": 1 / most, "1": 1.0, f"{most:g}×": float(most)}
    return Picture(
        [row(one) for one in several],
        {words: _pixel(math.log(value) / math.log(most)) for words, value in marks.items()},
    )


def own_scale(one: Comparison) -> Picture:
    """Draw one estimate on a scale of its own, for values that may be zero or negative."""
    seen = [end for end in (one.value, *one.allowed, one.neutral) if end is not None]
    middle = (min(seen) + max(seen)) / 2
    half = 1.3 * (max(seen) - middle) or 1.0
    marks = {f"{value:.3g}": value for value in (min(seen), max(seen))}
    return Picture(
        [_row(one, lambda value: (value - middle) / half)],
        {words: _pixel((value - middle) / half) for words, value in marks.items()},
    )


def of_claim(claim: Claim) -> Picture | None:
    """Draw the comparisons that a claim rests on.

    None if there are no comparisons, or if there are several and not all are positive ratios.
    """
    if not claim.compared:
        return None
    if all(map(is_relative, claim.compared)):
        return relative(claim.compared)
    return own_scale(claim.compared[0]) if len(claim.compared) == 1 else None


def _middle(published: Range) -> float:
    ends = [end for end in published if end is not None]
    return math.sqrt(ends[0] * ends[-1])


def _row(one: Comparison, place: Callable[[float], float]) -> Row:
    low, high = (None if end is None else place(end) for end in (one.low, one.high))
    value, neutral = place(one.value), place(one.neutral)
    return Row(
        one.what,
        _pixel(value),
        None if low is None else _pixel(low),
        None if high is None else _pixel(high),
        min(value, math.inf if low is None else low) < -1,
        max(value, -math.inf if high is None else high) > 1,
        _ends(one.published, place),
        _ends(one.allowed, place),
        _pixel(neutral) if abs(neutral) <= 1 else None,
    )


def _ends(several: Range, place: Callable[[float], float]) -> tuple[float, float]:
    low, high = several
    return (
        0.0 if low is None else _pixel(place(low)),
        float(WIDTH) if high is None else _pixel(place(high)),
    )


def _pixel(place: float) -> float:
    """Map the range -1 to 1 to the picture; values beyond the range are moved to its ends."""
    inner = WIDTH / 2 - MARGIN
    return round(WIDTH / 2 + inner * min(1.0, max(-1.0, place)), 1)
