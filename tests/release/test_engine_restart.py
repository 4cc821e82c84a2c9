"""The Docker engine goes away in the middle of a trial, and comes back."""

import subprocess

import docker
import pytest

import clients
import locks
import needs
from elevatorlab import testbeds
from elevatorlab.paths import BUILD, PROJECT
from helpers import fio, wait_until
from state import assert_restored, machine_state

pytestmark = [
    pytest.mark.docker,
    pytest.mark.environment_image,
    pytest.mark.root,
    pytest.mark.timeout(600),
]

START = PROJECT / "environments/start-docker.sh"


@pytest.fixture
def engine():
    """Return the engine, where it is ours to stop: started by the script, with no other work."""
    if not (BUILD / "dockerd.pid").exists():
        needs.skip_on_this_machine(f"a Docker engine that {START.name} started, ours to stop")
    with locks.held("engine"):
        client = docker.from_env()
        others = [one.name for one in client.containers.list() if "elevatorlab" not in one.name]
        if others:
            pytest.skip(
                f"other containers run on the Docker engine ({', '.join(others)}); end them"
            )
        yield client
        subprocess.run([START], check=True, capture_output=True)
        client.close()


def test_an_engine_that_is_restarted_in_the_middle(engine, make_real_trial, tmp_path):
    testbed = testbeds.get("docker", say=lambda _: None)
    testbed.clean()
    testbed.close()
    before = machine_state()
    in_a_container = {
        "backing_scheduler": "kyber",
        "filesystem": "ext4",
        "groups": ({"name": "main", "isolation": "container"},),
    }
    long, short = (
        make_real_trial(**in_a_container, workloads=(fio(size="4M", **options),))
        for options in ({"runtime": "20s", "time_based": 1}, {"number_ios": 5})
    )
    results, log = tmp_path / "results", tmp_path / "log"
    client = clients.start("docker", long, results, log)
    wait_until(lambda: log.exists() and "files are ready" in log.read_text())
    subprocess.run([START, "--stop"], check=True, capture_output=True)
    wait_until(lambda: "does not answer" in log.read_text())
    subprocess.run([START], check=True, capture_output=True)
    client.join(300)
    assert not client.is_alive(), "the client hangs"
    said = log.read_text()
    assert "Traceback" not in said
    assert "does not answer" in said and "trying again" in said
    assert_restored(before, 60)

    assert clients.run("docker", short, results, log) == 0, log.read_text()
    assert_restored(before)
