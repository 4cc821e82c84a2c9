"""Fits against NIST's certified values and known answers, their warnings, and their rivals."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elevatorlab.analysis import models, rivals, solver
from elevatorlab.analysis.fits import fit
from elevatorlab.analysis.models import Model
from elevatorlab.analysis.queueing import mean_value_analysis
from elevatorlab.analysis.rivals import compare_models
from helpers import FIXTURES

NIST = FIXTURES / "nist"
DATA = pd.read_csv(NIST / "data.csv")
CERTIFIED = pd.read_csv(NIST / "certified.csv")

EQUATIONS = {
    "DanWood": lambda x, b1, b2: b1 * x**b2,
    "Misra1a": lambda x, b1, b2: b1 * (1 - np.exp(-b2 * x)),
    "Misra1d": lambda x, b1, b2: b1 * b2 * x / (1 + b2 * x),
    "Roszman1": lambda x, b1, b2, b3, b4: b1 - b2 * x - np.arctan(b3 / (x - b4)) / np.pi,
    "MGH09": lambda x, b1, b2, b3, b4: b1 * (x**2 + x * b2) / (x**2 + x * b3 + b4),
    "MGH10": lambda x, b1, b2, b3: b1 * np.exp(b2 / (x + b3)),
    "BoxBOD": lambda x, b1, b2: b1 * (1 - np.exp(-b2 * x)),
    "Bennett5": lambda x, b1, b2, b3: b1 * (b2 + x) ** (-1 / b3),
    "Thurber": lambda x, b1, b2, b3, b4, b5, b6, b7: (
        (b1 + b2 * x + b3 * x**2 + b4 * x**3) / (1 + b5 * x + b6 * x**2 + b7 * x**3)
    ),
    "Rat43": lambda x, b1, b2, b3, b4: b1 / (1 + np.exp(b2 - b3 * x)) ** (1 / b4),
    "Eckerle4": lambda x, b1, b2, b3: b1 / b2 * np.exp(-0.5 * ((x - b3) / b2) ** 2),
}


def nist(name):
    points = DATA[DATA["dataset"] == name]
    certified = CERTIFIED[CERTIFIED["dataset"] == name].set_index("parameter")
    return points["x"].to_numpy(), points["y"].to_numpy(), certified


def digits(found, certified):
    """Return the number of correct digits (log relative error), 11 at most."""
    return min(11, -math.log10(max(abs(found / certified - 1), 1e-16)))


@pytest.mark.parametrize("start", ["start_1", "start_2"])
@pytest.mark.parametrize("name", EQUATIONS)
def test_nonlinear_problems_have_their_certified_answers(name, start):
    """From both of NIST's starting points, at all three levels of difficulty."""
    x, y, certified = nist(name)
    found = fit(Model(name, "", EQUATIONS[name], None), x, y, start=certified[start])
    assert digits(found.rss, certified["residual_sum_of_squares"].iloc[0]) >= 10
    for parameter, row in certified.iterrows():
        assert digits(found.parameters[parameter].value, row["value"]) >= 6
        assert digits(found.parameters[parameter].error, row["standard_error"]) >= 5


def assert_certified(found, parameter, row, factor=1.0):
    assert digits(found.parameters[parameter].value, factor * row["value"]) >= 9
    assert digits(found.parameters[parameter].error, factor * row["standard_error"]) >= 9


def test_the_power_law_is_certified_by_danwood():
    """From the model's own guess."""
    x, y, certified = nist("DanWood")
    found = fit(models.POWER, x, y)
    assert_certified(found, "a", certified.loc["b1"])
    assert_certified(found, "b", certified.loc["b2"])


def test_the_straight_line_is_certified_by_norris():
    """A linear problem, 15 digits."""
    x, y, certified = nist("Norris")
    found = fit(models.LINEAR, x, y)
    assert_certified(found, "a", certified.loc["b0"])
    assert_certified(found, "b", certified.loc["b1"])
    assert digits(1 - found.r2, 1 - 0.999993745883712) >= 9


