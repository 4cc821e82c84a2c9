"""Confidence intervals over repetitions, and what they allow one to say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from scipy import special

from .number_texts import EXACT_DIGITS, plain, rounded

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes
    ----------
    value, low, high : float
        Estimate and bounds, in the unit of what was estimated. With one repetition the
        bounds are NaN: one value says nothing about its own spread.
    repetitions : int
        How many repetitions the estimate rests on.
    logarithmic : bool
        Whether the interval is Student's on the logarithms of the values.

    Examples
    --------
    >>> Interval(1.2, 1.15, 1.25, 5).text()
    '1.20 (95% CI 1.15 to 1.25, n = 5)'
    """

    value: float
    low: float
    high: float
    repetitions: int
    logarithmic: bool = False

    @property
    def bounded(self) -> bool:
        """Whether there is an interval at all (two repetitions or more)."""
        return self.repetitions >= 2

    @property
    def identical(self) -> bool:
        """Whether all repetitions gave the same value: no variance to estimate."""
        return self.bounded and self.low == self.high

    def not_negative(self) -> Interval:
        """Return the interval of a quantity that is never negative, with negative ends raised to 0.

        >>> mean_interval([0.0, 0.0, 3.0]).not_negative().text(" s")
        '1 s (95% CI 0 to 5, n = 3)'
        """
        return self.map(lambda value: max(0.0, value))

    def map(self, function: Callable[[float], float]) -> Interval:
        """Apply a monotonic function to the estimate and to both bounds."""
        ends = function(self.low), function(self.high)
        return Interval(function(self.value), min(ends), max(ends), self.repetitions)

    def direction(self, neutral: float, margin: float) -> int | None:
        """Say on which side of `neutral` the truth lies, if the interval supports it.

        Parameters
        ----------
        neutral : float
            The value that means "no difference": 1 for a ratio, 0 for a percentage.
        margin : float
            The smallest difference from `neutral` that counts, in the estimate's unit.

        Returns
        -------
        int or None
            1 above or -1 below: the whole interval is beyond the margin. 0, a tie: the whole
            interval is within the margin. None: the repetitions do not decide the side.

        Examples
        --------
        >>> Interval(1.20, 1.15, 1.25, 5).direction(neutral=1, margin=0.01)
        1
        >>> Interval(1.001, 0.999, 1.003, 5).direction(neutral=1, margin=0.01)
        0
        >>> Interval(1.20, 0.90, 1.60, 2).direction(neutral=1, margin=0.01) is None
        True
        """
        if not self.bounded:
            return None
        if max(abs(self.low - neutral), abs(self.high - neutral)) <= margin:
            return 0
        return 1 if self.low > neutral + margin else -1 if self.high < neutral - margin else None

    def p_value(self, truth: float) -> float:
        """Return the two-sided p-value of Student's t test of one possible true value.

        It is below 0.05 exactly if the 95 % interval does not contain that value. It is exact for
        means and for geometric means. After `map`, it is approximate: it takes the scale as linear
        between the estimate and each end of the interval.

        Parameters
        ----------
        truth : float
            The possible true value, in the estimate's unit.

        Examples
        --------
        >>> round(mean_interval([1.0, 2.0, 3.0]).p_value(0), 4)
        0.0742
        """
        if math.isinf(truth) or (self.logarithmic and truth <= 0):
            return 0.0
        scale = math.log if self.logarithmic else float
        end = self.high if truth > self.value else self.low
        half = scale(end) - scale(self.value)
        if half == 0:  # the repetitions are the same but for rounding
            return float(truth == self.value)
        distance = (scale(truth) - scale(self.value)) / half * _student(self.repetitions)
        return float(2 * special.stdtr(self.repetitions - 1, -abs(distance)))

    def with_repetitions(self, repetitions: int) -> Interval:
        """Return the interval that more repetitions of the same mean and scatter would give.

        Examples
        --------
        >>> mean_interval([1.0, 2.0, 3.0]).with_repetitions(12).text()
        '2.0 (95% CI 1.4 to 2.6, n = 12)'
        """
        narrower = _student(repetitions) / _student(self.repetitions)
        narrower *= math.sqrt(self.repetitions / repetitions)
        scale, back = (math.log, math.exp) if self.logarithmic else (float, float)
        middle = scale(self.value)
        low, high = (
            back(middle + narrower * (scale(end) - middle)) for end in (self.low, self.high)
        )
        return Interval(self.value, low, high, repetitions, self.logarithmic)

    def text(self, unit: str = "") -> str:
        """Write the estimate, its interval and the number of repetitions for a reader."""
        if not self.bounded:
            return f"{plain(self.value, EXACT_DIGITS)}{unit} (one repetition, so no interval)"
        if self.identical:
            number = plain(self.value, EXACT_DIGITS)
            same = f"identical in all {self.repetitions} repetitions: zero variance"
            return f"{number}{unit} ({same})"
        number, ends = rounded(self.value, self.low, self.high)
        bounds = ends or "narrower than the last digit"
        return f"{number}{unit} ({CONFIDENCE:.0%} CI {bounds}, n = {self.repetitions})"


