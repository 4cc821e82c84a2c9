"""Partitions without a partition table, on a real loop device."""

import subprocess

import pytest

from elevatorlab.agent.devices import partitions
from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.lifecycle import journal
from elevatorlab.agent.lifecycle.proofs import Proofs
from elevatorlab.agent.observe.sampler import read_diskstats

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
        found = partitions.divide(loop, ["one", "two", "three"], changes, proofs)
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
            partitions.divide(loop, [f"group-{n}" for n in range(9)], changes, Proofs())
    assert of_disk(loop) == []


def test_a_part_that_is_not_there_is_no_error(loop):
    partitions.remove(loop, 7)
    partitions.remove("no-such-disk", 1)
