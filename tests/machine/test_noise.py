"""Fits whose intervals hold under noise of one size, and under noise in proportion."""

import numpy as np
import pytest

from elevatorlab.analysis import models
from elevatorlab.analysis.fits import fit
from elevatorlab.analysis.noise import fit_either, fit_proportional

N = np.arange(1.0, 21.0)
TRUTH = (328, -0.83)
CURVE = models.POWER.function(N, *TRUTH)
RUNS = 200


def same(random):
    return CURVE + random.normal(0, 5, len(N))


def in_proportion(random):
    return CURVE * (1 + random.normal(0, 0.05, len(N)))


@pytest.mark.parametrize("noisy", [same, in_proportion])
def test_intervals_and_bands_cover_the_truth_under_either_noise(noisy):
    """At least 93 % of 95 % intervals, where fits of one noise reach 60 % under the other."""
    random = np.random.default_rng(2018)
    found = [fit_either(models.POWER, N, noisy(random)) for _ in range(RUNS)]
    for truth, name in zip(TRUTH, ("a", "b"), strict=True):
        bounds = [one.parameters[name] for one in found]
        assert np.mean([one.low <= truth <= one.high for one in bounds]) >= 0.93
    bands = [one.predict(10) for one in found]
    assert np.mean([band.low[0] <= CURVE[9] <= band.high[0] for band in bands]) >= 0.93


def test_noise_is_told_from_the_points():
    """Where it is plain, and with the intervals of that noise alone."""
    random, x = np.random.default_rng(1), np.arange(1.0, 61.0)
    curve = models.POWER.function(x, *TRUTH)
    relative = fit_either(models.POWER, x, curve * (1 + random.normal(0, 0.05, len(x))))
    assert relative.noise == "proportional" and relative.rival is None
    constant = fit_either(models.POWER, x, curve + random.normal(0, 1, len(x)))
    assert constant.noise == "constant" and constant.rival is None
    assert constant.parameters == fit(models.POWER, x, constant.y).parameters


def test_what_the_points_do_not_tell_apart_widens_the_interval():
    """A curve that hardly changes has the same size of noise everywhere under both."""
    x = N[:8]
    y = models.POWER.function(x, 100, -0.1) * (1 + 0.02 * (-1) ** x)
    found = fit_either(models.POWER, x, y)
    assert found.rival is not None and found.noise != found.rival.noise
    both = [found.rival.parameters["b"], fit(models.POWER, x, y).parameters["b"]]
    assert found.parameters["b"].low <= min(one.low for one in both)
    assert found.predict(30).high >= found.rival.predict(30).high


def test_the_ranking_of_noises_is_that_of_the_density_of_y():
    """Weights that are all alike change nothing, whatever their size."""
    y = same(np.random.default_rng(3))
    alike = fit(models.POWER, N, y, np.full(len(N), 7.0))
    assert alike.aicc == pytest.approx(fit(models.POWER, N, y).aicc)


def test_nothing_is_in_proportion_to_what_is_not_positive():
    y = 10 - 2 * N
    assert fit_proportional(models.LINEAR, N, y) is None
    assert fit_either(models.LINEAR, N, y + (-1) ** N).noise == "constant"


def test_an_exact_curve_keeps_its_identity():
    assert fit_either(models.POWER, N, CURVE).exact
