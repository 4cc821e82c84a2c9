"""The values of a claim in words: what was published, and what was measured with its interval."""

from __future__ import annotations

import math

from ..analysis.number_texts import EXACT_DIGITS, plain, within
from .claim import Claim
from .comparison import Comparison, Range

_PUBLISHED_DIGITS = 6
_RANGE_DIGITS = 3


def published_text(claim: Claim) -> str:
    """Write the published value with its unit, and with its ratio where that is compared."""
    if isinstance(claim.published, str):
        return claim.published
    value = _with_unit(plain(claim.published, _PUBLISHED_DIGITS), claim.unit)
    if claim.relative_to and claim.compared:
        return f"{value}, as a ratio {range_text(claim.compared[0].published)}"
    return value


def measured_text(claim: Claim) -> str:
    """Write a measured value and its interval with as many digits as the interval justifies.

    Returns: In the claim's own unit: "12.3 (11.9 to 12.7) ms"; the interval is that of the ratio
    where one is compared. Empty where nothing was measured.
    """
    if claim.measured is None or isinstance(claim.measured, str):
        return claim.measured or ""
    if claim.relative_to and claim.compared:
        value = _with_unit(plain(claim.measured, EXACT_DIGITS), claim.unit)
        return f"{value}, as a ratio {_scaled(claim.compared[0], 1)}"
    one = claim.compared[0] if len(claim.compared) == 1 else None
    if one is None or not _in_own_unit(claim):
        return _with_unit(plain(claim.measured, EXACT_DIGITS), claim.unit)
    return _with_unit(_scaled(one, claim.measured / one.value), claim.unit)


def both_texts(claim: Claim, one: Comparison) -> tuple[str, str]:
    """Write the published and the measured value of one comparison of a claim, in one unit.

    Returns: Without a unit where ratios are compared; in the claim's unit where a number was
    published; else on the scale of the comparison.
    """
    if claim.relative_to:
        return ratio_texts(one)
    if not isinstance(claim.published, str) and _in_own_unit(claim):
        scale = float(claim.measured or 0) / claim.compared[0].value
        return published_text(claim), _with_unit(_scaled(one, scale), claim.unit)
    unit = claim.unit if _compares_itself(claim) else ""
    return _with_unit(range_text(one.published), unit), _with_unit(_scaled(one, 1), unit)


def ratio_texts(one: Comparison) -> tuple[str, str]:
    """Write the published and the measured value as they are compared, without a unit."""
    return range_text(one.published), _scaled(one, 1)


def range_text(published: Range) -> str:
    """Write a published range.

    Examples
    --------
    >>> range_text((1.0, None)), range_text((None, 2.5)), range_text((0.2098, 0.2119))
    ('above 1', 'below 2.5', '0.21 to 0.212')
    """
    low, high = published
    if low is None or high is None:
        return f"above {_short(low)}" if low is not None else f"below {_short(high)}"
    ends = list(dict.fromkeys((_short(low), _short(high))))
    return " to ".join(ends)


def _in_own_unit(claim: Claim) -> bool:
    """Tell whether the first comparison gives the scale of the claim's own unit.

    That unit may be another than the comparison's: seconds, and not a ratio.
    """
    return isinstance(claim.measured, float) and bool(claim.compared and claim.compared[0].value)


def _compares_itself(claim: Claim) -> bool:
    """Tell whether the measured value itself is compared, and not a share or a ratio of it."""
    first = claim.compared[0].value if claim.compared else math.nan
    return isinstance(claim.measured, float) and math.isclose(claim.measured, first, rel_tol=1e-4)


def _scaled(one: Comparison, scale: float) -> str:
    if one.low is None or one.high is None:
        return plain(scale * one.value, EXACT_DIGITS)
    low, high = sorted((scale * one.low, scale * one.high))
    return within(scale * one.value, low, high)


def _short(end: float | None) -> str:
    return "" if end is None else plain(end, _RANGE_DIGITS)


def _with_unit(text: str, unit: str) -> str:
    if unit == "1/s":
        unit = "per second"
    if text == "1" and unit == "requests":
        unit = "request"
    return f"{text} {unit}".rstrip()
