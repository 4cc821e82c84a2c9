"""Laws of a queue against each other, closed forms and a small simulation; checks on samples."""

import heapq
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elevatorlab.analysis import queueing
from elevatorlab.analysis.operational_laws import DEPTH_ONE, LITTLE, UTILIZATION, check

utilizations = st.floats(0.01, 0.99)
times_ms = st.floats(0.01, 100)


# Open and closed laws


@given(utilizations, times_ms)
def test_open_laws_are_cases_of_pollaczek_khinchine(u, service_ms):
    """Exponential service has a squared coefficient of variation of 1, constant service 0."""
    mm1, md1 = queueing.mm1_wait_ms(u, service_ms), queueing.md1_wait_ms(u, service_ms)
    assert mm1 == pytest.approx(queueing.mg1_wait_ms(u, service_ms, 1))
    assert md1 == pytest.approx(service_ms * (1 + u / (2 * (1 - u))))
    # Constant service halves the queueing, not the service.
    assert md1 - service_ms == pytest.approx((mm1 - service_ms) / 2)


@pytest.mark.parametrize(
    "law", [queueing.mm1_wait_ms, queueing.md1_wait_ms, queueing.interactive_wait_ms]
)
@pytest.mark.parametrize("beyond", [1.0, 1.2, 71, -0.1])
def test_no_queue_has_a_mean_wait_beyond_saturation(law, beyond):
    with pytest.raises(ValueError, match=f"found {beyond:g}"):
        law(np.array([0.5, beyond]), 2.0)
    assert np.isnan(law(np.array([0.5, np.nan]), 2.0)).tolist() == [False, True]


@given(st.floats(1, 5000), times_ms)
def test_the_closed_law_is_an_identity_of_depth_one(iops, wait_ms):
    """From X = 1 / (Z + W) and U = X W follows W = Z U / (1 - U), whatever the server."""
    think_ms = 1000 / iops
    rate = 1000 / (think_ms + wait_ms)
    u = queueing.queue_length(rate, wait_ms)
    assert queueing.think_time_ms(rate, wait_ms) == pytest.approx(think_ms)
    assert queueing.interactive_wait_ms(u, think_ms) == pytest.approx(wait_ms)


# Mean-value analysis


def birth_death(service_ms, think_ms, n):
    """Solve n machines and one repairman: p(k) ~ n! / (n - k)! (S / Z)^k."""
    weights = np.array(
        [math.perm(n, k) * (service_ms / think_ms) ** k for k in range(n + 1)], dtype=float
    )
    p = weights / weights.sum()
    total_iops = (1 - p[0]) * 1000 / service_ms
    queue = np.sum(np.arange(n + 1) * p)
    return queue / total_iops * 1000, total_iops, queue


@pytest.mark.parametrize(("service_ms", "think_ms"), [(1.7, 2.23), (0.1, 10), (5, 0.5)])
def test_mean_value_analysis_is_the_birth_death_solution(service_ms, think_ms):
    """The product form for 1 to 20 writers."""
    solved = queueing.mean_value_analysis(service_ms, think_ms, 20)
    for n, row in solved.iterrows():
        wait_ms, total_iops, queue = birth_death(service_ms, think_ms, n)
        assert row["wait_ms"] == pytest.approx(wait_ms, rel=1e-10)
        assert row["total_iops"] == pytest.approx(total_iops, rel=1e-10)
        assert row["disk_queue_length"] == pytest.approx(queue, rel=1e-10)
        assert row["disk_utilization_ratio"] == pytest.approx(total_iops * service_ms / 1000)


@given(times_ms, st.floats(0, 100), st.integers(1, 50))
def test_mean_value_analysis_obeys_the_laws_and_its_bounds(service_ms, think_ms, writers):
    """Nobody waits for a lone writer; then the wait only grows."""
    solved = queueing.mean_value_analysis(service_ms, think_ms, writers)
    bounds = queueing.asymptotic_bounds(service_ms, think_ms, writers)
    assert solved["wait_ms"].iloc[0] == service_ms
    assert solved["wait_ms"].is_monotonic_increasing
    for name in "total_iops", "wait_ms":
        low, high = bounds[f"{name}_low"] * (1 - 1e-9), bounds[f"{name}_high"] * (1 + 1e-9)
        assert solved[name].between(low, high).all()
    think = queueing.think_time_ms(solved["iops"], solved["wait_ms"])
    assert think.to_numpy() == pytest.approx(think_ms, abs=1e-6 * (1 + writers * service_ms))


def test_many_writers_saturate_the_server():
    """X -> 1 / S, and each further writer adds S to the wait."""
    last = queueing.mean_value_analysis(1.7, 2.23, 500).iloc[-2:]
    assert last["total_iops"].iloc[-1] == pytest.approx(1000 / 1.7)
    assert last["wait_ms"].diff().iloc[-1] == pytest.approx(1.7)
    assert last["wait_ms"].iloc[-1] == pytest.approx(500 * 1.7 - 2.23)


def test_without_think_time_the_server_never_idles():
    """A closed benchmark loop: n requests are always there."""
    solved = queueing.mean_value_analysis(2.0, 0.0, 5)
    assert solved["wait_ms"].tolist() == pytest.approx([2, 4, 6, 8, 10])
    assert solved["disk_utilization_ratio"].tolist() == pytest.approx([1] * 5)


def test_the_asymptotes_cross_at_the_saturation_number():
    """N* = (Z + S) / S."""
    assert queueing.saturation_writers(1.0, 3.0) == 4
    bounds = queueing.asymptotic_bounds(1.0, 3.0, 5)
    assert bounds["total_iops_high"].tolist() == [250, 500, 750, 1000, 1000]


