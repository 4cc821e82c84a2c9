"""Whatever is killed, whenever: the next start, or `elevatorlab clean`, restores the machine.

Fifty kills (-9) at seeded random moments of a small trial. Where a moment comes after the end of
the trial, nothing is there to be killed, and the next moment is tried: what counts is kills.
"""

import pytest

from container_trials import engine  # noqa: F401  (fixture)
from elevatorlab import testbeds
from helpers import fio
from kills import (
    WITH_CONTAINERS_S,
    die,
    kill_agent_container,
    kill_both,
    kill_workload_container,
    killed_again_and_again,
    processes,
)
from sshd import server  # noqa: F401  (fixture)

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


def kill_client(client, **_):
    alive = client.is_alive()
    client.kill()
    return alive


def kill_agent(**_):
    return any([die(pid) for pid in processes("trial")])


def kill_supervisor(**_):
    # Forked by the job that starts it, so that is what it is called.
    return any([die(pid) for pid in processes("start")])


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


HERE = {
    kill_client: 6,
    kill_agent: 6,
    kill_supervisor: 4,
    kill_both: 4,
    kill_everything: 4,
    kill_worker: 2,
}
OVER_SSH = {cut_connection: 8, cut_connection_and_kill_client: 4}
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
