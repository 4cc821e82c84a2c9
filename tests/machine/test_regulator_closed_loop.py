"""The whole loop over a simulated single-server disk: step, ramp, burst, two overloads."""

import pytest

from elevatorlab.agent.regulator.decisions import decide
from elevatorlab.agent.regulator.policies import Slae, Ute
from regulator_simulation import Container, SingleServerDisk, closed_loop

SLA_MS = 5.0
EVER = float("inf")
LAWS = {"slae": Slae({"": SLA_MS}), "ute": Ute(0.75)}


def normals(count=3):
    return [Container(f"normal{index}") for index in range(count)]


def overload(name="over", depth=8, request_kib=16, active=((10.0, EVER),)):
    size = request_kib * 1024
    return Container(name, think_ms=0.0, request_bytes=size, depth=depth, active=active)


STEPS = {
    "deep queue of small writes": {"depth": 32, "request_kib": 4},
    "queue of medium writes": {},
    "two large writes at a time": {"depth": 2, "request_kib": 1024},
}


def beside_a_step(load):
    """Return normal containers, and one that overloads the disk from 10 s on."""
    return [*normals(), overload(**STEPS[load])]


def regulate(containers, law="slae", seconds=70, seed=1):
    def policy(state, observation):
        return decide(LAWS[law], state, observation)

    return closed_loop(SingleServerDisk(containers, seed=seed), policy, seconds)


def worst_ms(observation):
    waits = (u.wait_ms for u in observation.containers if u.name.startswith("normal"))
    return max(wait for wait in waits if wait is not None)


def violations(history):
    """Return the numbers of the periods in which a normal container missed its SLA."""
    return [round(o.time_s) for o, _ in history if worst_ms(o) > SLA_MS]


def mean_utilization(history, after_s):
    values = [o.disks["sim"].utilization_ratio for o, _ in history if o.time_s > after_s]
    return sum(values) / len(values)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("load", STEPS)
def test_slae_recovers_within_two_periods_and_keeps_the_sla_from_then_on(load, seed):
    history = regulate(beside_a_step(load), seed=seed)
    assert 11 in violations(history)
    assert set(violations(history)) <= {11, 12}


def best_fixed_limit(load, low, high):
    """Return the history under the highest fixed limit with which the SLA is never missed."""
    best = None
    for _ in range(7):
        containers = beside_a_step(load)
        containers[-1].limit_bytes_s = (low + high) / 2
        history = closed_loop(SingleServerDisk(containers), lambda state, _: (state, []), 70)
        if violations(history):
            high = containers[-1].limit_bytes_s
        else:
            low, best = containers[-1].limit_bytes_s, history
    return best


@pytest.mark.parametrize("load", STEPS)
def test_slae_keeps_the_disk_at_work_as_the_best_fixed_limit_would(load):
    history = regulate(beside_a_step(load))
    rates = [o.containers[-1].bytes_s for o, _ in history[15:]]
    mean = sum(rates) / len(rates)
    best = best_fixed_limit(load, 0.5 * mean, 2 * mean)
    assert mean_utilization(history, 13) >= 0.95 * mean_utilization(best, 13)
    assert mean >= 0.75 * sum(o.containers[-1].bytes_s for o, _ in best[15:]) / len(best[15:])


@pytest.mark.parametrize("load", STEPS)
def test_ute_holds_the_threshold_after_three_periods(load):
    history = regulate(beside_a_step(load), law="ute")
    late = [o.disks["sim"].utilization_ratio for o, _ in history if o.time_s > 14.5]
    assert 0.6 < sum(late) / len(late) <= 0.75
    assert max(late) < 0.82


def test_two_overloads_are_both_contained():
    containers = [*normals(), overload("over1"), overload("over2", active=((20.0, EVER),))]
    history = regulate(containers)
    assert set(violations(history)) <= {11, 12, 21, 22}
    first, second = (usage.bytes_s for usage in history[-1][0].containers[-2:])
    assert first == pytest.approx(second, rel=0.1)


def test_a_ramp_costs_one_period_a_step_at_most():
    active = [((10.0 + 5 * index, EVER),) for index in range(5)]
    ramp = [overload(f"over{index}", depth=1, active=when) for index, when in enumerate(active)]
    history = regulate([*normals(), *ramp])
    assert len(violations(history)) <= 5
    assert mean_utilization(history, 30) >= 0.9


def test_bursts_shorter_apart_than_the_release_hurt_once():
    bursts = tuple((10.0 + 8 * index, 13.0 + 8 * index) for index in range(7))
    history = regulate([*normals(), overload(active=bursts)])
    assert set(violations(history)) <= {11, 12}


def test_a_limit_is_released_when_the_overload_has_ended():
    history = regulate([*normals(), overload(active=((10.0, 40.0),))])
    released = [o.time_s for o, decisions in history if "release" in {d.action for d in decisions}]
    assert len(released) == 1 and 45 <= released[0] <= 55


def test_twenty_equal_containers_are_left_alone_by_slae_and_levelled_by_ute():
    assert not [d for _, made in regulate(normals(20), seconds=20) for d in made if d.key]
    history = regulate(normals(20), law="ute", seconds=60)
    last = [usage.bytes_s for usage in history[-1][0].containers]
    assert max(last) < 1.5 * min(last)
    assert history[-1][0].disks["sim"].utilization_ratio <= 0.78


def test_the_simulated_disk_obeys_the_closed_laws():
    disk = SingleServerDisk(normals(4), seed=3)
    observation = disk.observe(60.0)
    for usage in observation.containers:
        assert usage.iops * (2.23 + usage.wait_ms) / 1000 == pytest.approx(1, rel=0.03)
        assert usage.queue_length == pytest.approx(usage.iops * usage.wait_ms / 1000)
    service_s = 0.8e-3 + 4096 / (100 << 20)
    total = sum(usage.iops for usage in observation.containers)
    assert observation.disks["sim"].utilization_ratio == pytest.approx(total * service_s, rel=0.03)
