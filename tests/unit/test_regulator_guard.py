"""The policy ``guard``: whom it caps before anything happens, and how it steers the cap."""

import pytest
from hypothesis import given

from elevatorlab.agent.regulator.decisions import decide
from elevatorlab.agent.regulator.guard import Guard, Memory, Victim
from elevatorlab.agent.regulator.policies import Slae
from regulator_loads import SLA_MS, simulated
from regulator_observations import HURT, SEQUENCES, observation_of, observe, run, usage

GUARD = Guard({"": SLA_MS})
AT_WORK = (usage("a", 800, 3.3, request_kib=5), usage("b", 840, 3.4, request_kib=5))
IDLE, ALSO_IDLE = usage("new", 0), usage("newer", 0)


def limits_of(decisions):
    return {one.name: one.limit_bytes_s for one in decisions}


def test_newcomers_have_a_cap_before_they_do_anything():
    _, (first, second) = run(GUARD, observe(*AT_WORK, IDLE), observe(*AT_WORK, IDLE))
    assert limits_of(first) == {"new": round(0.6 * 840 * 1024)}
    assert second == []


def test_newcomers_share_what_they_may_do_together():
    _, [made] = run(GUARD, observe(*AT_WORK, IDLE, ALSO_IDLE))
    assert limits_of(made) == {"new": 0.3 * 840 * 1024, "newer": 0.3 * 840 * 1024}


def test_without_anybody_at_work_there_is_nothing_to_protect():
    assert run(GUARD, observe(IDLE, ALSO_IDLE))[1] == [[]]


def test_who_was_at_work_before_is_capped_when_it_stands_out_and_the_sla_is_missed():
    _, [made] = run(GUARD, observe(*HURT))
    assert limits_of(made) == {"over": pytest.approx(0.92 * 5 / 17.7 * 4500 * 1024, abs=1)}
    assert run(GUARD, observe(*(usage(f"c{i}", 139, 31) for i in range(5))))[1] == [[]]


def test_the_secant_through_the_anchor_and_the_present_point_meets_the_target():
    memory = Memory({"a": Victim(0.8, 1.0)}, rate_bytes_s=1000, anchor=(0.0, 1 / 0.6))
    meets = 1000 * (1 / 0.6 - 1 / 0.92) / (1 / 0.6 - 1 / 0.8)
    assert GUARD._steered(memory, 1000) == pytest.approx(1000 + 0.3 * (meets - 1000))


def test_a_period_makes_up_for_those_before_it():
    def share(*recent):
        return GUARD._made_up(Memory({"a": Victim(1, 1, recent)}, anchor=(0.0, 1 / 0.6)))

    assert share(0.92, 0.92, 0.92) == pytest.approx(1)
    assert share(1.0, 1.0, 1.0) < 1 < share(0.85, 0.85, 0.85)
    assert share(9, 9, 9) == 0.3 and share(0.1, 0.1, 0.1) == 1.5


def test_a_newcomer_that_its_cap_does_not_hold_back_is_protected_as_the_others_are():
    small = usage("new", 100, 9.0)
    periods = [observe(*AT_WORK, IDLE), *[observe(*AT_WORK, small)] * 10]
    state, _ = run(GUARD, *periods)
    assert state["sda"].memory.pressure == pytest.approx(9.0 / SLA_MS)
    greedy = usage("new", 2000, 9.0)
    state, _ = run(GUARD, *periods, observe(*AT_WORK, greedy), state=None)
    assert state["sda"].memory.pressure == pytest.approx(3.4 / SLA_MS)


@given(SEQUENCES)
def test_who_was_at_work_first_is_left_alone_while_the_sla_is_met(sequence):
    present = {f"c{i}" for i, (kib_s, _, kib) in enumerate(sequence[0][0]) if kib_s >= kib}
    state = {}
    for row in sequence:
        rows = [(load, 4.9, size) for load, _, size in row[0]]
        state, decisions = decide(GUARD, state, observation_of(rows, row[1]))
        assert not present & {one.key for one in decisions}


# The closed loop, over the disk of study 3

#: Those with requests of one size, by few containers: guard counts bytes.
LOADS = ("step", "bursts of 0.2 s", "bursts of 1 s", "bursts of 5 s", "two")


@pytest.mark.parametrize("load", LOADS)
def test_nobody_misses_the_sla_after_the_first_quarter_of_a_second(load):
    assert [simulated(load, seed, GUARD)[0] for seed in range(1, 6)] == [0] * 5


def test_slae_lets_offenders_do_less_at_any_control_period_of_its_own():
    assert simulated("step", 1, Slae({"": SLA_MS}))[1] < 0.8 * simulated("step", 1, GUARD)[1]