def test_the_logarithm_is_certified_by_norris_over_a_stretched_axis():
    """With x = exp(x' / 100), a + b ln(x) is the line a + (b / 100) x'."""
    x, y, certified = nist("Norris")
    found = fit(models.LOGARITHMIC, np.exp(x / 100), y)
    assert_certified(found, "a", certified.loc["b0"])
    assert_certified(found, "b", certified.loc["b1"], factor=100)


def test_the_closed_share_is_certified_by_misra1d():
    """Over n = 1 / x it is Misra1d's equation with z = 1 / b1 and z / s = b2."""
    x, y, certified = nist("Misra1d")
    found = fit(models.CLOSED_SHARE, 1 / x, y)
    z, s = found.parameters["z"], found.parameters["s"]
    b1, b2 = certified["value"]
    assert digits(z.value, 1 / b1) >= 8
    assert digits(z.value / s.value, b2) >= 8
    assert digits(z.error, certified.loc["b1", "standard_error"] / b1**2) >= 8


def test_the_exponential_is_certified_by_mgh10_at_its_third_parameter():
    """With b3 at its certified value, the other two minimise the same sum of squares."""
    x, y, certified = nist("MGH10")
    b1, b2, b3 = certified["value"]
    found = fit(models.EXPONENTIAL, 1 / (x + b3), y)
    assert digits(found.parameters["a"].value, b1) >= 7
    assert digits(found.parameters["b"].value, b2) >= 8
    assert digits(found.rss, certified["residual_sum_of_squares"].iloc[0]) >= 9


