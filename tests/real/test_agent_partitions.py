"""Partitions without a partition table, and a paced disk, on this machine."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from elevatorlab.agent.devices import block_device, partitions
from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.lifecycle import journal
from elevatorlab.agent.lifecycle.context import Context
from elevatorlab.agent.lifecycle.proofs import Proofs
from elevatorlab.agent.observe.sampler import read_diskstats
from elevatorlab.testbeds.agent_archive import agent_archive
from state import assert_restored, machine_state

pytestmark = [pytest.mark.root, pytest.mark.programs("losetup")]


@pytest.fixture
def loop(tmp_path):
    """Return the name of a loop device of 8 MiB that may have partitions."""
    file = tmp_path / "disk"
    file.write_bytes(bytes(8 << 20))
    attach = ["losetup", "--partscan", "--find", "--show", str(file)]
    name = subprocess.run(attach, check=True, capture_output=True, text=True).stdout.strip()
    yield name.removeprefix("/dev/")
    subprocess.run(["losetup", "--detach", name], check=True)


def of_disk(name):
    return sorted(
        file.parent.name for file in (partitions.BLOCK / name).resolve().glob("*/partition")
    )


def test_each_group_has_a_part_and_counters_of_its_own(loop):
    proofs = Proofs()
    with journal.Journal() as changes:
        found = partitions.divide(loop, ["one", "two", "three"], Context(changes, proofs))
        assert sorted(found.values()) == of_disk(loop) and len(found) == 3
        sizes = {
            int((partitions.BLOCK / part / "size").read_text()) * 512 for part in found.values()
        }
        assert sizes == {2 << 20}
        assert {record["read"] for record in proofs.records} == {str(2 << 20)}
        before = {name: read_diskstats(part)["writes"] for name, part in found.items()}
        write = ["dd", "if=/dev/zero", f"of=/dev/{found['two']}", "bs=4k", "count=3"]
        subprocess.run([*write, "oflag=direct"], check=True, capture_output=True)
        after = {name: read_diskstats(part)["writes"] for name, part in found.items()}
        assert {name: after[name] - before[name] for name in found} == {
            "one": 0,
            "two": 3,
            "three": 0,
        }
    assert of_disk(loop) == []


def test_a_disk_that_is_too_small_is_refused_in_a_sentence(loop):
    with pytest.raises(AgentError, match="has 8 MiB; expected at least 1 MiB for each of 9 groups"):
        with journal.Journal() as changes:
            partitions.divide(loop, [f"group-{n}" for n in range(9)], Context(changes, Proofs()))
    assert of_disk(loop) == []


def test_a_part_that_is_not_there_is_no_error(loop):
    partitions.remove(loop, 7)
    partitions.remove("no-such-disk", 1)


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


def test_a_real_one_is_a_block_device_with_the_models_times(agent):
    before = machine_state()
    with journal.Journal() as changes:
        name = block_device.create(
            device(service_us=20_000), Context(changes, Proofs(), agent=agent)
        )
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


def test_a_machine_without_fuse_is_told_so(agent, tmp_path, monkeypatch):
    before = machine_state()
    monkeypatch.setattr(block_device, "FUSE", tmp_path / "fuse")
    monkeypatch.setattr(block_device, "load_module", lambda name: None)
    with pytest.raises(AgentError, match="this machine has no .*fuse; expected it"):
        with journal.Journal() as changes:
            block_device.create(device(), Context(changes, Proofs(), agent=agent))
    assert_restored(before)


def test_a_server_that_died_keeps_no_account(monkeypatch, tmp_path):
    monkeypatch.setattr(block_device, "PACED", Path(tmp_path, "gone"))
    assert block_device.account(device()) is None
    assert block_device.account({"kind": "null_blk"}) is None