def simulated_wait_ms(service_ms, think_ms, writers, requests, seed, *, constant):
    """Serve equal writers in order by one server; think times are exponential."""
    random = np.random.default_rng(seed)
    arrivals = [(random.exponential(think_ms), n) for n in range(writers)]
    heapq.heapify(arrivals)
    free_ms, waits = 0.0, []
    for _ in range(requests):
        now_ms, writer = heapq.heappop(arrivals)
        served = service_ms if constant else random.exponential(service_ms)
        free_ms = max(now_ms, free_ms) + served
        waits.append(free_ms - now_ms)
        heapq.heappush(arrivals, (free_ms + random.exponential(think_ms), writer))
    return np.mean(waits)


def test_constant_service_is_what_mean_value_analysis_does_not_cover():
    """It foresees the simulated wait of exponential service, and too much of constant service."""
    foreseen = queueing.mean_value_analysis(1.7, 2.23, 20)["wait_ms"]
    bounds = queueing.asymptotic_bounds(1.7, 2.23, 20)
    exponential = simulated_wait_ms(1.7, 2.23, 3, 60_000, 1, constant=False)
    assert exponential == pytest.approx(foreseen[3], rel=0.02)
    constant = simulated_wait_ms(1.7, 2.23, 3, 60_000, 1, constant=True)
    assert constant < 0.95 * foreseen[3]
    assert bounds.loc[3, "wait_ms_low"] < constant < bounds.loc[3, "wait_ms_high"]
    saturated = simulated_wait_ms(1.7, 2.23, 20, 60_000, 1, constant=True)
    assert saturated == pytest.approx(foreseen[20], rel=0.005)


def test_the_published_ends_are_not_of_one_server_of_constant_speed():
    """A disk that serves a lone writer in 0.82 ms would do over 1000 writes a second for 20."""
    bounds = queueing.asymptotic_bounds(0.82, queueing.think_time_ms(328, 0.82), 20)
    published_total_iops = 20 * 27.5
    assert published_total_iops < 0.52 * bounds.loc[20, "total_iops_low"]


@pytest.mark.parametrize("function", ["mean_value_analysis", "asymptotic_bounds"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 3), "positive service time"),
        ((1, -1, 3), "think time of 0 ms or more, found 1 and -1"),
        ((math.nan, 1, 3), "found nan and 1"),
        ((1, 1, 0), "writers from 1 up, found 0"),
        ((1, 1, 2.5), "writers from 1 up, found 2.5"),
    ],
)
def test_an_impossible_closed_system_is_refused(function, arguments, message):
    """One sentence each."""
    with pytest.raises(ValueError, match=message):
        getattr(queueing, function)(*arguments)


# Checks on samples


def samples(**changes):
    """Three samples that obey the laws, except for `changes`."""
    values = {"iops": [328.0, 100.0, 27.0], "wait_ms": [0.82, 7.77, 34.8]}
    values["service_ms"] = [0.82, 1.7, 1.8]
    table = pd.DataFrame(values, index=["one", "six", "twenty"])
    table["queue_length"] = table["iops"] * table["wait_ms"] / 1000
    table["utilization_ratio"] = table["iops"] * table["service_ms"] / 1000
    return table.assign(**changes)


@pytest.mark.parametrize("law", [LITTLE, UTILIZATION], ids=lambda law: law.name)
def test_samples_that_obey_a_law_are_all_shown_to(law):
    """Every row, with what was expected and found."""
    checked = check(samples(), law)
    assert checked["violation_percent"].abs().max() < 1e-9
    assert not checked["beyond"].any()


def test_a_violation_is_shown_in_its_row_and_not_averaged_away():
    """+20 % in one row and -20 % in another."""
    honest = samples()
    wrong = samples(queue_length=honest["queue_length"] * [1.2, 1.0, 0.8])
    checked = check(wrong, LITTLE)
    assert checked["violation_percent"].tolist() == pytest.approx([20, 0, -20])
    assert checked["beyond"].to_dict() == {"one": True, "six": False, "twenty": True}
    assert not check(wrong, LITTLE, tolerance_percent=25)["beyond"].any()


def test_the_utilisation_of_a_depth_one_writer_is_its_queue_length():
    """The paper prints 26.98 % and 0.268, and 92 % and 0.94."""
    published = pd.DataFrame({"utilization_ratio": [0.2698, 0.92], "queue_length": [0.268, 0.94]})
    checked = check(published, DEPTH_ONE)
    assert checked["violation_percent"].round(1).tolist() == [0.7, -2.1]
    assert not checked["beyond"].any()


def test_rows_without_a_measurement_are_counted_apart():
    """No request ended, so there is no wait; an idle device obeys the law."""
    table = samples(iops=[0.0, 100.0, 0.0], wait_ms=[math.nan, 7.77, 1.0], queue_length=[0, 0.9, 0])
    checked = check(table, LITTLE)
    assert math.isnan(checked.loc["one", "violation_percent"])
    assert not checked.loc["one", "beyond"]
    assert checked.loc["twenty", "violation_percent"] == 0
    assert checked.loc["six", "violation_percent"] == pytest.approx(15.8, abs=0.05)


def test_a_queue_without_requests_breaks_the_law_without_limit():
    """The counter says that there was a queue, the other one that nothing passed."""
    checked = check(samples(iops=[0.0] * 3), LITTLE)
    assert np.isinf(checked["violation_percent"]).all() and checked["beyond"].all()


def test_a_check_that_cannot_be_made_is_refused():
    """A missing column, a negative tolerance."""
    with pytest.raises(ValueError, match="found none named wait_ms"):
        check(samples().drop(columns="wait_ms"), LITTLE)
    with pytest.raises(ValueError, match="tolerance of 0 % or more, found -1"):
        check(samples(), LITTLE, tolerance_percent=-1)
