"""AIMD and PI: what they do with the share, and that they contain an overload."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elevatorlab.agent.regulator.control import DEFAULTS
from elevatorlab.agent.regulator.controllers import Aimd, Pi
from elevatorlab.agent.regulator.decisions import decide
from regulator_observations import HURT, SEQUENCES, observation_of, observe, run, usage
from regulator_simulation import Container, SingleServerDisk, closed_loop

SLAS = {"": 5.0}
CONTROLLERS = {"aimd": Aimd(SLAS), "pi": Pi(SLAS)}
OF_EACH = st.sampled_from(list(CONTROLLERS.values()))
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
def test_nobody_is_limited_while_all_are_within_the_sla_or_nobody_stands_out(name):
    equal = observe(*(usage(f"c{index}", 139 + index, 31) for index in range(20)))
    assert run(CONTROLLERS[name], observe(*CALM), equal, observe())[1] == [[], [], []]


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


@given(OF_EACH, SEQUENCES)
def test_the_same_input_gives_the_same_decisions(controller, sequence):
    observations = [observation_of(*row) for row in sequence]
    assert run(controller, *observations) == run(controller, *observations)


def simulated(name, seed):
    """Return 70 periods of three normal containers, beside which one overloads from 10 to 50 s."""
    normals = [Container(f"normal{index}") for index in range(3)]
    over = Container("over", think_ms=0.0, request_bytes=16384, depth=8, active=((10.0, 50.0),))
    disk = SingleServerDisk([*normals, over], seed=seed)
    return closed_loop(disk, lambda state, seen: decide(CONTROLLERS[name], state, seen), 70)


def missed(history):
    """Return the numbers of the periods in which a normal container missed its SLA."""
    return [
        round(seen.time_s)
        for seen, _ in history
        if max(u.wait_ms for u in seen.containers if u.name != "over") > 5
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CONTROLLERS)
def test_the_overload_is_contained_over_a_simulated_disk_and_released_after_it(name, seed):
    history = simulated(name, seed)
    late = [period for period in missed(history) if 20 < period <= 50]
    assert 11 in missed(history) and len(late) <= 5  # of 30
    assert {d.name for _, made in history for d in made} == {"over"}
    assert "release" in {d.action for _, made in history[50:] for d in made}
