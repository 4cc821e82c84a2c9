"""Devices as users name them are resolved, on recorded /sys trees, to disks with schedulers."""

import pytest

import sys_trees
from elevatorlab.agent.devices import block_device
from elevatorlab.agent.errors import AgentError


@pytest.fixture
def block(tmp_path):
    trees = [sys_trees.recorded("debian-6.1"), sys_trees.recorded("virtio"), sys_trees.CCISS]
    return sys_trees.build(tmp_path / "sys", *trees)


@pytest.fixture
def nodes(tmp_path):
    """Return a /dev with the links that udev makes."""
    (tmp_path / "dev/mapper").mkdir(parents=True)
    (tmp_path / "dev/vg").mkdir()
    (tmp_path / "dev/disk/by-id").mkdir(parents=True)
    (tmp_path / "dev/mapper/vg-root").symlink_to("../dm-0")
    (tmp_path / "dev/vg/root").symlink_to("../dm-0")
    (tmp_path / "dev/mapper/crypt").symlink_to("../dm-1")
    (tmp_path / "dev/disk/by-id/scsi-1234").symlink_to("../../sda")
    return tmp_path / "dev"


@pytest.mark.parametrize(
    ("name", "disks"),
    [
        ("sda", ["sda"]),
        ("/dev/sda", ["sda"]),
        ("sda1", ["sda"]),
        ("vda", ["vda"]),
        ("md0", ["sda", "sdb"]),
        ("/dev/md0", ["sda", "sdb"]),
        ("nvme0n1", ["nvme0c0n1"]),
        ("c0d0", ["cciss!c0d0"]),
        ("c0d0p1", ["cciss!c0d0"]),
        ("cciss/c0d0", ["cciss!c0d0"]),
        ("/dev/cciss/c0d0", ["cciss!c0d0"]),
        ("dm-0", ["sda"]),
        ("dm-1", ["sda"]),
        ("mapper/vg-root", ["sda"]),
        ("/dev/mapper/crypt", ["sda"]),
        ("/dev/vg/root", ["sda"]),
        ("disk/by-id/scsi-1234", ["sda"]),
    ],
)
def test_a_name_is_resolved_to_the_disks_that_have_schedulers(name, disks, block, nodes):
    assert block_device.disks_of(name, block, nodes) == disks


def test_an_nvme_disk_without_multipath_is_itself(tmp_path):
    tree = [entry for entry in sys_trees.recorded("debian-6.1") if "nvme0c0n1" not in entry[0]]
    block = sys_trees.build(tmp_path / "sys", tree)
    assert block_device.disks_of("nvme0n1", block, tmp_path) == ["nvme0n1"]


@pytest.mark.parametrize("name", ["sdz", "", "c9d9", "mapper/none", "../sda", "sda9"])
def test_what_is_not_there_is_refused_with_what_is(name, block, nodes):
    with pytest.raises(AgentError) as refusal:
        block_device.disks_of(name, block, nodes)
    assert f"expected a block device of this machine, found {name!r}" in str(refusal.value)
    assert "nvme0n1, sda, sda1" in str(refusal.value)
