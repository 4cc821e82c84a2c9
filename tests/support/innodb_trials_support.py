"""What several tiers of `test_innodb_trials` share."""

import json

import pytest

from commits import commit_trial
from elevatorlab import testbeds
from elevatorlab.results import store
from elevatorlab.running import campaign
from helpers import run_into
from state import assert_restored, machine_state

FILE = {"kind": "file_backed", "size_mib": 160}


def phases_of(folder):
    return json.loads((folder / "result.json").read_text())["workloads"]["inserts"]["phases"]


@pytest.fixture(scope="module")
def run(testbed, tmp_path_factory):
    """Return a function that runs a trial in the deterministic machine."""

    def one(trial):
        testbed.prepare([trial])
        return run_into(tmp_path_factory.mktemp("result"), testbed, trial)

    return one


@pytest.fixture(scope="module")
def plain(make_trial):
    return commit_trial(make_trial, (1, 1, 60), (8, 1, 100))


@pytest.fixture(scope="module")
def three_runs(run, plain):
    return [run(plain) for _ in range(3)]


def run_for_real(name, trial, folder):
    before = machine_state()
    testbed = testbeds.get(name, say=lambda _: None)
    try:
        campaign.run([campaign.Share(testbed, [trial])], folder)
    finally:
        testbed.close()
        assert_restored(before)
    return store.folder(folder, testbed) / trial.hash
