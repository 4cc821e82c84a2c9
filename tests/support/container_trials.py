"""Trials of fio in a container, and the Docker engine that runs them."""

import docker
import pytest

from helpers import fio
from state import run_and_restore


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
        return run_and_restore(name, trial, tmp_path / "results", note)

    return one


@pytest.fixture(scope="module")
def engine():
    client = docker.from_env()
    yield client
    client.close()


def container_of(engine, trial, group):
    (found,) = engine.containers.list(filters={"name": f"elevatorlab-{trial.hash}.*-{group}"})
    return found
