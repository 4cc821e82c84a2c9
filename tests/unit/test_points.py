"""The points method, and the tests that tell how far to trust it, against worked examples."""

import math

import numpy as np
import pandas as pd
import pytest

from elevatorlab.analysis.friedman import friedman
from elevatorlab.analysis.points import points


def comparisons(rows, runs, columns=("a", "b", "c")):
    index = pd.MultiIndex.from_product([range(len(rows) // runs), range(1, runs + 1)])
    return pd.DataFrame(rows, index.set_names(["test", "repetition"]), list(columns), dtype=float)


def test_three_schedulers_without_ties_get_the_articles_two_one_and_nothing():
    found = points(comparisons([[3, 2, 1], [3, 2, 1], [1, 2, 3]], runs=1))
    assert found.total.to_dict() == {"a": 4, "b": 3, "c": 2}
    assert found.winner == "a" and found.comparisons == 3


@pytest.mark.parametrize(
    ("row", "given"),
    [([5, 5, 1], [1.5, 1.5, 0]), ([5, 1, 1], [2, 0.5, 0.5]), ([4, 4, 4], [1, 1, 1])],
)
def test_who_ties_shares_the_places(row, given):
    assert points(comparisons([row], runs=1)).total[["a", "b", "c"]].tolist() == given


def test_ties_or_not_a_comparison_gives_away_the_same_points():
    rows = np.random.default_rng(3).integers(1, 4, size=(60, 4))
    found = points(comparisons(rows, 3, "abcd"))
    assert found.total.sum() == 60 * (4 * 3 / 2)


def test_a_comparison_that_lacks_a_scheduler_does_not_count():
    found = points(comparisons([[3, 2, 1], [3, math.nan, 1]], runs=1))
    assert found.comparisons == 1
    assert points(comparisons([[3, math.nan, 1]], runs=1)) is None


def test_one_run_says_nothing_about_the_winner():
    found = points(comparisons([[3, 2, 1]], runs=1))
    assert found.says == "one run: cannot be told"
    assert found.wins.isna().all() and not found.interval["a"].bounded


def test_a_winner_of_every_run_wins_every_resample_but_three_runs_are_too_few():
    found = points(comparisons([[3, 2, 1]] * 3, runs=3))
    assert found.wins["a"] == 1
    assert found.says == "too few runs"
    assert points(comparisons([[3, 2, 1]] * 4, runs=4)).says == "decided"


def test_where_chance_decides_nobody_wins():
    rows = np.random.default_rng(1).normal(size=(5 * 20, 3)) + 100
    found = points(comparisons(rows, runs=20))
    assert found.says == "undecided"
    assert found.wins.sum() == pytest.approx(1)


def test_a_shared_first_place_is_nobodys():
    assert points(comparisons([[3, 2, 1], [2, 3, 1]], runs=1)).winner is None


def test_the_same_seed_draws_the_same_resamples():
    rows = np.random.default_rng(2).normal(size=(30, 3)) + 10
    one, other = (points(comparisons(rows, 10), seed=7).wins for _ in range(2))
    pd.testing.assert_series_equal(one, other)


DEMSAR = {
    "C4.5": [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.000]
    + [0.940, 0.619, 0.972, 0.957],
    "C4.5+m": [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.000]
    + [0.962, 0.666, 0.981, 0.978],
    "C4.5+cf": [0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.000]
    + [0.965, 0.614, 0.9751, 0.946],
    "C4.5+m+cf": [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.000]
    + [0.962, 0.669, 0.975, 0.970],
}
"""Accuracies of Demsar 2006, Table 6."""


def test_demsars_worked_example():
    """Demsar 2006, section 3.2.2: mean ranks, and a critical difference of 1.25 at 5 %."""
    found = friedman(pd.DataFrame(DEMSAR))
    assert found.blocks == 14
    ranks = {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
    assert found.ranks.to_dict() == pytest.approx(ranks, abs=5e-4)
    assert found.critical_difference == pytest.approx(1.25, abs=5e-3)
    assert found.p_value < 0.05
    # The paper has 9.28, without the correction for ties that makes the statistic larger.
    blocks, schedulers = 14, 4
    spread = (found.ranks**2).sum() - schedulers * (schedulers + 1) ** 2 / 4
    uncorrected = 12 * blocks / (schedulers * (schedulers + 1)) * spread
    assert uncorrected == pytest.approx(9.28, abs=5e-3)
    assert found.statistic > uncorrected


def test_where_every_block_is_a_tie_there_is_no_statistic():
    found = friedman(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [1.0, 2.0]}))
    assert math.isnan(found.p_value) and found.ranks.tolist() == [2, 2, 2]


@pytest.mark.parametrize("table", [{"a": [1.0, 2.0]}, {"a": [1.0], "b": [2.0]}])
def test_one_scheduler_or_one_block_cannot_be_tested(table):
    assert friedman(pd.DataFrame(table)) is None
