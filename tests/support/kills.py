"""Kills at random moments, and what a trial is that is killed."""

import contextlib
import os
import random
import signal
import time

import docker

import clients
from elevatorlab import testbeds
from elevatorlab.testbeds.docker import groups
from elevatorlab.testbeds.docker import testbed as docker_testbed
from helpers import of_each_process, wait_until
from state import agents, assert_restored, machine_state

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
    """Return the process ids of agents that do a job.

    A worker may be a copy of the agent that runs the trial, and its child.
    """
    jobs, parents = {}, {}
    for file in of_each_process("cmdline"):
        with contextlib.suppress(OSError):  # ended meanwhile
            words = file.read_bytes().decode().split("\0")
            if len(words) > 3 and words[1].endswith(".pyz"):
                pid = int(file.parent.name)
                stat = file.with_name("stat").read_text()
                jobs[pid], parents[pid] = words[2], int(stat.rpartition(")")[2].split()[1])
    copies = [pid for pid, name in jobs.items() if name == jobs.get(parents[pid]) == "trial"]
    return [pid for pid, name in jobs.items() if job == ("worker" if pid in copies else name)]


def kill_both(**_):
    return any([die(pid) for pid in [*processes("start"), *processes("trial")]])


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


#: What the client must have heard before a moment begins, where there is nothing to kill earlier.
NOT_BEFORE = {kill_agent_container: "start", kill_workload_container: "containers are wanted"}


DISK = {"kind": "paced_disk", "profile": "server", "size_mib": 16, "service_us": 1850}


def writes(duration_s, group="main"):
    phase = {"duration_s": duration_s, "think_us": 2000}
    plain = {"kind": "paced_writes", "name": f"of-{group}", "group": group}
    return {**plain, "request_bytes": 4096, "phases": (phase,)}


def divided(duration_s, **more):
    groups = ("one", "two")
    return {
        "device": DISK,
        "divided": True,
        "groups": [{"name": name} for name in groups],
        "workloads": [writes(duration_s, name) for name in groups],
        **more,
    }
