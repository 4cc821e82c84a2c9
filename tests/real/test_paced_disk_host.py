"""A paced disk on this machine: what is killed leaves nothing, and containers have parts of it."""

import os
import random
import signal
import threading
import time

import pytest

from elevatorlab import testbeds
from elevatorlab.errors import TrialFailed
from elevatorlab.running import campaign
from helpers import wait_until
from kills_support import NOT_BEFORE, kill_both, killed_again_and_again, processes
from state import assert_restored, machine_state

pytestmark = [pytest.mark.root, pytest.mark.programs("losetup", "ps"), pytest.mark.timeout(1200)]

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
        wait_until(lambda: processes("paced-disk") and processes("worker"))
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
    wait_until(lambda: processes("paced-disk"))
    time.sleep(MOMENTS.uniform(0, 0.8))
    return kill_both(**tools)


# Earlier, nobody is left to hear that the disk is ready, and the disk ends by an error of its own.
NOT_BEFORE[kill_both_while_it_is_there] = "is ready, with"


def test_a_killed_agent_is_recovered_from(make_trial, tmp_path):
    trial = make_trial(**divided(1, deadline_s=20))
    victim = kill_both_while_it_is_there
    killed_again_and_again(3, "host", victim, trial, tmp_path, window_s=(0, 0.01))
