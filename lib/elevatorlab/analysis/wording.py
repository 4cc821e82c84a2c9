"""Numbers as people write them."""

from __future__ import annotations

import math


def plain(value: float, digits: int) -> str:
    """Write a number to so many significant digits, a large one without an exponent.

    Examples
    --------
    >>> plain(612.3, 2)
    '610'
    >>> plain(4200662.1, 6)
    '4200660'
    >>> plain(0.25, 6)
    '0.25'
    """
    return f"{float(f'{value:.{digits}g}'):.15g}"


def borne(value: float, half_width: float) -> int:
    """Return how many significant digits an interval of this half width bears.

    The last digit is the first one that the interval leaves open, and one more where that one is
    a 1.

    Examples
    --------
    >>> borne(123.456, 0.2), borne(123.456, 20), borne(123.456, 12), borne(0.5, 3)
    (4, 2, 3, 1)
    """
    if not value or not half_width:
        return EXACT_DIGITS
    power = math.floor(math.log10(half_width))
    if half_width / 10**power < 2:
        power -= 1
    return min(EXACT_DIGITS, max(1, math.floor(math.log10(abs(value))) - power + 1))


def within(value: float, low: float, high: float) -> str:
    """Write a number and the ends of its interval, in digits that the interval bears.

    Examples
    --------
    >>> within(12.3456, 11.914, 12.707), within(0.01568, -0.003, 0.0344), within(2, 2, 2)
    ('12.3 (11.9 to 12.7)', '0.016 (-0.003 to 0.034)', '2')
    """
    digits = borne(value, (high - low) / 2)
    if low == high or not value:
        return plain(value, digits)
    step = math.floor(math.log10(abs(value))) - digits + 1
    ends = " to ".join(f"{round(end, -step) + 0.0:.10g}" for end in (low, high))
    return f"{plain(value, digits)} ({ends})"


EXACT_DIGITS = 4
"""What does not scatter is written with so many: nobody compares more."""
