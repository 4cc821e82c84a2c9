"""A paced disk on this machine: what is killed leaves nothing, and containers have parts of it."""

import os
import signal
import threading

import pytest

from elevatorlab import testbeds
from elevatorlab.errors import TrialFailed
from elevatorlab.running import campaign
from helpers import wait_until
from kills import divided, processes
from state import assert_restored, machine_state

pytestmark = [pytest.mark.root, pytest.mark.programs("losetup", "ps"), pytest.mark.timeout(1200)]


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