@pytest.mark.parametrize(
    ("model", "utilization_of"),
    [
        (models.MM1, lambda factor: 1 - 1 / factor),
        (models.MD1, lambda factor: 1 - 1 / (2 * factor - 1)),
        (models.INTERACTIVE, lambda factor: factor / (1 + factor)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_wait_laws_are_certified_by_noint1(model, utilization_of):
    """Over their own factor, each is a line through the origin."""
    x, y, certified = nist("NoInt1")
    found = fit(model, utilization_of(x), y)
    assert_certified(found, model.parameters[0], certified.loc["b1"])


# Synthetic data with known answers

N = np.arange(1.0, 21.0)
U = np.linspace(0.27, 0.92, 20)
RANDOM = np.random.default_rng(2018)
TRUTHS = {
    models.POWER: (N, st.tuples(st.floats(1, 1e4), st.floats(-2, 2))),
    models.LOGARITHMIC: (N, st.tuples(st.floats(-100, 100), st.floats(0.1, 100))),
    models.LINEAR: (N, st.tuples(st.floats(-100, 100), st.floats(0.1, 100))),
    models.EXPONENTIAL: (N, st.tuples(st.floats(0.1, 1e3), st.floats(-0.3, 0.3))),
    models.CLOSED_SHARE: (N, st.tuples(st.floats(1e-4, 0.1), st.floats(1e-4, 0.1))),
    models.MM1: (U, st.tuples(st.floats(0.01, 100))),
    models.MD1: (U, st.tuples(st.floats(0.01, 100))),
    models.INTERACTIVE: (U, st.tuples(st.floats(0.01, 100))),
}


@pytest.mark.parametrize("model", TRUTHS, ids=lambda model: model.name)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_a_curve_without_noise_gives_its_parameters_back(model, data):
    """And is recognised as an identity instead of praised for its R2."""
    x, values = TRUTHS[model]
    truth = data.draw(values)
    found = fit(model, x, model.function(x, *truth))
    assert [one.value for one in found.parameters.values()] == pytest.approx(truth, rel=1e-6)
    assert found.exact
    assert any("identity of these data" in sentence for sentence in found.warnings)
    assert found.predict(x).high == pytest.approx(found.fitted)


def test_intervals_and_bands_cover_the_truth_as_often_as_they_say():
    """95 % of 200 noisy power laws; and sound residuals hardly ever raise a warning."""
    truth = models.POWER.function(N, 328, -0.83)
    found = [fit(models.POWER, N, truth + RANDOM.normal(0, 5, len(N))) for _ in range(200)]
    exponents = [one.parameters["b"] for one in found]
    assert np.mean([b.low <= -0.83 <= b.high for b in exponents]) == pytest.approx(0.95, abs=0.04)
    at_10 = [one.predict(10) for one in found]
    hits = [band.low[0] <= truth[9] <= band.high[0] for band in at_10]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.04)
    assert np.mean([bool(one.warnings) for one in found]) < 0.05


def test_the_band_of_a_line_is_the_textbook_one():
    """t s sqrt(1 / n + (x - mean)^2 / Sxx)."""
    y = 3 + 2 * N + RANDOM.normal(0, 1, len(N))
    found = fit(models.LINEAR, N, y)
    band = found.predict(N)
    s = np.sqrt(found.rss / 18)
    half = 2.10092204 * s * np.sqrt(1 / 20 + (N - N.mean()) ** 2 / np.sum((N - N.mean()) ** 2))
    assert band.high - band.value == pytest.approx(half, rel=1e-6)
    assert band.value - band.low == pytest.approx(half, rel=1e-6)
    assert band.warnings == ()


def test_a_weight_counts_as_repetitions_do():
    """Weight 2 is four observations of the same value."""
    y = models.POWER.function(N, 300, -0.8) + RANDOM.normal(0, 5, len(N))
    weighted = fit(models.POWER, N, y, weights=np.where(N == 3, 2.0, 1.0))
    repeated = fit(models.POWER, [*N, 3, 3, 3], [*y, *[y[2]] * 3])
    for name in ("a", "b"):
        ours, theirs = weighted.parameters[name].value, repeated.parameters[name].value
        assert ours == pytest.approx(theirs, rel=1e-9)


def test_aicc_is_the_one_of_the_normal_likelihood():
    """But for a constant that all rivals share."""

    def by_likelihood(found):
        n, k = len(found.x), len(found.parameters) + 1
        log_likelihood = -n / 2 * (np.log(2 * np.pi * found.rss / n) + 1)
        return -2 * log_likelihood + 2 * k + 2 * k * (k + 1) / (n - k - 1)

    y = models.POWER.function(N, 300, -0.8) + RANDOM.normal(0, 5, len(N))
    rivals = [fit(model, N, y) for model in models.CURVES]
    offsets = [one.aicc - by_likelihood(one) for one in rivals]
    assert offsets == pytest.approx([offsets[0]] * len(rivals))


# Bad input


@pytest.mark.parametrize(
    ("x", "y", "weights", "message"),
    [
        ([1, 2, 3], [1, 2], None, r"one length, found \(3,\), \(2,\)"),
        ([1, 2, math.nan], [1, 2, 3], None, "found 1 of 3 values of x"),
        ([1, 2, 3], [1, math.inf, 3], None, "found 1 of 3 values of y"),
        ([1, 2, 3], [1, 2, 3], [1, 1, 0], "positive weights"),
        ([2, 2, 2], [1, 2, 3], None, "2 or more different x above 0, found 1"),
        ([-1, 0, 2], [1, 2, 3], None, "2 or more different x above 0, found 1"),
        ([], [], None, "found 0"),
        ([1, 2, 3], [-1, -2, 0], None, "expected positive values of y"),
    ],
)
def test_what_cannot_be_fitted_is_refused(x, y, weights, message):
    """One sentence each."""
    with pytest.raises(ValueError, match=message):
        fit(models.POWER, x, y, weights)


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize("model", [*models.FALLING_CURVES, models.CLOSED_BUSY])
def test_sizes_whose_squares_are_no_numbers_are_refused(model, size):
    with pytest.raises(ValueError, match=re.escape(f"{size:g}")):
        fit(model, [1, 2, 4], [size, size / 2, size / 4])


def test_a_share_of_time_cannot_be_five():
    with pytest.raises(ValueError, match="found 5"):
        fit(models.CLOSED_BUSY, N, [5.0] * len(N))


@pytest.fixture
def random():
    return np.random.default_rng(2018)


def test_a_curve_drawn_through_its_points_says_so():
    """The paper prints two points of most curves."""
    found = fit(models.POWER, [1, 20], [328, 27])
    assert found.parameters["b"].value == pytest.approx(math.log(27 / 328) / math.log(20))
    assert math.isnan(found.parameters["b"].error) and math.isnan(found.aicc)
    assert np.isnan(found.predict(10).low).all() and np.isfinite(found.predict(10).value).all()
    assert found.warnings[0].startswith("Too few points: 2 for 2 parameters")


def test_few_points_are_said_to_be_few():
    """AICc does not exist for four points and two parameters."""
    found = fit(models.POWER, [1, 2, 5, 20], [328, 190, 80, 27])
    assert "AICc needs 5" in found.warnings[0]


def test_a_utilisation_of_1_is_left_out_aloud():
    """So is one of 0."""
    u, wait_ms = [0.0, 0.3, 0.5, 0.7, 0.8, 1.0, 1.02], [1, 1.5, 2.1, 3.2, 5.3, 60, 70]
    found = fit(models.MM1, u, wait_ms)
    assert found.x.tolist() == [0.3, 0.5, 0.7, 0.8]
    assert found.warnings[0].startswith("3 of 7 points were left out")
    assert "at x = 0, 1, 1.02; it is valid between 0 and 1" in found.warnings[0]


def test_predictions_beyond_data_or_model_say_so(random):
    """Within the data there is nothing to say."""
    found = fit(models.MM1, U, models.MM1.function(U, 1.7) + random.normal(0, 0.1, len(U)))
    assert found.predict([0.3, 0.9]).warnings == ()
    beyond = found.predict([0.5, 0.95, 1.1])
    assert np.isnan(beyond.value).tolist() == [False, False, True]
    assert len(beyond.warnings) == 2
    assert "1 of 3 values were not predicted" in beyond.warnings[0]
    assert "Extrapolation: 1 of 3" in beyond.warnings[1]


@pytest.mark.parametrize(
    ("model", "y", "warning"),
    [
        # Steeper than 1 / n asks for a negative z.
        (models.CLOSED_SHARE, 300 * N**-1.5, "Parameter z is at its bound 0"),
        # A line through a hyperbola.
        (models.LINEAR, 300 / N, "come in runs along x"),
    ],
)
def test_a_parameter_at_its_bound_and_a_wrong_shape_are_named(model, y, warning):
    assert any(warning in sentence for sentence in fit(model, N, y).warnings)


def test_residuals_that_grow_ask_for_weights(random):
    """In each of 50 samples; with weights in hardly any, as its level of 1 % promises."""
    n = np.repeat(N, 5)
    samples = [5 * n * (1 + random.normal(0, 0.2, len(n))) for _ in range(50)]

    def warned(**weights):
        fits = [fit(models.LINEAR, n, y, **weights) for y in samples]
        return sum("residuals grow with the curve" in " ".join(one.warnings) for one in fits)

    assert warned() == 50
    assert warned(weights=1 / n) <= 3


def test_parameters_that_only_occur_together_are_not_determined(random):
    """Only a times b is."""
    guess = {"a": 1, "b": 1}
    together = Model("product", "y = a b x", lambda x, a, b: a * b * x, lambda x, y: guess)
    found = fit(together, N, 3 * N + random.normal(0, 1, len(N)))
    assert any("do not determine a and b separately" in sentence for sentence in found.warnings)


def test_a_fit_that_does_not_converge_says_so(monkeypatch):
    """Where the evaluations run out."""
    monkeypatch.setattr(solver, "_MOST_EVALUATIONS", 3)
    found = fit(models.EXPONENTIAL, N, 300 / N)
    assert found.warnings[0].startswith("The fit did not converge")
    assert all(math.isnan(one.error) for one in found.parameters.values())


# The paper's model


def test_mm1_through_the_first_point_misses_what_the_closed_law_hits():
    """Published: 0.82 ms at 26.98 %, 5.9 ms at 71 %, over 30 ms at 92 %."""
    mm1 = fit(models.MM1, [0.2698], [0.82]).predict([0.71, 0.92])
    closed = fit(models.INTERACTIVE, [0.2698], [0.82]).predict([0.71, 0.92])
    assert mm1.value.round(1).tolist() == [2.1, 7.5]
    assert closed.value.round(1).tolist() == [5.4, 25.5]  # 5.5 and 25.6 with Z from the IOPS
    assert any("Extrapolation: 2 of 2" in sentence for sentence in mm1.warnings)


CLOSED = mean_value_analysis(service_ms=1.7, think_ms=2.23, writers=20)


def test_closed_data_in_an_open_model_are_recognised():
    """The writers' own utilisation and wait betray their think time."""
    found = fit(models.MM1, CLOSED["utilization_ratio"], CLOSED["wait_ms"])
    assert "Closed data in an open model" in found.warnings[0]
    assert "2.23 to 2.23 ms" in found.warnings[0]
    assert found.r2 > 0.98  # which is why R2 alone does not tell


def test_closed_data_over_the_shared_disk_are_recognised_by_their_rate():
    """Over the disk's utilisation the wait alone does not show it."""
    few = CLOSED.head(6)
    over_disk = few["disk_utilization_ratio"], few["wait_ms"]
    assert not any("Closed" in one for one in fit(models.MM1, *over_disk).warnings)
    warned = fit(models.MM1, *over_disk, iops=few["iops"]).warnings
    assert any("1 / X - W stays within 2.23 to 2.23 ms" in one for one in warned)


@pytest.mark.parametrize("law", [models.MM1, models.MD1], ids=lambda model: model.name)
def test_open_data_are_not_taken_for_closed_and_find_their_law(law, random):
    """Exponential and constant service are told apart."""
    wait_ms = law.function(U, 1.7) * (1 + random.normal(0, 0.02, len(U)))
    arrivals = 1000 * U / 1.7
    found = fit(law, U, wait_ms, weights=1 / wait_ms, iops=arrivals)
    assert found.parameters["service_ms"].low < 1.7 < found.parameters["service_ms"].high
    assert not any("Closed" in sentence for sentence in found.warnings)
    ranked = compare_models(models.WAIT_LAWS, U, wait_ms, weights=1 / wait_ms)
    assert ranked.supported() == [law.name]


def test_closed_writers_are_an_identity_and_share_better_than_a_power_law():
    """The two findings of the study, on exactly solved closed data."""
    waits = compare_models(models.WAIT_LAWS, CLOSED["utilization_ratio"], CLOSED["wait_ms"])
    assert waits.best.model is models.INTERACTIVE
    assert waits.best.parameters["think_ms"].value == pytest.approx(2.23)
    assert "identity of these data" in waits.sentence
    rates = compare_models(models.FALLING_CURVES, CLOSED.index, CLOSED["iops"]).table
    rates = rates.set_index("model")
    assert rates.loc["closed share", "r2"] > rates.loc["power", "r2"]
    assert rates.loc["power", "evidence_ratio"] > 1000


def test_rivals_that_the_data_cannot_tell_apart_are_named():
    """Proportional to 1 / n, both curves are the same one."""
    y = 300 / N[:8] + 15 * (-1) ** N[:8]
    ranked = compare_models([models.POWER, models.CLOSED_SHARE, models.LINEAR], N[:8], y)
    assert set(ranked.supported()) == {"power", "closed share"}
    assert "8 points cannot tell" in ranked.sentence
    assert "linear" in ranked.sentence


def test_evidence_is_measured_from_the_best(random):
    """Its own ratio is 1, the others follow exp(delta / 2)."""
    y = models.LOGARITHMIC.function(N, 27, 21) + random.normal(0, 2, len(N))
    table = compare_models(models.CURVES, N, y).table
    assert table["model"].iloc[0] == "logarithmic"
    assert table["aicc"].is_monotonic_increasing
    assert table["evidence_ratio"].tolist() == pytest.approx(np.exp(table["delta_aicc"] / 2))
    assert table["evidence_ratio"].iloc[0] == 1


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(2.34, "2.3 times"), (612.0, "610 times"), (84_000.0, "84000 times"), (2e6, "more than a ")],
)
def test_evidence_is_said_without_exponents(ratio, said):
    assert rivals._times(ratio).startswith(said)


def test_rivals_that_cannot_be_compared_are_refused():
    """One alone, too few points, or not the same points."""
    with pytest.raises(ValueError, match="two or more rivals, found 1"):
        compare_models([models.POWER], N, 1 / N)
    with pytest.raises(ValueError, match="5 or more points to rank power"):
        compare_models([models.POWER, models.LINEAR], [1, 2, 3], [9, 5, 3])
    with pytest.raises(ValueError, match="all use the same points"):
        compare_models([models.POWER, models.LINEAR], [0, *N], [1, *N])
