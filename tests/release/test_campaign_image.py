"""Campaigns in the deterministic machine: neighbours and kills change no bit."""

import os
import random
import signal
import time

import pytest

from elevatorlab.running import campaign
from elevatorlab.running.campaign import Share
from elevatorlab.testbeds.deterministic import DeterministicTestbed
from helpers import every_core_busy, running, wait_until
from image_campaigns import digests, one_by_one, trials, workers  # noqa: F401  (fixtures)
from stubs import start_client

pytestmark = [pytest.mark.image, pytest.mark.timeout(600)]


def test_so_do_they_while_every_core_is_busy(trials, testbed, one_by_one, tmp_path):
    with every_core_busy():
        campaign.run([Share(testbed, trials[:2])], tmp_path, workers=2)
    found = digests(tmp_path)
    assert found == {trial: one_by_one[trial] for trial in found} and len(found) == 2


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
