"""A server of the tests' own, and a trial that runs over it."""

import pytest

import sshd
from elevatorlab import testbeds
from elevatorlab.results import store
from elevatorlab.running import campaign
from state import assert_restored, machine_state


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with sshd.running(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a trial on a testbed and returns its result's folder."""

    def one(address, trial, note=lambda _: None):
        before = machine_state()
        testbed = testbeds.get(address, say=lambda _: None)
        campaign.run([campaign.Share(testbed, [trial])], tmp_path / "results", note=note)
        assert_restored(before)
        return store.folder(tmp_path / "results", testbed) / trial.hash

    return one
