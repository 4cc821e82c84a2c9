"""A paced disk on this machine: what is killed leaves nothing, and containers have parts of it."""

import json
import os
import random
import signal
import threading
import time

import pytest

from elevatorlab import campaign, store, studies, testbeds
from elevatorlab.errors import TrialFailed
from elevatorlab.studies import container_isolation
from helpers import wait_until
from state import assert_restored, machine_state
from test_kills import kill_both, killed_again_and_again, processes

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

MOMENTS = random.Random(3)
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


def test_a_server_that_is_killed_fails_the_trial_and_leaves_nothing(make_trial, tmp_path):
    before = machine_state()
    host = testbeds.get("host", say=lambda _: None)

    def kill_server():
        wait_until(lambda: processes("paced-disk") and processes("worker"), 20)
        for pid in processes("paced-disk"):
            os.kill(pid, signal.SIGKILL)

    killer = threading.Timer(1.5, kill_server)
    killer.start()
    with pytest.raises(TrialFailed) as failure:
        trial = make_trial(**divided(20, deadline_s=30))
        campaign.run([campaign.Share(host, [trial])], tmp_path)
    killer.join()
    assert "Traceback" not in str(failure.value)
    assert_restored(before)


def kill_both_while_it_is_there(**tools):
    wait_until(lambda: processes("paced-disk"), 30)
    time.sleep(MOMENTS.uniform(0, 0.8))
    return kill_both(**tools)


def test_a_killed_agent_is_recovered_from(make_trial, tmp_path):
    trial = make_trial(**divided(1, deadline_s=20))
    victim = kill_both_while_it_is_there
    killed_again_and_again(3, "host", victim, trial, tmp_path, window_s=(0, 0.01))


@pytest.mark.docker
def test_containers_of_an_engine_share_the_disk(tmp_path):
    """Parts equal and overload with Docker: the rows are whole, and the laws hold."""
    before = machine_state()
    docker = testbeds.get("docker", say=lambda _: None)
    choice = {"parts": ("equal", "overload"), "containers": (1, 3), "normal_containers": (1,)}
    choice |= {"disks": ("write_behind",), "duration_s": 2}
    study = container_isolation
    trials = study.trials(studies.parameters(study, "smoke", choice, docker.defaults))
    campaign.run([campaign.Share(docker, trials)], tmp_path)
    table = store.tidy(tmp_path, study)
    assert len(table) == 1 + 3 + 1 + 2
    assert (table["requests"] > 50).all()
    busy = table["disk_iops"] * table["service_ms"] / 1000
    assert busy.to_numpy() == pytest.approx(table["disk_busy_ratio"].to_numpy(), rel=0.05)
    little = table["iops"] * table["wait_ms"] / 1000
    assert little.to_numpy() == pytest.approx(table["queue_length"].to_numpy(), rel=0.02)
    # What a container sees has its wait for a processor in it, too.
    assert (table["latency_mean_ms"] > 0.85 * table["wait_ms"]).all()
    assert json.loads(
        (tmp_path / docker.folder_name() / table["trial"][0] / "result.json").read_text()
    )
    assert_restored(before)
