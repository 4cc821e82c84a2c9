"""SLAE and UTE as pure functions: who is throttled, by how much, and when it is given back."""

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elevatorlab.agent.regulator import control
from elevatorlab.agent.regulator.control import DEFAULTS, Pool, Settings
from elevatorlab.agent.regulator.decisions import decide
from elevatorlab.agent.regulator.policies import Slae, Ute, overloads
from regulator_observations import HURT, LOADS, SEQUENCES, observation_of, observe, run, usage

SLAE = Slae({"": 5.0})


def test_slae_cuts_the_overload_in_proportion_to_the_excess():
    _, [[decision]] = run(SLAE, observe(*HURT))
    assert (decision.name, decision.action) == ("over", "throttle")
    assert decision.limit_bytes_s == round(4500 * 1024 * SLAE.target * 5 / 17.7)
    assert decision.numbers["victim"] == "a" and decision.numbers["wait_ms"] == 17.7


def test_without_an_overload_nobody_is_blamed_and_it_is_said_once():
    equal = observe(*(usage(f"c{index}", 139 + index, 31) for index in range(20)))
    _, made = run(SLAE, equal, equal, equal)
    assert [[d.action for d in decisions] for decisions in made] == [["report"], [], []]
    assert "no container overloads the disk" in made[0][0].cause


def test_two_overloads_are_cut_to_the_same_level():
    both = observe(*HURT[:2], usage("o1", 9000, 20), usage("o2", 6000, 20))
    _, [decisions] = run(SLAE, both)
    assert {d.name for d in decisions} == {"o1", "o2"}
    assert len({d.limit_bytes_s for d in decisions}) == 1


def test_a_class_has_an_sla_of_its_own_or_none():
    law = Slae({"": 5.0, "db": 2.0, "batch": None})
    over = usage("over", 9000, 20)
    _, [hurt] = run(law, observe(usage("db-1", 200, 3, sla_class="db"), usage("a", 200, 3), over))
    assert [d.numbers["victim"] for d in hurt] == ["db-1"]
    batch = [usage(name, 200, 30, sla_class="batch") for name in "ab"]
    _, [calm] = run(law, observe(*batch, over))
    assert calm == []


def test_another_metric_than_the_wait():
    law = Slae({"": 0.5}, "utilization_ratio")
    _, [[decision]] = run(law, observe(*HURT))
    assert decision.name == "over"
    assert decision.numbers["utilization_ratio"] == pytest.approx(0.892, 1e-3)


def test_too_few_requests_say_nothing_about_the_wait():
    few = observe(usage("a", 16, 90), usage("b", 16, 90), HURT[2])
    assert run(SLAE, few)[1] == [[]]


def test_disks_are_judged_apart():
    elsewhere = usage("big", 50_000, 1, disk="sdb")
    _, [decisions] = run(SLAE, observe(*HURT, elsewhere))
    assert [d.name for d in decisions] == ["over"]


@pytest.mark.parametrize("utilization, power", [(0.9, 1), (1.0, 2)])
def test_ute_sizes_the_cut_by_the_utilisation_law(utilization, power):
    loads = (usage("a", 1000), usage("b", 1000), usage("over", 8000))
    _, [[decision]] = run(Ute(0.75), observe(*loads, utilization=utilization))
    total = 10_000 * (0.95 * 0.75 / utilization) ** power  # squared where the disk is saturated
    assert decision.name == "over"
    assert decision.limit_bytes_s == pytest.approx((total - 2000) * 1024, rel=1e-6)
    assert decision.cause == f"utilisation of the disk is {utilization}, threshold 0.75"


def test_ute_is_quiet_below_the_threshold():
    assert run(Ute(0.75), observe(*HURT, utilization=0.75))[1] == [[]]


def test_a_container_that_vanishes_under_its_limit_is_released_in_the_end():
    gone = observe(usage("a", 200, 1), usage("b", 200, 1))
    state, made = run(SLAE, observe(*HURT), *[gone] * 11)
    assert [d.action for decisions in made for d in decisions] == ["throttle", "release"]
    assert state["sda"].throttled == {}


LAWS = st.sampled_from([SLAE, Slae({"": 3.0}, "queue_length"), Ute(0.75)])


@given(LAWS, SEQUENCES)
def test_no_limit_rises_while_anybody_is_cut(law, sequence):
    _, made = run(law, *(observation_of(*row) for row in sequence))
    for decisions in made:
        actions = {d.action for d in decisions}
        assert not ("loosen" in actions and actions & {"throttle", "tighten"})


@given(LAWS, SEQUENCES)
def test_never_throttles_a_container_while_a_worse_one_is_not(law, sequence):
    state = {}
    for row in sequence:
        observation = observation_of(*row)
        state, decisions = decide(law, state, observation)
        chosen = {d.key for d in decisions if d.action == "throttle"}
        limited = state["sda"].throttled
        free = [u.load for u in observation.containers if u.key not in limited]
        for u in observation.containers:
            assert u.key not in chosen or u.load >= max(free, default=0)


@given(SEQUENCES)
def test_slae_starts_to_throttle_only_where_another_one_is_hurt(sequence):
    state = {}
    for row in sequence:
        observation = observation_of(*row)
        before = state.get("sda", Pool())
        state, decisions = decide(SLAE, state, observation)
        if any(d.action == "throttle" for d in decisions):
            heavy = overloads(before, observation.containers, DEFAULTS)
            offenders = set(before.throttled) | heavy
            others = [u for u in observation.containers if u.key not in offenders]
            assert any(u.wait_ms is not None and u.wait_ms > 5 * 0.85 for u in others)


