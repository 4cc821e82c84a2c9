"""The paced disk's model, as a pure function of arrivals, and the disk itself on this machine."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from elevatorlab.agent.devices import block_device
from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.lifecycle import journal
from elevatorlab.agent.lifecycle.proofs import Proofs
from elevatorlab.testbeds.agent_archive import agent_archive
from state import assert_restored, machine_state

SERVER = {
    "service_us": 1000,
    "service": "constant",
    "bandwidth_kib_s": 0,
    "accept_us": None,
    "seed": 1,
}


@pytest.fixture
def agent(tmp_path):
    file = tmp_path / "elevatorlab-test.pyz"
    file.write_bytes(agent_archive())
    return str(file)


def device(**changes):
    return {"kind": "paced_disk", "profile": "test", "size_mib": 8, **SERVER, **changes}


@pytest.mark.root
def test_a_real_one_is_a_block_device_with_the_models_times(agent):
    before = machine_state()
    with journal.Journal() as changes:
        name = block_device.create(device(service_us=20_000), {}, agent, changes, Proofs())
        assert int((block_device.BLOCK / name / "size").read_text()) * 512 == 8 << 20
        start = block_device.account(device())
        file = os.open(f"/dev/{name}", os.O_WRONLY | os.O_DIRECT)
        began_s = time.monotonic()
        subprocess.run(
            ["dd", "if=/dev/zero", f"of=/dev/{name}", "bs=4k", "count=10", "oflag=direct"],
            check=True,
            capture_output=True,
        )
        took_s = time.monotonic() - began_s
        os.close(file)
        end = block_device.account(device())
        assert end["requests"] - start["requests"] >= 10
        assert 0.199 < end["busy_s"] - start["busy_s"] <= took_s
    assert_restored(before)


@pytest.mark.root
def test_a_machine_without_fuse_is_told_so(agent, tmp_path, monkeypatch):
    before = machine_state()
    monkeypatch.setattr(block_device, "FUSE", tmp_path / "fuse")
    monkeypatch.setattr(block_device, "load_module", lambda name: None)
    with pytest.raises(AgentError, match="this machine has no .*fuse; expected it"):
        with journal.Journal() as changes:
            block_device.create(device(), {}, agent, changes, Proofs())
    assert_restored(before)


@pytest.mark.root
def test_a_server_that_died_keeps_no_account(monkeypatch, tmp_path):
    monkeypatch.setattr(block_device, "PACED", Path(tmp_path, "gone"))
    assert block_device.account(device()) is None
    assert block_device.account({"kind": "null_blk"}) is None
