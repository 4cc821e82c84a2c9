"""Numbers as people write them."""

from __future__ import annotations


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
