"""Estimates beside the published ranges that they were compared with, so that they can be drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..records import Record

if TYPE_CHECKING:
    from ..analysis.intervals import Interval

Range = tuple[float | None, float | None]
"""Lowest and highest value; None where the range has no end on that side."""


class Comparison(Record):
    """One estimate and the published range, on the scale on which they were compared.

    Attributes
    ----------
    what : str
        Which of a claim's comparisons this is, such as "bfq / none"; empty if it is the only one.
    value : float
        The estimate.
    low, high : float or None
        Its confidence interval; None after one repetition.
    published, allowed : Range
        The range of values that round to the published one, and this range widened by the
        tolerance.
    neutral : float
        The value that means "no difference".
    """

    what: str = ""
    value: float
    low: float | None
    high: float | None
    published: Range
    allowed: Range
    neutral: float


def comparison(
    measured: Interval,
    published: tuple[float, float],
    allowed: tuple[float, float],
    neutral: float,
    what: str = "",
) -> Comparison:
    """Return an estimate together with the published range that it is compared with.

    Examples
    --------
    >>> from elevatorlab.analysis.intervals import Interval
    >>> comparison(Interval(1.2, math.nan, math.nan, 1), (1, math.inf), (1, math.inf), 1).published
    (1.0, None)
    """
    return Comparison(
        what=what,
        value=measured.value,
        low=_finite(measured.low),
        high=_finite(measured.high),
        published=(_finite(published[0]), _finite(published[1])),
        allowed=(_finite(allowed[0]), _finite(allowed[1])),
        neutral=neutral,
    )


def _finite(end: float) -> float | None:
    return float(end) if math.isfinite(end) else None
