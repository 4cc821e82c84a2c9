"""What a fit says against itself: each warning, provoked."""

import math

import numpy as np
import pytest

from elevatorlab.analysis import models, solver
from elevatorlab.analysis.fits import fit
from elevatorlab.analysis.models import Model

N = np.arange(1.0, 21.0)
U = np.linspace(0.27, 0.92, 20)


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


def test_a_parameter_at_its_bound_is_named():
    """Steeper than 1 / n asks for a negative z."""
    found = fit(models.CLOSED_SHARE, N, 300 * N**-1.5)
    assert any("Parameter z is at its bound 0" in sentence for sentence in found.warnings)


def test_residuals_in_runs_show_a_wrong_shape():
    """A line through a hyperbola."""
    found = fit(models.LINEAR, N, 300 / N)
    assert any("come in runs along x" in sentence for sentence in found.warnings)


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
    together = Model(
        "product", "y = a b x", lambda x, a, b: a * b * x, lambda x, y: {"a": 1, "b": 1}
    )
    found = fit(together, N, 3 * N + random.normal(0, 1, len(N)))
    assert any("do not determine a and b separately" in sentence for sentence in found.warnings)


def test_a_fit_that_does_not_converge_says_so(monkeypatch):
    """Where the evaluations run out."""
    monkeypatch.setattr(solver, "_MOST_EVALUATIONS", 3)
    found = fit(models.EXPONENTIAL, N, 300 / N)
    assert found.warnings[0].startswith("The fit did not converge")
    assert all(math.isnan(one.error) for one in found.parameters.values())
