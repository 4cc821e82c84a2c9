"""Rows of a forest plot: where estimates and published ranges are drawn, and in which digits."""

import math

import pytest

from elevatorlab.analysis.intervals import Interval
from elevatorlab.judging.comparison import comparison
from elevatorlab.judging.value_texts import measured_text, published_text
from elevatorlab.judging.verdicts import compare, ordering
from elevatorlab.showing.forest import (
    MARGIN,
    WIDTH,
    is_relative,
    of_claim,
    own_scale,
    relative,
)
from synthetic import sample_claim
from synthetic import sample_comparison as one

MIDDLE, LEFT, RIGHT = WIDTH / 2, MARGIN, WIDTH - MARGIN


def test_a_judgement_keeps_what_it_compared():
    """With infinite ends as none, which every reader of JSON understands."""
    measured = Interval(1.5, 1.4, 1.6, 3)
    held = compare(measured, (1.2, math.inf), neutral=1, margin=0.01)
    (kept,) = held.evidence.compared
    assert (kept.value, kept.low, kept.high) == (1.5, 1.4, 1.6)
    assert kept.published == kept.allowed == (1.2, None)
    pairs = ordering({"a / b": (measured, True), "c / b": (measured, True)}, 0.01)
    assert [pair.what for pair in pairs.evidence.compared] == ["a / b", "c / b"]
    once = comparison(Interval(2, math.nan, math.nan, 1), (1, 1), (1, 1), 1)
    assert (once.low, once.high) == (None, None)


def test_as_published_is_in_the_middle_and_twice_as_much_where_twice_less_is_on_the_left():
    less, same, more = relative([one(1, 1, 1), one(2, 2, 2), one(4, 4, 4)]).rows
    assert (less.value, same.value, more.value) == (LEFT, MIDDLE, RIGHT)
    assert same.neutral == LEFT
    assert same.published == (MIDDLE, MIDDLE)


def test_the_axis_ends_where_its_estimates_do():
    assert list(relative([one(2.1, 2, 2.2)]).marks) == ["1/1.25", "1", "1.25×"]
    assert list(relative([one(2.1, 2, 2.2), one(7, 6, 8)]).marks) == ["1/4", "1", "4×"]


def test_what_is_beyond_the_axis_is_said():
    """An interval that reaches below zero, too."""
    (row,) = relative([one(2.0, -1, 2000)]).rows
    assert (row.beyond_low, row.beyond_high) == (True, True)
    assert (row.low, row.high) == (LEFT, RIGHT)
    (far,) = relative([one(1000, 999, 1001)]).rows
    assert far.beyond_high and not far.beyond_low and far.value == RIGHT


def test_a_bound_has_no_end_and_one_repetition_no_interval():
    (row,) = relative([one(2, None, None, published=(1, None))]).rows
    assert row.published[1] == WIDTH
    assert (row.low, row.high) == (None, None)


def test_what_may_be_negative_has_a_scale_of_its_own():
    difference = one(-3, -5, -1, published=(4, 6), neutral=0.0)
    percent = one(3, 1, 5, published=(-2, -1), neutral=0.0)
    assert not is_relative(difference) and not is_relative(percent)
    (row,) = own_scale(difference).rows
    assert row.value < row.neutral < row.published[0] < row.published[1]
    drawn = of_claim(sample_claim(compared=(difference,)))
    assert drawn == own_scale(difference)
    assert of_claim(sample_claim(compared=())) is None


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (2.0, 1.9, 2.1, "20.0 (19.0 to 21.0) ms"),
        (2.01234, 2.0121, 2.0126, "20.12 (20.12 to 20.13) ms"),
        (3.72, 3.713, 3.727, "37.20 (37.13 to 37.27) ms"),
        (2.0, 1.99999, 2.00001, "20.00 ms"),
        (2.0, 2.0, 2.0, "20 ms"),
        (2.1234, None, None, "21.23 ms"),
        (2.4, 1.1, 3.7, "24 (11 to 37) ms"),
    ],
)
def test_a_measured_value_has_the_digits_that_its_interval_bears(value, low, high, text):
    """In the claim's unit, here ten times that of the comparison."""
    given = {"compared": (one(value, low, high),), "measured": 10 * value, "unit": "ms"}
    assert measured_text(sample_claim(**given)) == text


def test_words_stay_words():
    """They have no unit, which is that of what was measured."""
    assert measured_text(sample_claim(measured="2 of 3 pairs")) == "2 of 3 pairs"
    assert measured_text(sample_claim(measured=None)) == ""
    words = sample_claim(published="implied: the two curves", unit="us")
    assert published_text(words) == "implied: the two curves"
    assert published_text(sample_claim(published=2.0, unit="us")) == "2 us"
