"""Testbeds: where trials run."""

from ..errors import ElevatorLabError
from .deterministic import DeterministicTestbed

TESTBEDS = {"deterministic": DeterministicTestbed}


def get(name, say=print):
    """Return the testbed called `name`; `say` receives what takes longer than a moment."""
    if name not in TESTBEDS:
        raise ElevatorLabError(f"testbed: expected one of {', '.join(TESTBEDS)}; found {name!r}")
    return TESTBEDS[name](say)
