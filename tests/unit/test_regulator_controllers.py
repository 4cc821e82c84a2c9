"""SLAE and UTE as the paper gives them, AIMD and PI: whom they choose, and how much they take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elevatorlab.agent.regulator.control import DEFAULTS
from elevatorlab.agent.regulator.controllers import Aimd, Pi
from elevatorlab.agent.regulator.decisions import decide
from elevatorlab.agent.regulator.paper import KEPT_RATIOS, READINGS, SlaePaper, UtePaper, heaviest
from regulator_observations import HURT, SEQUENCES, observation_of, observe, run, usage
from regulator_simulation import Container, SingleServerDisk, closed_loop

SLAS = {"": 5.0}
STEPS, RANKINGS, SYSTEMS = (st.sampled_from(READINGS[name]) for name in READINGS)
SLAE = st.builds(SlaePaper, st.just(SLAS), st.just("wait_ms"), STEPS, RANKINGS)
UTE = st.builds(UtePaper, st.just(0.75), SYSTEMS, STEPS)
POLICIES = SLAE | UTE
CONTROLLERS = {"aimd": Aimd(SLAS), "pi": Pi(SLAS)}
OF_EACH = st.sampled_from(list(CONTROLLERS.values()))
#: Its queue of small writes keeps "waits" always busy; "writes" is faster, and often idle.
UNLIKE = (usage("waits", 500, 50), usage("writes", 9000, 1, request_kib=1024), usage("c", 50, 9))


@pytest.mark.parametrize("step", KEPT_RATIOS)
def test_slae_takes_one_step_from_the_overload(step):
    _, [[decision]] = run(SlaePaper(SLAS, step=step), observe(*HURT))
    assert (decision.name, decision.action) == ("over", "throttle")
    assert decision.limit_bytes_s == round(KEPT_RATIOS[step] * 4500 * 1024)
    assert decision.cause == "wait_ms of a is 17.7, SLA 5.0"


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
    assert decision.numbers["utilization_ratio"] == 0.926


def test_the_heaviest_is_the_faster_one_of_two_that_are_busy_all_the_time():
    slow, fast = usage("slow", 1000, 50), usage("fast", 2000, 50)
    assert heaviest([fast, slow], "utilization") == heaviest([slow, fast], "utilization") == fast
    assert heaviest([usage("idle", 0)], "speed") is None


def test_at_the_floor_nothing_more_is_taken():
    busy = observe(usage("a", 1.5 * DEFAULTS.floor_bytes_s / 1024, 90), usage("b", 50, 60))
    _, made = run(UtePaper(0.5), *[busy] * 3)
    assert [[d.limit_bytes_s for d in one] for one in made] == [[DEFAULTS.floor_bytes_s], [], []]


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


def simulated(steer, periods, seed, until_s=float("inf")):
    """Return periods of three normal containers, beside which one overloads from 10 s on."""
    normals = [Container(f"normal{index}") for index in range(3)]
    load = {"think_ms": 0.0, "request_bytes": 16384, "depth": 8}
    over = Container("over", **load, active=((10.0, until_s),))
    return closed_loop(SingleServerDisk([*normals, over], seed=seed), steer, periods)


def missed_periods(history):
    """Return the numbers of the periods in which a normal container missed its SLA."""
    return [
        round(seen.time_s)
        for seen, _ in history
        if max(u.wait_ms for u in seen.containers if u.name != "over") > 5
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step, periods", [("sharp", 5), ("mild", 30)])
def test_slae_by_speed_ends_every_violation_over_a_simulated_disk(step, periods, seed):
    policy = SlaePaper(SLAS, step=step, overload="speed")
    history = simulated(lambda state, seen: decide(policy, state, seen), 40, seed)
    missed = missed_periods(history)
    assert missed and max(missed) <= 11 + periods
    assert {d.name for _, made in history for d in made} == {"over"}


@pytest.mark.parametrize("system", READINGS["system"])
def test_ute_comes_to_rest_below_its_threshold_over_a_simulated_disk(system):
    policy = UtePaper(0.75, system)
    history = simulated(lambda state, seen: decide(policy, state, seen), 40, seed=1)
    changed = [seen.time_s for seen, made in history if made]
    assert changed and max(changed) < 30
    last = history[-1][0]
    assert policy._utilization(last.containers, last.disks["sim"]) <= 0.75


CALM = (usage("a", 200, 1), usage("b", 210, 1), usage("over", 2250, 1, request_kib=32))


def test_aimd_halves_what_is_too_much_and_adds_a_twentieth_of_what_was_there():
    _, made = run(Aimd(SLAS), observe(*HURT), observe(*CALM))
    assert [[(d.name, d.action) for d in one] for one in made] == [
        [("over", "throttle")],
        [("over", "loosen")],
    ]
    assert [one[0].limit_bytes_s for one in made] == pytest.approx(
        [0.5 * 4500 * 1024, 0.55 * 4500 * 1024], abs=2
    )


def test_pi_answers_the_error_and_its_growth():
    _, made = run(Pi(SLAS, target=0.8, gain=5.0), observe(*HURT), observe(*CALM))
    first = 1 + 2 * (0.8 - 17.7 / 5) / 10  # the first error counts as growth, too
    error, growth = 0.8 - 0.2, (17.7 - 1) / 5
    second = first + (error + growth) / 10
    shares = [one[0].limit_bytes_s / (4500 * 1024) for one in made]
    assert shares == pytest.approx([first, second], abs=1e-3)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_nobody_is_limited_where_nobody_stands_out(name):
    equal = observe(*(usage(f"c{index}", 139 + index, 31) for index in range(20)))
    assert run(CONTROLLERS[name], equal)[1] == [[]]


@pytest.mark.parametrize("name", CONTROLLERS)
def test_what_is_given_back_wholly_is_released(name):
    state, made = run(CONTROLLERS[name], observe(*HURT), *[observe(*CALM)] * 25)
    assert [d.action for d in made[-1]] == [] and state["sda"].throttled == {}
    assert "release" in {d.action for one in made for d in one}


@given(OF_EACH, SEQUENCES)
def test_no_limit_is_below_the_floor_or_above_what_was_there_before(controller, sequence):
    state, most = {}, {}
    for row in sequence:
        observation = observation_of(*row)
        state, decisions = decide(controller, state, observation)
        for one in decisions:
            if one.action == "throttle":
                [seen] = [u for u in observation.containers if u.key == one.key]
                most[one.key] = max(seen.bytes_s, DEFAULTS.floor_bytes_s)
            if one.limit_bytes_s is not None:
                assert DEFAULTS.floor_bytes_s <= one.limit_bytes_s <= most[one.key] + 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CONTROLLERS)
def test_the_overload_is_contained_over_a_simulated_disk_and_released_after_it(name, seed):
    policy = CONTROLLERS[name]
    history = simulated(lambda state, seen: decide(policy, state, seen), 70, seed, until_s=50.0)
    missed = missed_periods(history)
    assert 11 in missed and len([period for period in missed if 20 < period <= 50]) <= 5  # of 30
    assert {d.name for _, made in history for d in made} == {"over"}
    assert "release" in {d.action for _, made in history[50:] for d in made}
