"""Whatever is killed, whenever: the next start, or `elevatorlab clean`, restores the machine.

Fifty kills (-9) at seeded random moments of a small trial. Where a moment comes after the end of
the trial, nothing is there to be killed, and the next moment is tried: what counts is kills.
"""

import contextlib
import os
import random
import signal
import time
from collections import Counter

import docker
import pytest

import clients
import sshd
from elevatorlab import testbeds
from elevatorlab.testbeds.docker import groups
from elevatorlab.testbeds.docker import testbed as docker_testbed
from helpers import fio, of_each_process, wait_until
from state import agents, assert_restored, machine_state

pytestmark = [
    pytest.mark.root,
    pytest.mark.programs("fio", "losetup", "mkfs.ext4", "ps"),
    pytest.mark.timeout(900),
]

#: A trial of some two seconds, which changes all that a trial can change. Beside fio nothing fills
#: the file system: fio makes its file only when it begins, and a slow machine comes to that late.
TRIAL = {
    "deadline_s": 20,
    "backing_scheduler": "kyber",
    "scheduler": {"name": "bfq", "tunables": {"slice_idle": 0}},
    "filesystem": "ext4",
    "groups": ({"name": "main", "limits": {"read_iops": 500}},),
    "workloads": (
        {"kind": "endless_read", "name": "loop", "group": "main", "size_mib": 8, "direct": True},
        fio(rw="randrw", runtime="400ms", time_based=1, size="4M"),
    ),
}
CONTAINER = {"name": "main", "isolation": "container", "limits": {"read_iops": 500}}

#: Moments after the start of the client, first and last; most trials still run then.
SOON_S, WITH_CONTAINERS_S = (0.1, 1.8), (0.0, 1.5)


