"""Campaigns in the deterministic machine: neighbours and kills change no bit."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from campaign_image_support import digests, one_by_one, trials, workers  # noqa: F401  (fixtures)
from helpers import running, start_cli, wait_until

pytestmark = [pytest.mark.anew, pytest.mark.image, pytest.mark.timeout(600)]


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
