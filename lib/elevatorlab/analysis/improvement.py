"""Percentages of improvement, and how far printed digits determine them."""

from __future__ import annotations

from typing import Literal

Base = Literal["before", "after"]


def improvement_percent(before_s: float, after_s: float, base: Base = "before") -> float:
    """Return how much faster `after_s` is than `before_s`, in percent.

    Parameters
    ----------
    before_s, after_s : float
        Times in seconds; positive.
    base : {"before", "after"}
        Which time the saving is divided by. Tables 1 to 4 of "Do I/O Schedulers Perform
        Better in Virtual Machines or in Docker Containers?" divide by the time before
        (the virtual machine's); its Table 5 divides by the time after (the container's).

    Returns
    -------
    float
        Percent; negative when `after_s` is the slower one.

    Raises
    ------
    ValueError
        For a time that is not positive, or an unknown base.

    Examples
    --------
    >>> round(improvement_percent(94.133, 79.805), 2)
    15.22
    >>> round(improvement_percent(94.133, 79.805, base="after"), 2)
    17.95
    """
    if before_s <= 0 or after_s <= 0:
        raise ValueError(
            f"expected two positive times in seconds, found {before_s} and {after_s}: "
            "leave out reads that were not timed"
        )
    if base == "before":
        return (1 - after_s / before_s) * 100
    if base == "after":
        return (before_s / after_s - 1) * 100
    raise ValueError(f"expected base 'before' or 'after', found {base!r}")


def rounding_half_step(decimals: int) -> float:
    """Return how far a number printed with `decimals` decimals may be from the truth.

    Examples
    --------
    >>> rounding_half_step(3)
    0.0005
    """
    return 0.5 * 10.0**-decimals


def same_as_printed(value: float, printed: float, decimals: int) -> bool:
    """Whether `value` rounds to `printed` at the printed number of decimals.

    A value exactly half-way may have been rounded either way, so both are accepted.

    Examples
    --------
    >>> same_as_printed(83.3333, 83.33, decimals=2)
    True
    """
    return abs(value - printed) <= rounding_half_step(decimals) * (1 + 1e-6)


def ratio_range(numerator: float, denominator: float, half_step: float) -> tuple[float, float]:
    """Bound a ratio of two printed numbers, given how each was rounded.

    `numerator`, `denominator`: Printed numbers of the same unit, greater than `half_step`.
    `half_step`: Half a unit of the last printed digit, in that unit. Returns: Smallest and largest
    ratio that print as these numbers.

    Examples
    --------
    >>> low, high = ratio_range(0.002, 0.013, 0.0005)
    >>> round(low, 3), round(high, 3)
    (0.111, 0.2)
    """
    return (
        (numerator - half_step) / (denominator + half_step),
        (numerator + half_step) / (denominator - half_step),
    )


def improvement_range_percent(
    before_s: float, after_s: float, half_step_s: float, base: Base = "before"
) -> tuple[float, float]:
    """Bound an improvement computed from two printed times, in percent.

    `half_step_s`: Half a unit of the last printed digit, in seconds.

    Examples
    --------
    >>> low, high = improvement_range_percent(0.003, 0.002, 0.0005)
    >>> abs(round(low)), round(high)
    (0, 57)
    """
    return (
        improvement_percent(before_s - half_step_s, after_s + half_step_s, base),
        improvement_percent(before_s + half_step_s, after_s - half_step_s, base),
    )
