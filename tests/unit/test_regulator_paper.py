"""SLAE and UTE as the paper gives them: whom they choose, and how much they take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elevatorlab.agent.regulator.control import DEFAULTS
from elevatorlab.agent.regulator.decisions import decide
from elevatorlab.agent.regulator.paper import KEPT_RATIOS, READINGS, SlaePaper, UtePaper, heaviest
from regulator_observations import (
    HURT,
    SEQUENCES,
    assert_decides_alike_and_changes_nothing,
    observation_of,
    observe,
    run,
    usage,
)
from regulator_simulation import Container, SingleServerDisk, closed_loop

SLAS = {"": 5.0}
STEPS, RANKINGS, SYSTEMS = (st.sampled_from(READINGS[name]) for name in READINGS)
SLAE = st.builds(SlaePaper, st.just(SLAS), st.just("wait_ms"), STEPS, RANKINGS)
UTE = st.builds(UtePaper, st.just(0.75), SYSTEMS, STEPS)
POLICIES = SLAE | UTE
#: Its queue of small writes keeps "waits" always busy; "writes" is faster, and often idle.
UNLIKE = (usage("waits", 500, 50), usage("writes", 9000, 1, request_kib=1024), usage("c", 50, 9))


@pytest.mark.parametrize("step", KEPT_RATIOS)
def test_slae_takes_one_step_from_the_overload(step):
    _, [[decision]] = run(SlaePaper(SLAS, step=step), observe(*HURT))
    assert (decision.name, decision.action) == ("over", "throttle")
    assert decision.limit_bytes_s == round(KEPT_RATIOS[step] * 4500 * 1024)
    assert decision.cause == "wait_ms of a is 17.7, SLA 5.0"


def test_slae_does_nothing_while_all_others_are_within_the_sla():
    calm = observe(usage("a", 200, 4.9), usage("over", 4500, 30, request_kib=32))
    assert run(SlaePaper(SLAS), calm)[1] == [[]]


def test_slae_judges_another_metric_and_spares_a_class_without_an_sla():
    _, [[decision]] = run(SlaePaper({"": 0.5}, "utilization_ratio"), observe(*HURT))
    assert decision.numbers["victim"] == "b" and decision.name == "over"
    hurt = (usage("a", 200, 30, sla_class="batch"), HURT[2])
    assert run(SlaePaper({"": 5.0, "batch": None}), observe(*hurt))[1] == [[]]


@pytest.mark.parametrize(
    "overload, names", [("utilization", ["waits"]), ("speed", ["writes"]), ("both", [])]
)
def test_who_the_overloaded_container_is_depends_on_what_is_read(overload, names):
    _, [decisions] = run(SlaePaper(SLAS, overload=overload), observe(*UNLIKE))
    assert [decision.name for decision in decisions] == names


@pytest.mark.parametrize("system, utilization, acts", [
    ("shared", 0.74, False), ("shared", 0.76, True),
    ("mean", 0.76, False), ("mean", 0.1, False),
])  # fmt: skip
def test_ute_looks_at_the_disk_or_at_the_mean_of_the_devices(system, utilization, acts):
    light = (usage("a", 40, 1), usage("over", 3000, 20, request_kib=32))  # 0.01 and 1
    _, [decisions] = run(UtePaper(system=system), observe(*light, utilization=utilization))
    assert [d.name for d in decisions] == ["over"] * acts


def test_ute_says_which_utilisation_it_saw():
    _, [[decision]] = run(UtePaper(), observe(*HURT))
    assert decision.cause == "utilisation of the system (mean) is 0.926, threshold 0.75"


def test_the_heaviest_is_the_faster_one_of_two_that_are_busy_all_the_time():
    slow, fast = usage("slow", 1000, 50), usage("fast", 2000, 50)
    assert heaviest([fast, slow], "utilization") == heaviest([slow, fast], "utilization") == fast
    assert heaviest([usage("idle", 0)], "speed") is None


def test_at_the_floor_nothing_more_is_taken():
    busy = observe(usage("a", 1.5 * DEFAULTS.floor_bytes_s / 1024, 90), usage("b", 50, 60))
    _, made = run(UtePaper(0.5), *[busy] * 3)
    assert [[d.limit_bytes_s for d in one] for one in made] == [[DEFAULTS.floor_bytes_s], [], []]


def test_an_empty_host_needs_no_decision():
    for policy in (SlaePaper(SLAS), UtePaper(), UtePaper(system="shared")):
        assert run(policy, observe())[1] == [[]]


@given(POLICIES, SEQUENCES)
def test_one_container_at_a_time_never_below_the_floor_and_never_given_back(policy, sequence):
    state, limits = {}, {}
    for row in sequence:
        observation = observation_of(*row)
        state, decisions = decide(policy, state, observation)
        present = {one.key for one in observation.containers}
        limits = {key: limit for key, limit in limits.items() if key in present}
        set_now = [one for one in decisions if one.action != "release"]
        assert len(set_now) <= 1
        for one in set_now:
            assert one.limit_bytes_s >= DEFAULTS.floor_bytes_s
            assert one.limit_bytes_s < limits.get(one.key, float("inf"))
            limits[one.key] = one.limit_bytes_s
        assert not {one.key for one in decisions if one.action == "release"} & present


@given(SLAE, SEQUENCES)
def test_slae_acts_only_where_another_container_misses_its_sla(policy, sequence):
    for row in sequence:
        observation = observation_of(*row)
        _, decisions = decide(policy, {}, observation)
        for one in decisions:
            others = [u for u in observation.containers if u.key != one.key]
            assert any(u.wait_ms is not None and u.wait_ms > 5 for u in others)


@given(UTE, SEQUENCES)
def test_ute_acts_only_above_its_threshold_and_on_the_busiest(policy, sequence):
    for row in sequence:
        observation = observation_of(*row)
        _, decisions = decide(policy, {}, observation)
        for one in decisions:
            assert one.numbers["utilization_ratio"] >= policy.threshold
            busiest = max(u.utilization_ratio for u in observation.containers)
            [chosen] = [u for u in observation.containers if u.key == one.key]
            assert chosen.utilization_ratio == busiest


@given(POLICIES, SEQUENCES)
def test_decisions_are_deterministic_and_change_nothing_they_are_given(policy, sequence):
    assert_decides_alike_and_changes_nothing(policy, sequence)


def simulated(policy, seed=1):
    """Return 40 periods of three normal containers, beside which one overloads from 10 s on."""
    normals = [Container(f"normal{index}") for index in range(3)]
    over = Container(
        "over", think_ms=0.0, request_bytes=16384, depth=8, active=((10.0, float("inf")),)
    )
    disk = SingleServerDisk([*normals, over], seed=seed)
    return closed_loop(disk, lambda state, seen: decide(policy, state, seen), 40)


def worst_ms(observation):
    return max(u.wait_ms for u in observation.containers if u.name != "over")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step, periods", [("sharp", 5), ("mild", 30)])
def test_slae_by_speed_ends_every_violation_over_a_simulated_disk(step, periods, seed):
    history = simulated(SlaePaper(SLAS, step=step, overload="speed"), seed)
    missed = [round(seen.time_s) for seen, _ in history if worst_ms(seen) > 5]
    assert missed and max(missed) <= 11 + periods
    assert {d.name for _, made in history for d in made} == {"over"}


@pytest.mark.parametrize("system", READINGS["system"])
def test_ute_comes_to_rest_below_its_threshold_over_a_simulated_disk(system):
    policy = UtePaper(0.75, system)
    history = simulated(policy)
    changed = [seen.time_s for seen, made in history if made]
    assert changed and max(changed) < 30
    last = history[-1][0]
    assert policy._utilization(last.containers, last.disks["sim"]) <= 0.75
