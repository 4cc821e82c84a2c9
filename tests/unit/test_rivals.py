"""Which law the data support: closed or open writers, and rivals that tie."""

import numpy as np
import pytest

from elevatorlab.analysis import models, rivals
from elevatorlab.analysis.fits import fit
from elevatorlab.analysis.queueing import mean_value_analysis
from elevatorlab.analysis.rivals import compare_models

N = np.arange(1.0, 21.0)
U = np.linspace(0.27, 0.92, 20)


@pytest.fixture
def random():
    return np.random.default_rng(2018)


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
    rates = compare_models(models.FALLING_CURVES, CLOSED.index, CLOSED["iops"]).table.set_index(
        "model"
    )
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