def die(pid):
    """Kill a process; tell whether it was there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def processes(job):
    """Return the process ids of agents that do a job."""
    found = []
    for file in of_each_process("cmdline"):
        with contextlib.suppress(OSError):  # ended meanwhile
            words = file.read_bytes().decode().split("\0")
            if len(words) > 3 and words[1].endswith(".pyz") and words[2] == job:
                found.append(int(file.parent.name))
    return found


def kill_client(client, **_):
    alive = client.is_alive()
    client.kill()
    return alive


def kill_agent(**_):
    return any([die(pid) for pid in processes("trial")])


def kill_supervisor(**_):
    # Forked by the job that starts it, so that is what it is called.
    return any([die(pid) for pid in processes("start")])


def kill_both(**_):
    return any([die(pid) for pid in [*processes("start"), *processes("trial")]])


def kill_everything(client, **_):
    alive = kill_client(client)
    return kill_both() or alive


def kill_worker(**_):
    return any([die(pid) for pid in processes("worker")])


def cut_connection(server, **_):
    cut = bool(server.sessions())
    server.cut_connections()
    return cut


def cut_connection_and_kill_client(client, server, **_):
    cut = cut_connection(server)
    return kill_client(client) and cut


def _kill_containers(engine, names):
    killed = False
    for container in engine.containers.list(filters={"label": groups.LABEL}):
        if names(container):
            with contextlib.suppress(docker.errors.APIError):  # on its way out by itself
                container.kill()
                killed = True
    return killed


def kill_agent_container(engine, **_):
    return _kill_containers(engine, lambda one: one.name == docker_testbed.AGENT_NAME)


def kill_workload_container(engine, **_):
    return _kill_containers(engine, lambda one: one.name.endswith("-main"))


@pytest.fixture(scope="module")
def engine():
    client = docker.from_env()
    yield client
    client.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with sshd.running(tmp_path_factory.mktemp("sshd")) as running:
        yield running


#: Kills that found something to kill, by victim.
KILLED = Counter()


def killed_again_and_again(kills, address, victim, trial, folder, window_s=SOON_S, **tools):
    """Kill the victim `kills` times; each time the machine is restored and the result comes.

    After every other kill `clean` finishes the job, after the others the next start does.
    """
    before = machine_state()
    moments, done, name = random.Random(victim.__name__), 0, "nothing yet"
    for attempt in range(4 * kills):
        if done == kills:
            break
        results, log = folder / str(attempt), folder / f"{attempt}.log"
        trial = trial.model_copy(update={"seed": attempt})
        client = clients.start(address, trial, results, log)
        moment_s = moments.uniform(*window_s)
        wait_for(NOT_BEFORE.get(victim, ""), log, client)
        time.sleep(moment_s)
        hit = strike(victim, client, tools)
        done += hit
        KILLED[victim] += hit
        name = f"{victim.__name__} {done}, {moment_s:.2f} s after the start"
        client.join(300)
        assert not client.is_alive(), f"{name}: the client hangs"
        if hit and done % 2:
            finish(address, before, name)
        assert_result(address, trial, results, log, name)
        assert_restored(before, name=name)
    assert done == kills, f"only {done} of {4 * kills} moments found something to kill"


def strike(victim, client, tools):
    """Kill as soon as there is something to kill; tell whether there was, before the trial's end.

    A slow machine has not come to it at the moment chosen.
    """
    while not (hit := victim(client=client, **tools)) and client.is_alive():
        time.sleep(0.01)
    return hit


def wait_for(text, log, client):
    """Wait until the client has heard a text, or has ended."""
    wait_until(lambda: text in said_in(log) or not client.is_alive())


def said_in(log):
    return log.read_text() if log.exists() else ""


def finish(address, before, name):
    """Let `clean` restore the machine, once a trial that nobody waits for has ended.

    A client that is killed while it starts a trial may have it start a moment later.
    """
    for _ in range(3):
        wait_until(lambda: agents() == before["agents"])
        testbed = testbeds.get(address, say=lambda _: None)
        testbed.clean()
        testbed.close()
        if machine_state() == before:
            return
    assert_restored(before, name=name)


def assert_result(address, trial, results, log, name):
    """Assert that the same command, as often as it says so, brings the result."""
    for _ in range(3):
        if list(results.glob("*/*/result.json")):
            break
        clients.run(address, trial, results, log)
    said = said_in(log)
    assert len(list(results.glob("*/*/result.json"))) == 1, f"{name}: {said}"
    assert "Traceback" not in said, f"{name}: {said}"


HERE = {
    kill_client: 6,
    kill_agent: 6,
    kill_supervisor: 4,
    kill_both: 4,
    kill_everything: 4,
    kill_worker: 2,
}
OVER_SSH = {cut_connection: 8, cut_connection_and_kill_client: 4}
#: What the client must have heard before a moment begins, where there is nothing to kill earlier.
NOT_BEFORE = {
    kill_agent_container: "start",
    kill_workload_container: "containers are wanted",
}
IN_CONTAINERS = {kill_client: 4, kill_agent_container: 4, kill_workload_container: 4}


@pytest.mark.parametrize("victim", HERE)
def test_killed_on_this_machine(victim, make_real_trial, tmp_path):
    killed_again_and_again(HERE[victim], "host", victim, make_real_trial(**TRIAL), tmp_path)


@pytest.mark.ssh
@pytest.mark.parametrize("victim", OVER_SSH)
def test_killed_over_ssh(victim, server, make_real_trial, tmp_path):
    trial = make_real_trial(**TRIAL)
    killed_again_and_again(OVER_SSH[victim], server.address, victim, trial, tmp_path, server=server)


@pytest.mark.docker
@pytest.mark.environment_image
@pytest.mark.parametrize("victim", IN_CONTAINERS)
def test_killed_in_containers(victim, engine, make_real_trial, tmp_path):
    testbeds.get("docker").clean()
    trial = make_real_trial(**{**TRIAL, "groups": (CONTAINER,)})
    kills = IN_CONTAINERS[victim]
    killed_again_and_again(
        kills, "docker", victim, trial, tmp_path, WITH_CONTAINERS_S, engine=engine
    )


def test_fifty_kills_found_something_to_kill():
    """Last in this file: it counts what the others have killed."""
    victims = {*HERE, *OVER_SSH, *IN_CONTAINERS}
    if not victims <= KILLED.keys():
        pytest.skip("counts the kills of the whole file; run all of it: tests/test_kills.py")
    assert sum(KILLED[victim] for victim in victims) >= 50
