"""Trials with a virtual machine inside the deterministic machine."""

import pytest

from elevatorlab.testbeds.deterministic.testbed import DeterministicTestbed
from helpers import run_into


def guest(**machine):
    return {"name": "main", "isolation": "virtual_machine", "virtual_machine": machine}


@pytest.fixture
def make_guest(make_trial):
    """Return a factory of trials with one virtual machine, but for `changes`."""

    def make(machine=None, **changes):
        usual = {"memory_mib": 1536, "groups": (guest(**(machine or {})),)}
        return make_trial(**{**usual, **changes})

    return make


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs a trial, and returns its result's folder."""

    def again(trial):
        testbed = DeterministicTestbed(say=lambda text: None)
        return run_into(tmp_path_factory.mktemp("result"), testbed, trial)

    return again