@cache
def _student(repetitions: int) -> float:
    """Return half the width of an interval, in standard errors, at the confidence `CONFIDENCE`."""
    return float(special.stdtrit(repetitions - 1, (1 + CONFIDENCE) / 2))


def mean_interval(values: Iterable[float]) -> Interval:
    """Estimate a mean with Student's t interval, at the confidence `CONFIDENCE`.

    Parameters
    ----------
    values : iterable of float
        One value per repetition. Equal values give an interval of zero width.

    Returns
    -------
    Interval
        In the unit of `values`.

    Raises
    ------
    ValueError
        Without values, or for a value that is not finite.

    References
    ----------
    Student, "The probable error of a mean", Biometrika 6(1), 1908.

    Examples
    --------
    >>> mean_interval([2.0, 2.0, 2.0]).identical
    True
    >>> mean_interval([1.0, 2.0, 3.0]).text()
    '2 (95% CI 0 to 4, n = 3)'
    """
    sample = np.asarray(list(values), dtype=float)
    if sample.size == 0 or not np.isfinite(sample).all():
        raise ValueError(
            f"expected at least one finite value, found {sample.tolist()}: "
            "leave out repetitions that were not measured"
        )
    if sample.size == 1:
        return Interval(float(sample[0]), math.nan, math.nan, 1)
    if np.ptp(sample) == 0:
        value = float(sample[0])
        return Interval(value, value, value, sample.size)
    mean = float(sample.mean())
    error = sample.std(ddof=1) / math.sqrt(sample.size)
    half = float(_student(sample.size) * error)
    return Interval(mean, mean - half, mean + half, sample.size)


def geometric_interval(values: Iterable[float]) -> Interval:
    """Estimate a geometric mean with Student's t interval on the logarithms.

    Returns: In the unit of `values`; both bounds are positive.

    Examples
    --------
    >>> round(geometric_interval([1.0, 4.0]).value, 6)
    2.0
    """
    sample = np.asarray(list(values), dtype=float)
    if sample.size == 0 or not (sample > 0).all():
        raise ValueError(
            f"expected at least one value, all positive, found {sample.tolist()}: "
            "leave out repetitions that were not measured"
        )
    if np.ptp(sample) == 0:
        return mean_interval(sample)
    return replace(mean_interval(np.log(sample)).map(math.exp), logarithmic=True)


def differ(one: Interval, other: Interval) -> float | None:
    """Return the two-sided p-value of Welch's test that two means are the same.

    `one`, `other`: From `mean_interval`.

    References
    ----------
    Welch, "The generalization of Student's problem when several different population variances
    are involved", Biometrika 34(1-2), 1947.

    Examples
    --------
    >>> round(differ(mean_interval([1.0, 2.0, 3.0]), mean_interval([4.0, 6.0, 8.0])), 4)
    0.0548
    """
    if not (one.bounded and other.bounded) or one.identical or other.identical:
        return None
    errors = [(each.high - each.low) / 2 / _student(each.repetitions) for each in (one, other)]
    shares = [
        error**4 / (each.repetitions - 1) for error, each in zip(errors, (one, other), strict=True)
    ]
    variance = sum(error**2 for error in errors)
    distance = (one.value - other.value) / math.sqrt(variance)
    return float(2 * special.stdtr(variance**2 / sum(shares), -abs(distance)))


def ratio_interval(numerator: pd.Series, denominator: pd.Series) -> Interval:
    """Estimate a ratio of positive quantities, paired by repetition.

    The estimate is the geometric mean of the paired ratios. The interval is Student's on their
    logarithms, so that a/b and b/a say the same thing.

    Parameters
    ----------
    numerator, denominator : pandas.Series
        Positive values indexed by repetition. Only repetitions that both have are used.

    Returns
    -------
    Interval
        Without a unit.

    Raises
    ------
    ValueError
        When no repetition has both values, or a value is not positive.

    Examples
    --------
    >>> ratio_interval(pd.Series([2.0, 4.0]), pd.Series([1.0, 2.0])).value
    2.0
    """
    above, below = numerator.dropna().align(denominator.dropna(), join="inner")
    if above.empty or (above <= 0).any() or (below <= 0).any():
        raise ValueError(
            "expected positive values that share at least one repetition, found "
            f"{numerator.to_dict()} over {denominator.to_dict()}: measure both sides with "
            "the same repetition numbers"
        )
    return geometric_interval(above.to_numpy() / below.to_numpy())
