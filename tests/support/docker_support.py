"""What several tiers of `test_docker` share."""

import docker
import pytest

from elevatorlab import testbeds
from elevatorlab.results import store
from elevatorlab.running import campaign
from helpers import fio
from state import assert_restored, machine_state


@pytest.fixture(scope="module", autouse=True)
def nothing_left_of_before():
    testbed = testbeds.get("docker", say=lambda _: None)
    testbed.clean()
    testbed.close()


@pytest.fixture
def make_container_trial(make_real_trial):
    """Return a factory of trials: a second of fio in a container."""

    def make(**changes):
        plain = {
            "groups": ({"name": "main", "isolation": "container"},),
            "filesystem": "ext4",
            "workloads": (fio(runtime="1s", time_based=1, iodepth=4, size="4M"),),
        }
        return make_real_trial(**{**plain, **changes})

    return make


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a trial and returns its result's folder."""

    def one(trial, note=lambda _: None, name="docker"):
        before = machine_state()
        testbed = testbeds.get(name, say=lambda _: None)
        try:
            campaign.run([campaign.Share(testbed, [trial])], tmp_path / "results", note=note)
        finally:
            assert_restored(before)
        return store.folder(tmp_path / "results", testbed) / trial.hash

    return one


@pytest.fixture
def engine():
    client = docker.from_env()
    yield client
    client.close()


def container_of(engine, trial, group):
    (found,) = engine.containers.list(filters={"name": f"elevatorlab-{trial.hash}.*-{group}"})
    return found
