"""Trials with a virtual machine inside the deterministic machine."""

import pytest


def guest(**machine):
    return {"name": "main", "isolation": "virtual_machine", "virtual_machine": machine}


@pytest.fixture
def make_guest(make_trial):
    """Return a factory of trials with one virtual machine, but for `changes`."""

    def make(machine=None, **changes):
        usual = {"memory_mib": 1536, "groups": (guest(**(machine or {})),)}
        return make_trial(**{**usual, **changes})

    return make
