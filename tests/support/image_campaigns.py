"""A campaign of four trials in the deterministic machine, and the digests of its results."""

import pytest

from elevatorlab.results import reading
from elevatorlab.running import campaign
from elevatorlab.running.campaign import Share
from helpers import children, machines


@pytest.fixture(scope="module")
def trials(make_trial):
    return [make_trial(seed=seed, scheduler={"name": "bfq"}) for seed in range(1, 5)]


def digests(results):
    folders = results.glob("deterministic/*/result.json")
    return {file.parent.name: reading.digest(file.parent) for file in folders}


@pytest.fixture(scope="module")
def one_by_one(trials, testbed, tmp_path_factory):
    """Return the digests of the trials that ran in this process, one after the other."""
    results = tmp_path_factory.mktemp("one-by-one")
    campaign.run([Share(testbed, trials)], results, workers=1)
    found = digests(results)
    assert len(set(found.values())) == len(trials)
    return found


def workers(client):
    """Return the worker processes of a client that run a machine now, each with its machine."""
    found = {worker: machines(worker) for worker in children(client.pid)}
    return {worker: inside for worker, inside in found.items() if inside}
