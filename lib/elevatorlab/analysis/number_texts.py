"""Numbers as people write them."""

from __future__ import annotations

import math


def plain(value: float, digits: int) -> str:
    """Write a number with `digits` significant digits; a large number gets no exponent.

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
    """Return how many significant digits of a value are justified by its interval's half width.

    The last digit of the value has the place of the half width's first digit, or the next place if
    that digit is a 1.

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


def rounded(value: float, low: float, high: float) -> tuple[str, str]:
    """Write a number, and its interval as "low to high", with the same decimals.

    Returns: The number and its interval, with the digits that the interval justifies. The text of
    the interval is empty if the interval is narrower than the last digit.

    Examples
    --------
    >>> rounded(37.2, 37.13, 37.27), rounded(12.3456, 11.914, 12.707)
    (('37.20', '37.13 to 37.27'), ('12.3', '11.9 to 12.7'))
    >>> rounded(2, 2, 2), rounded(26.98, 26.9799, 26.9801)
    (('2', ''), ('26.98', ''))
    """
    if low == high:
        return plain(value, EXACT_DIGITS), ""
    half_width = (high - low) / 2
    if value:
        step = math.floor(math.log10(abs(value))) - borne(value, half_width) + 1
    else:
        step = math.floor(math.log10(half_width))
    # Adding zero makes a rounded -0.0 a 0.
    number, *ends = (f"{round(one, -step) + 0.0:.{max(0, -step)}f}" for one in (value, low, high))
    return number, "" if set(ends) == {number} else " to ".join(ends)


def within(value: float, low: float, high: float) -> str:
    """Write a number and its interval in parentheses; see `rounded`.

    Examples
    --------
    >>> within(12.3456, 11.914, 12.707), within(0.01568, -0.003, 0.0344), within(2, 2, 2)
    ('12.3 (11.9 to 12.7)', '0.016 (-0.003 to 0.034)', '2')
    """
    number, interval = rounded(value, low, high)
    return f"{number} ({interval})" if interval else number


EXACT_DIGITS = 4
"""Significant digits of a number that does not scatter: nobody compares more."""