@given(st.lists(LOADS, max_size=12))
def test_an_overload_is_what_exceeds_the_median_of_the_others(loads):
    usages = [usage(f"c{i}", kib_s) for i, kib_s in enumerate(loads)]
    active = [u for u in usages if u.requests]
    expected = set()
    for one in active:
        others = [u.load for u in active if u is not one]
        if others and one.load > DEFAULTS.overload_factor * statistics.median_low(others):
            expected.add(one.key)
    assert overloads(Pool(), usages, DEFAULTS) == expected


def test_nobody_is_an_overload_beside_those_that_have_just_begun():
    """Two overloads that begin at the end of a period have done little in it."""
    normal = [usage(f"normal-{i}", 600) for i in range(3)]
    barely = [usage(f"over-{i}", 100) for i in range(2)]
    before = Pool(active=frozenset(u.key for u in normal))
    assert overloads(before, [*normal, *barely], DEFAULTS) == set()
    wholly = [usage(f"over-{i}", 3000) for i in range(2)]
    assert overloads(before, [*normal, *wholly], DEFAULTS) == {u.key for u in wholly}


@given(LAWS, SEQUENCES)
def test_without_load_everything_is_released_in_the_end(law, sequence):
    state, _ = run(law, *(observation_of(*row) for row in sequence))
    idle = observation_of([(0, 1, 4)] * 8, 0.0)
    state, _ = run(law, *[idle] * (DEFAULTS.release_after + 1), state=state)
    assert state["sda"].throttled == {} and state["sda"].level is None


def fluid(law, base_ratio, service_ms, demand_kib_s, capacity_kib_s, periods, state=None):
    """Close the loop over an M/M/1 disk; return levels of pressure and the limits."""
    limit, history = None, []
    for _ in range(periods):
        rate = min(demand_kib_s, (0.98 - base_ratio) * capacity_kib_s, limit or 1e12)
        utilization = base_ratio + rate / capacity_kib_s
        wait_ms = service_ms / (1 - utilization)
        normal = [usage(name, 50, wait_ms) for name in "abc"]
        seen = observe(*normal, usage("over", rate, wait_ms), utilization=utilization)
        state, decisions = decide(law, state or {}, seen)
        for decision in decisions:
            if decision.key == "over":
                limit = decision.limit_bytes_s and decision.limit_bytes_s / 1024
        pressure = wait_ms / 5 if isinstance(law, Slae) else utilization / law.threshold
        history.append((pressure, limit))
    return history, state


@given(st.floats(0.05, 0.5), st.floats(0.2, 1.5), st.floats(5e3, 1e6))
@settings(max_examples=60)
def test_slae_converges_within_the_sla_without_a_limit_cycle(
    base_ratio, service_ms, capacity_kib_s
):
    history, _ = fluid(SLAE, base_ratio, service_ms, 1e9, capacity_kib_s, 200)
    assert [pressure for pressure, _ in history[2:] if pressure > 1] == []
    limits = [limit for _, limit in history[100:]]
    assert max(limits) <= 1.1 * min(limits)
    attainable = 1 - service_ms / (5 * SLAE.low) - base_ratio
    assert limits[-1] >= 0.9 * attainable * capacity_kib_s


@given(st.floats(0.05, 0.5), st.floats(5e3, 1e6))
@settings(max_examples=60)
def test_ute_converges_below_the_threshold_without_a_limit_cycle(base_ratio, capacity_kib_s):
    law = Ute(0.75)
    history, _ = fluid(law, base_ratio, 1.0, 1e9, capacity_kib_s, 200)
    assert [pressure for pressure, _ in history[2:] if pressure > 1] == []
    limits = [limit for _, limit in history[100:]]
    assert max(limits) == min(limits)
    assert history[-1][0] >= law.low


@given(st.floats(0.05, 0.4), st.floats(1.1, 50))
@settings(max_examples=60)
def test_a_container_that_asks_for_less_is_released(base_ratio, excess):
    history, state = fluid(SLAE, base_ratio, 1.0, 1e9, 1e4, 20)
    assert history[-1][1] is not None
    modest = 0.3 * (1 - base_ratio) * 1e4 / excess
    history, state = fluid(SLAE, base_ratio, 1.0, modest, 1e4, 60, state)
    assert state["sda"].throttled == {}


def test_an_sla_that_cannot_be_met_is_told_and_what_does_not_help_is_given_back():
    history, state, limit, reports = [], {}, None, []
    for _ in range(60):
        rate = min(20_000, limit or 1e12)
        slow = [usage(name, 200, 9.0 + rate / 1e5) for name in "abc"]  # slow whatever is done
        state, decisions = decide(SLAE, state, observe(*slow, usage("over", rate, 9.0)))
        for decision in decisions:
            if decision.action == "report":
                reports.append(decision)
            else:
                limit = decision.limit_bytes_s and decision.limit_bytes_s / 1024
        history.append(limit)
    assert min(limit for limit in history if limit) == DEFAULTS.floor_bytes_s / 1024
    [report] = reports
    assert "throttling cannot meet it" in report.cause
    assert history[-1] is None or history[-1] > 10_000


def test_a_failed_probe_is_taken_back_and_the_next_one_waits_longer():
    pool = Pool(
        level=17.0,
        throttled={"over": control.Throttled("over", 2**20, 900.0, 2**20 / 17)},
        good=16.0,
        bad=(500.0, 3.0),
    )
    seen = observe(usage("a", 200, 6), usage("b", 200, 6), usage("over", 1024, 6, request_kib=1024))
    state, [decision] = decide(SLAE, {"sda": pool}, seen, Settings())
    assert state["sda"].patience == 2 * pool.patience
    assert (decision.action, decision.limit_bytes_s) == ("tighten", round(2**20 * 16 / 17))
