"""Campaigns in the deterministic machine: neighbours and kills change no bit."""

import os
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest

from elevatorlab.results import reading
from elevatorlab.running import campaign
from elevatorlab.running.campaign import Share
from elevatorlab.testbeds.deterministic import DeterministicTestbed
from helpers import children, every_core_busy, machines, running, start_cli, wait_until
from stubs import start_client

pytestmark = [pytest.mark.anew, pytest.mark.image, pytest.mark.timeout(600)]


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


def test_two_workers_give_the_same_bits(trials, testbed, one_by_one, tmp_path):
    campaign.run([Share(testbed, trials)], tmp_path, workers=2)
    assert digests(tmp_path) == one_by_one


def test_so_do_they_while_every_core_is_busy(trials, testbed, one_by_one, tmp_path):
    with every_core_busy():
        campaign.run([Share(testbed, trials[:2])], tmp_path, workers=2)
    found = digests(tmp_path)
    assert found == {trial: one_by_one[trial] for trial in found} and len(found) == 2


def workers(client):
    """Return the worker processes of a client that run a machine now, each with its machine."""
    found = {worker: machines(worker) for worker in children(client.pid)}
    return {worker: inside for worker, inside in found.items() if inside}


def test_killed_clients_and_workers(trials, one_by_one, tmp_path):
    """A machine ends with its worker, a worker with its client, and the same command goes on."""
    dice = random.Random(3)
    for victim, finished in (("client", 0), ("client", 1), ("worker", 1)):
        client = start_client(DeterministicTestbed(), trials, tmp_path)
        wait_until(lambda: len(digests(tmp_path)) >= finished)  # noqa: B023
        worker, inside = next(iter(wait_until(lambda: workers(client)).items()))  # noqa: B023
        time.sleep(dice.uniform(0, 0.5))
        before = digests(tmp_path)
        os.kill(client.pid if victim == "client" else worker, signal.SIGKILL)
        wait_until(lambda: not running(worker) and not any(map(running, inside)))  # noqa: B023
        client.join()
        assert client.exitcode == (-signal.SIGKILL if victim == "client" else 0)
        assert before.items() <= digests(tmp_path).items()
    assert digests(tmp_path) == one_by_one
    left = sorted(path.name for path in (tmp_path / "deterministic").iterdir())
    assert left == sorted([*one_by_one, "identity"])


def test_ctrl_c_in_a_terminal_reaches_every_process_and_stops_cleanly(tmp_path):
    """The client alone heeds it: nobody leaves a traceback, a machine or a temporary folder."""
    options = ("--preset", "smoke", "-p", "memory_mib=512", "-p", "device_mib=192")
    options = (*options, "-p", "variants=dropped", "-p", "sizes_mb=10")
    client = start_cli("run", "vm_vs_container", *options, "--workers", "2", "--results", tmp_path)
    busy = wait_until(lambda: workers(client))
    inside = [*busy, *(machine for some in busy.values() for machine in some)]
    for process in (*busy, client.pid):
        os.kill(process, signal.SIGINT)
    _, said = client.communicate()
    assert client.returncode == 130
    assert "Traceback" not in said, said
    assert said.strip().endswith("the same command goes on from there")
    wait_until(lambda: not any(map(running, inside)))
    assert list(tmp_path.glob("deterministic/*.part")) == []
    scratch = Path(tempfile.gettempdir())
    mine = [client.pid, *busy]
    assert [left for pid in mine for left in scratch.glob(f"elevatorlab-{pid}-*")] == []
