"""What every policy keeps to, whatever it observes."""

import copy

import pytest
from hypothesis import given, settings

from elevatorlab.agent.regulator.control import DEFAULTS
from elevatorlab.agent.regulator.controllers import Aimd, Pi
from elevatorlab.agent.regulator.decisions import decide
from elevatorlab.agent.regulator.guard import Guard
from elevatorlab.agent.regulator.observation import Observation
from elevatorlab.agent.regulator.paper import READINGS, SlaePaper, UtePaper
from elevatorlab.agent.regulator.policies import Slae, Ute
from elevatorlab.agent.regulator.share import Share
from regulator_loads import best_fixed_bytes_s, simulated
from regulator_observations import SEQUENCES, observation_of, observe, run, usage

SLAS = {"": 5.0}
GUARD, SHARE = Guard(SLAS), Share(SLAS)
LAWS = {
    "slae": Slae(SLAS),
    "slae by queue length": Slae({"": 3.0}, "queue_length"),
    "ute": Ute(0.75),
    "guard": GUARD,
    "share": SHARE,
    "aimd": Aimd(SLAS),
    "pi": Pi(SLAS),
}
LAWS |= {f"paper's slae by {one}": SlaePaper(SLAS, overload=one) for one in READINGS["overload"]}
LAWS |= {f"paper's ute, {one}": UtePaper(0.75, one) for one in READINGS["system"]}

EACH = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


@EACH
def test_an_empty_host_needs_no_decision(law):
    assert decide(law, {}, Observation(0.0, 1.0, (), {})) == ({}, [])


@pytest.mark.parametrize("name", [name for name in LAWS if "ute" not in name])
def test_what_an_overload_waits_is_its_own_doing(name):
    """Nobody is limited while all others are within the SLA."""
    others = (usage("a", 200, 4.9), usage("b", 210, 4.9))
    assert run(LAWS[name], observe(*others, usage("over", 9000, 30, request_kib=32)))[1] == [[]]


@EACH
@given(sequence=SEQUENCES)
@settings(max_examples=40)
def test_decisions_are_deterministic_and_change_nothing_they_are_given(law, sequence):
    observations = [observation_of(*row) for row in sequence]
    state, made = run(law, *observations)
    before = copy.deepcopy(state)
    assert run(law, *observations) == (state, made)
    run(law, *observations, state=state)
    assert state == before


@EACH
@given(sequence=SEQUENCES)
@settings(max_examples=40)
def test_no_limit_is_below_the_floor_and_no_container_gets_two(law, sequence):
    _, made = run(law, *(observation_of(*row) for row in sequence))
    for decisions in made:
        limits = [d.limit_bytes_s for d in decisions if d.limit_bytes_s is not None]
        assert all(limit >= DEFAULTS.floor_bytes_s for limit in limits)
        keys = [d.key for d in decisions if d.key]
        assert len(keys) == len(set(keys))


#: Least shares of what offenders do under the best fixed limit, which knows the load beforehand,
#: how long bursts are, too, and gives all of them equal parts of bytes.
SHARES = [
    (GUARD, {"step": 0.93, "two": 0.95, "bursts of 5 s": 0.9, "bursts of 1 s": 0.7}),
    (SHARE, {"step": 0.92, "two": 0.92, "many": 1.0, "mixed": 1.5}),
]


@pytest.mark.parametrize(
    ("law", "load", "least"),
    [(law, load, least) for law, shares in SHARES for load, least in shares.items()],
)
def test_offenders_do_nearly_what_the_best_fixed_limit_would_let_them(law, load, least):
    seeds = range(1, 4)
    rates = [simulated(load, seed, law)[1] for seed in seeds]
    assert sum(rates) / len(rates) >= least * best_fixed_bytes_s(load, seeds)
