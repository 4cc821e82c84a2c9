"""Improvements in percent, and confidence intervals."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elevatorlab.analysis.improvement import (
    improvement_percent,
    improvement_range_percent,
    ratio_range,
    same_as_printed,
)
from elevatorlab.analysis.intervals import (
    Interval,
    geometric_interval,
    mean_interval,
    ratio_interval,
)

positive = st.floats(0.01, 1000)
samples = st.lists(positive, min_size=2, max_size=8)


@given(positive, positive)
def test_the_two_bases_describe_the_same_ratio(before, after):
    """One is the saving, the other the speed-up."""
    saving = improvement_percent(before, after) / 100
    speed_up = improvement_percent(before, after, base="after") / 100
    assert (1 - saving) * (1 + speed_up) == pytest.approx(1)


@pytest.mark.parametrize("times", [(0, 1), (1, -1)])
def test_times_must_be_positive(times):
    """A time of zero is a read that was not timed."""
    with pytest.raises(ValueError, match="two positive times"):
        improvement_percent(*times)


def test_an_unknown_base_is_refused():
    """Neither "vm" nor a misspelling."""
    with pytest.raises(ValueError, match="'before' or 'after', found 'vm'"):
        improvement_percent(2, 1, base="vm")


@given(st.floats(0.002, 1), st.floats(0.002, 1), st.floats(-0.49, 0.49), st.floats(-0.49, 0.49))
def test_ranges_hold_whatever_was_rounded(a, b, shift_a, shift_b):
    """Any true time that prints as this one is within the range."""
    half_step = 0.0005
    true_a, true_b = a + shift_a * 0.001, b + shift_b * 0.001
    low, high = ratio_range(a, b, half_step)
    assert low <= true_a / true_b <= high
    low, high = improvement_range_percent(a, b, half_step)
    assert low <= improvement_percent(true_a, true_b) <= high


@pytest.mark.parametrize(
    ("value", "decimals", "same"), [(33.3349, 2, True), (33.336, 2, False), (33.335, 2, True)]
)
def test_printed_precision(value, decimals, same):
    """Half-way may be rounded either way."""
    assert same_as_printed(value, 33.33, decimals) is same


def test_mean_interval_against_a_textbook():
    """t(0.975, 4 degrees of freedom) = 2.776."""
    interval = mean_interval([9.8, 10.2, 10.4, 9.6, 10.0])
    half = 2.776 * math.sqrt(0.1) / math.sqrt(5)
    assert interval.value == pytest.approx(10)
    assert interval.high - interval.value == pytest.approx(half, rel=1e-3)


def test_coverage_is_what_it_says():
    """Of 2000 intervals from normal samples, about 95 % hold the true mean."""
    draws = np.random.default_rng(1).normal(5, 2, size=(2000, 4))
    hits = [one.low <= 5 <= one.high for one in map(mean_interval, draws)]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.015)


@given(samples)
def test_intervals_hold_their_estimate(values):
    """And a geometric one stays positive."""
    for interval in (mean_interval(values), geometric_interval(values)):
        assert interval.low <= interval.value <= interval.high
    assert geometric_interval(values).low >= 0


@given(samples, st.data())
def test_a_ratio_and_its_inverse_say_the_same(values, data):
    """The reason for logarithms."""
    others = data.draw(st.lists(positive, min_size=len(values), max_size=len(values)))
    there = ratio_interval(pd.Series(values), pd.Series(others))
    back = ratio_interval(pd.Series(others), pd.Series(values))
    assert there.value * back.value == pytest.approx(1)
    assert math.log(there.low) == pytest.approx(-math.log(back.high), abs=1e-6)


def test_a_value_at_an_end_of_a_lopsided_interval_has_the_p_value_of_the_interval():
    mapped = mean_interval([0.1, 0.3, 0.6]).map(math.exp)
    assert [mapped.p_value(end) for end in (mapped.low, mapped.high)] == pytest.approx([0.05] * 2)


def test_zero_variance_is_said_not_divided_by():
    """The deterministic testbed gives equal times."""
    interval = ratio_interval(pd.Series([0.3] * 4), pd.Series([0.1] * 4))
    assert interval.identical
    assert "identical in all 4 repetitions" in interval.text()
    assert interval.direction(1, 0.01) == 1


def test_one_repetition_has_no_interval():
    """So no direction either."""
    interval = mean_interval([2.0])
    assert not interval.bounded
    assert interval.direction(1, 0.01) is None
    assert "one repetition" in interval.text()


def test_ratios_are_paired_by_repetition():
    """Repetition 3 has no partner, and order does not matter."""
    numerator = pd.Series([2.0, 40.0, 7.0], index=[1, 2, 3])
    denominator = pd.Series([20.0, 1.0], index=[2, 1])
    assert ratio_interval(numerator, denominator) == Interval(2.0, 2.0, 2.0, 2)


def test_what_cannot_be_estimated_is_refused():
    """No values, no pairs, times of zero."""
    with pytest.raises(ValueError, match="at least one finite value"):
        mean_interval([])
    with pytest.raises(ValueError, match="all positive"):
        geometric_interval([1.0, 0.0])
    with pytest.raises(ValueError, match="share at least one repetition"):
        ratio_interval(pd.Series([1.0], index=[1]), pd.Series([1.0], index=[2]))
