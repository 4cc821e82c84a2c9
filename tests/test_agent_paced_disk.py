"""The paced disk's model, as a pure function of arrivals, and the disk itself on this machine."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from elevatorlab.agent.devices import block_device
from elevatorlab.agent.devices.paced_disk import Pace
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


def pace(**changes):
    return Pace({**SERVER, **changes})


def test_an_idle_server_takes_its_time():
    assert pace().answered_at(5.0, 4096, True) == pytest.approx(5.001)


def test_a_busy_server_is_waited_for():
    disk = pace()
    disk.answered_at(5.0, 4096, True)
    assert disk.answered_at(5.0004, 4096, True) == pytest.approx(5.002)
    assert disk.answered_at(9.0, 4096, True) == pytest.approx(9.001)


def test_bytes_take_time():
    assert pace(bandwidth_kib_s=1024).answered_at(0.0, 512 << 10, True) == pytest.approx(0.501)


def test_a_memory_answers_before_the_write_is_served():
    disk = pace(accept_us=200)
    assert disk.answered_at(1.0, 4096, True) == pytest.approx(1.0002)
    # The memory is free again when the server is: at 1.0012.
    assert disk.answered_at(1.0003, 4096, True) == pytest.approx(1.0012)


def test_a_read_is_never_answered_from_the_memory():
    assert pace(accept_us=200).answered_at(1.0, 4096, False) == pytest.approx(1.001)


def test_exponential_service_has_the_same_mean_and_its_own_spread():
    disk = pace(service="exponential")
    ends = [disk.answered_at(10.0 * n, 4096, True) - 10.0 * n for n in range(20_000)]
    mean = sum(ends) / len(ends)
    variance = sum((end - mean) ** 2 for end in ends) / len(ends)
    assert mean == pytest.approx(0.001, rel=0.03)
    assert variance / mean**2 == pytest.approx(1, rel=0.06)


def test_another_seed_draws_other_service_times():
    first, same, other = (
        pace(service="exponential", seed=seed).answered_at(0.0, 4096, True) for seed in (1, 1, 2)
    )
    assert first == same != other


def test_the_account_holds_what_was_served_and_not_what_waits():
    disk = pace(accept_us=0)
    disk.answered_at(0.0, 4096, True)
    assert disk.account(0.0004) == pytest.approx(
        {"time_s": 0.0004, "busy_s": 0.0004, "requests": 1}
    )
    assert disk.account(7.0) == pytest.approx({"time_s": 7.0, "busy_s": 0.001, "requests": 1})


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
