"""Fits: knees only where there is one, and intervals that hold under noise of either kind."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elevatorlab.analysis import models, queueing
from elevatorlab.analysis.fits import fit
from elevatorlab.analysis.knee import knee, range_knee
from elevatorlab.analysis.noise import fit_either, fit_proportional


def grid(first, last, points=60):
    return np.linspace(first, last, points)


def broken_stick(u, corner=0.7):
    return 1 + 2 * u + 60 * np.maximum(u - corner, 0)


LAWS = {
    "interactive": lambda u, scale: queueing.interactive_wait_ms(u, scale),
    "M/M/1": lambda u, scale: queueing.mm1_wait_ms(u, scale),
    "M/D/1": lambda u, scale: queueing.md1_wait_ms(u, scale),
    "M/G/1": lambda u, scale: queueing.mg1_wait_ms(u, scale, 4.0),
}


@pytest.mark.parametrize("law", LAWS)
@given(first=st.floats(0.05, 0.5), width=st.floats(0.2, 0.42), scale=st.floats(0.01, 100))
@settings(max_examples=5, deadline=None)
def test_no_law_of_a_queue_has_a_knee_of_its_own(law, first, width, scale):
    """All of them have the range's knee: neither think nor service time matters."""
    u = grid(first, first + width)
    found = knee(u, LAWS[law](u, scale), resamples=50)
    assert found.value == pytest.approx(range_knee(first, first + width), abs=0.005)
    assert not found.intrinsic


def test_the_published_threshold_is_the_one_of_the_drawn_range():
    """70 % to 80 %, in a figure that runs from 26.98 % to 92 %."""
    assert 0.70 < range_knee(0.2698, 0.92) < 0.80
    closed = queueing.mean_value_analysis(1.7, 2.23, 20)
    found = knee(closed["utilization_ratio"], closed["wait_ms"])
    assert found.low <= found.of_range <= found.high
    assert "would move with the range" in found.text()


@pytest.mark.parametrize("last", [0.85, 0.90, 0.95])
def test_a_corner_is_found_whatever_the_range(last):
    """A system with a threshold shows it in each drawing, and says that it is its own."""
    u = grid(0.27, last)
    found = knee(u, broken_stick(u))
    assert found.low <= 0.7 <= found.high
    assert found.high - found.low < 0.05
    assert found.intrinsic
    assert "may be the system's own" in found.text()


def test_the_interval_holds_the_truth_of_noisy_curves():
    """At 3 % noise and twenty points; the same seed gives the same interval."""
    random = np.random.default_rng(7)
    u = grid(0.27, 0.92, 20)
    noisy = [broken_stick(u) * (1 + random.normal(0, 0.03, 20)) for _ in range(20)]
    found = [knee(u, wait_ms, resamples=100) for wait_ms in noisy]
    assert np.mean([one.low <= 0.7 <= one.high for one in found]) >= 0.9
    assert knee(u, noisy[0], resamples=100) == found[0]


def test_more_noise_means_a_wider_interval():
    u = grid(0.27, 0.92, 20)
    noise = np.random.default_rng(3).normal(0, 1, 20)
    found = [knee(u, broken_stick(u) * (1 + share * noise)) for share in (0.01, 0.1)]
    assert found[1].high - found[1].low > 2 * (found[0].high - found[0].low)


def test_a_straight_line_has_no_place_for_a_knee():
    """Its depth is nothing, and its interval most of the range."""
    u = grid(0.27, 0.92, 20)
    noise = np.random.default_rng(5).normal(0, 0.02, 20)
    found = knee(u, 0.8 + 3 * u + noise)
    assert found.depth < 0.05
    assert found.high - found.low > 0.3


def test_order_does_not_matter_and_repetitions_at_one_utilisation_are_averaged():
    u = grid(0.27, 0.92, 20)
    wait_ms = queueing.interactive_wait_ms(u, 2.23)
    twice = np.concatenate([u, u[::-1]]), np.concatenate([wait_ms * 0.9, wait_ms[::-1] * 1.1])
    assert knee(*twice).value == pytest.approx(knee(u, wait_ms).value)


@pytest.mark.parametrize(
    ("u", "wait_ms", "message"),
    [
        (grid(0.1, 0.5, 7), np.arange(7), "8 or more different utilisations for a knee, found 7"),
        (grid(0.1, 1.0, 9), np.arange(9), "between 0 and 1, found 0.1 to 1"),
        (grid(0.0, 0.9, 9), np.arange(9), "between 0 and 1, found 0 to 0.9"),
        (grid(0.1, 0.9, 9), np.arange(9)[::-1], "rises with the utilisation, found 8 ms"),
        (grid(0.1, 0.9, 9), np.arange(8), r"one length, found \(9,\) and \(8,\)"),
        (grid(0.1, 0.9, 9), np.full(9, math.nan), "finite utilisations and waits"),
    ],
)
def test_points_without_a_knee_are_refused(u, wait_ms, message):
    with pytest.raises(ValueError, match=message):
        knee(u, wait_ms)


@pytest.mark.parametrize("ends", [(0.9, 0.2), (0.5, 1.0), (-0.1, 0.5), (0.5, 0.5)])
def test_a_range_outside_of_0_to_1_is_refused(ends):
    with pytest.raises(ValueError, match="range of utilisation within 0 and 1"):
        range_knee(*ends)


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
    assert relative.noise == "proportional" and relative.share > 0.9999
    constant = fit_either(models.POWER, x, curve + random.normal(0, 1, len(x)))
    assert constant.noise == "constant" and constant.share > 0.9999
    alone = fit(models.POWER, x, constant.y).parameters
    for name, one in constant.parameters.items():
        assert one == pytest.approx(alone[name], rel=1e-4)


def test_what_the_points_do_not_tell_apart_is_averaged():
    """A curve that hardly changes has the same size of noise everywhere under both."""
    x = N[:8]
    y = models.POWER.function(x, 100, -0.1) * (1 + 0.02 * (-1) ** x)
    found = fit_either(models.POWER, x, y)
    assert found.rival is not None and found.noise != found.rival.noise
    assert 0.5 < found.share < 0.9
    alone = fit(models.POWER, x, y), fit_proportional(models.POWER, x, y)
    for end in ("low", "high"):
        for of in (lambda one: one.parameters["b"], lambda one: one.predict(30)):
            assert sorted([getattr(of(one), end) for one in (*alone, found)])[1] == getattr(
                of(found), end
            )


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
