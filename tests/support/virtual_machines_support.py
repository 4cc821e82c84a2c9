"""What several tiers of `test_virtual_machines` share."""

from pathlib import Path

import pytest

from elevatorlab import testbeds
from elevatorlab.testbeds.deterministic import image, qemu
from helpers import run_into

ADDRESS = "deterministic?processor=Opteron_G3"


def guest(**machine):
    return {"name": "main", "isolation": "virtual_machine", "virtual_machine": machine}


@pytest.fixture
def make_guest(make_trial):
    """Return a factory of trials with one virtual machine, but for `changes`."""

    def make(machine=None, **changes):
        usual = {"memory_mib": 1536, "groups": (guest(**(machine or {})),)}
        return make_trial(**{**usual, **changes})

    return make


def machine(emulator):
    """Return the command line without the program's path."""
    sizes_mib = {qemu.ROOT: 512, image.NESTED_ROOT: 128}
    ram, *others = (Path(name) for name in ("ram", "exchange", "recording", "monitor"))
    return qemu.command(Path("image"), sizes_mib, 512, ram, "share=off", *others, emulator)[1:]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs a trial, and returns its result's folder."""

    def again(trial):
        testbed = testbeds.get(ADDRESS, say=lambda text: None)
        return run_into(tmp_path_factory.mktemp("result"), testbed, trial)

    return again
