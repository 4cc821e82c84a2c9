"""Devices beside the disk: their names, who may lose one, its lasting rule, a link, and a pace."""

import os
import re
import socket

import pytest

import sys_trees
from disks import refusal
from elevatorlab.agent.devices import block_device, cable, link, protection
from elevatorlab.agent.devices.paced_disk import Pace
from elevatorlab.agent.devices.protection import DiskRefused
from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.operations import udev_rule
from helpers import cli


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
    with pytest.raises(AgentError) as refused:
        block_device.disks_of(name, block, nodes)
    assert f"expected a block device of this machine, found {name!r}" in str(refused.value)
    assert "nvme0n1, sda, sda1" in str(refused.value)


class Recorded:
    """A recorded machine: the files of /sys and /proc that the protection reads."""

    def __init__(self, root, monkeypatch):
        self.sys = root / "sys"
        self.sys.mkdir()
        monkeypatch.setattr(protection, "BLOCK", self.sys)
        monkeypatch.setattr(protection, "_mounted", lambda: self.mounted)
        monkeypatch.setattr(protection, "_swap", lambda: self.swap)
        monkeypatch.setattr(protection, "signature", lambda name: None)
        self.mounted, self.swap, self.by_id = {}, set(), root / "by-id"
        self.by_id.mkdir()

    def add(self, name, serial=None, holders=(), partitions=()):
        disk = self.sys / name
        for part in partitions:
            (disk / part / "holders").mkdir(parents=True)
            (disk / part / "partition").write_text("1\n")
            (self.sys / part).symlink_to(disk / part)
        for holder in holders:
            (disk / "holders").mkdir(parents=True, exist_ok=True)
            (disk / "holders" / holder).mkdir()
        disk.mkdir(exist_ok=True)
        (disk / "dev").write_text("8:240\n")
        (disk / "size").write_text("1000215216\n")
        if serial:
            (disk / "device").mkdir()
            (disk / "device/serial").write_text(f"{serial}  \n")
        return self


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Recorded(tmp_path, monkeypatch)


class TestRecordedMachines:
    """What cannot be made on every machine: partitions, LVM, RAID, serial numbers."""

    @pytest.mark.parametrize(
        "mounted, swap, held, asked, why",
        [
            ({"sdzz1": ["/home"]}, (), (), "sdzz1", "because it is mounted on /home"),
            ({"sdzz1": ["/home"]}, (), (), "sdzz2", "/dev/sdzz1, on the same disk, is mounted on"),
            ({"sdzz1": ["/home"]}, (), (), "sdzz", "/dev/sdzz1, on the same disk, is mounted on"),
            ({"sdzz2": ["/", "/var"]}, (), (), "sdzz1", "sdzz2, on the same disk, carries the sys"),
            ({}, {"sdzz2"}, (), "sdzz", "/dev/sdzz2, on the same disk, is swap space"),
            ({}, (), ("dm-0", "md127"), "sdzz", "because it is held by dm-0, md127"),
            (
                {},
                (),
                ("../sdzz1/holders/dm-3",),
                "sdzz",
                "sdzz1, on the same disk, is held by dm-3",
            ),
        ],
    )
    def test_a_disk_in_use(self, machine, mounted, swap, held, asked, why):
        machine.add("sdzz", partitions=("sdzz1", "sdzz2"), holders=held)
        machine.mounted, machine.swap = mounted, set(swap)
        assert why in refusal(asked)

    def test_a_serial_number_names_a_disk(self, machine):
        machine.add("sdzy", serial="S45PNA0M").add("sdzz", serial="S45PNA0N")
        assert protection.resolve("S45PNA0N", machine.by_id) == "sdzz"

    def test_a_serial_number_that_two_disks_share(self, machine):
        machine.add("sdzy", serial="0123456789").add("sdzz", serial="0123456789")
        with pytest.raises(DiskRefused, match="sdzy and sdzz have the same id '0123456789'"):
            protection.resolve("0123456789", machine.by_id)

    def test_an_id_that_no_disk_has(self, machine):
        with pytest.raises(DiskRefused, match=r"names below .*by-id \(there are none\)"):
            protection.resolve("ata-OTHER", machine.by_id)
        machine.add("sdzz", serial="S45PNA0M", partitions=("sdzz1",))
        (machine.by_id / "ata-S45PNA0M").symlink_to("../../sdzz")
        with pytest.raises(DiskRefused, match="'ata-OTHER'; expected one of ata-S45PNA0M"):
            protection.resolve("ata-OTHER", machine.by_id)
        (machine.by_id / "ata-S45PNA0M-part1").symlink_to("../../sdzz1")
        for stable_id in ".", "..", "ata-S45PNA0M-part1":
            with pytest.raises(DiskRefused, match="no whole disk has the id"):
                protection.resolve(stable_id, machine.by_id)


def test_mounts_are_recognised_by_number_and_by_source(tmp_path, monkeypatch):
    table = tmp_path / "mountinfo"
    table.write_text(
        "1 0 4095:7 / / rw - ext4 /dev/elevatorlab-none rw\n"
        "2 1 0:44 /sub /data rw shared:2 - btrfs /dev/elevatorlab-btrfs rw\n"
        "3 1 0:45 / /proc rw - proc proc rw\n"
        "4 1 0:46 / /net rw - nfs server:/export rw\n"
    )
    monkeypatch.setattr(protection, "MOUNT_TABLES", (table, tmp_path / "not ours to read"))
    assert protection._mounted() == {"elevatorlab-none": ["/"], "elevatorlab-btrfs": ["/data"]}


def test_the_rule_names_the_disk_by_what_stays(monkeypatch):
    known = {"ID_SERIAL": "WDC_WD5000AAKS", "ID_WWN": "0x50014ee1", "ID_PATH": "pci-0000:00:1f.2"}
    monkeypatch.setattr(udev_rule, "properties", lambda disk: known)
    assert udev_rule.rule("sda", "bfq") == (
        'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", '
        'ENV{ID_SERIAL}=="WDC_WD5000AAKS", ATTR{queue/scheduler}="bfq"'
    )
    del known["ID_SERIAL"]
    assert 'ENV{ID_WWN}=="0x50014ee1"' in udev_rule.rule("sda", "bfq")


@pytest.mark.parametrize(
    "hostile", ['a"b', "a*", "a[b]", "a?b", "a|b", "", " a", "a\nb", "$x", "a\\"]
)
def test_a_serial_number_that_udev_would_read_otherwise_is_not_used(monkeypatch, hostile):
    monkeypatch.setattr(
        udev_rule, "properties", lambda disk: {"ID_SERIAL": hostile, "ID_PATH": "pci-1"}
    )
    assert 'ENV{ID_PATH}=="pci-1"' in udev_rule.rule("sda", "none")


def test_a_device_that_is_not_there_is_refused():
    run = cli("apply", "--device", "sdzz", "--scheduler", "none")
    assert run.returncode == 1 and "found 'sdzz'; it has: " in run.stderr


def test_a_rule_that_is_not_ours_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(udev_rule, "RULES", tmp_path)
    file = tmp_path / udev_rule.FILE.format(disk="sda")
    file.write_text('KERNEL=="sda", ATTR{queue/scheduler}="none"\n')
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(AgentError, match="not one of ours"):
        udev_rule.undo("sda")
    assert file.exists()


def test_help_is_the_agents_own():
    run = cli("apply", "--help")
    assert run.returncode == 0 and "--undo" in run.stdout


TEN = {"rate_gbit_s": 10, "delay_us": 35, "queue_packets": 1000}


def test_a_link_that_holds_its_numbers():
    link.check(link.Measured(35, 10), TEN, "port")
    link.check(link.Measured(35 + link.DELAY_BOUND_US, 9.6), TEN, "port")


@pytest.mark.parametrize(
    "delay_us, rate_gbit_s, said",
    [
        (34.9, 10, "a message from port takes 34.9 us over the link; expected 35 to 40. Run"),
        (40.1, 10, "a message from port takes 40.1 us over the link; expected 35 to 40. Run"),
        (36, 9.4, "the link carries 9.4 Gb/s from port; expected 10 within 5%. Run"),
        (36, float("inf"), "the link carries inf Gb/s from port; expected 10 within 5%. Run"),
    ],
)
def test_a_link_that_misses_its_numbers_fails_the_trial(delay_us, rate_gbit_s, said):
    with pytest.raises(AgentError, match=re.escape(said)):
        link.check(link.Measured(delay_us, rate_gbit_s), TEN, "port")


def test_the_rate_of_a_link_counts_each_segments_headers(monkeypatch):
    """At 10 Gb/s a byte takes 0.8 ns: of 1500 a segment, and 14 of Ethernet."""

    def quickest_ns(source, sink, data, address):
        segments = -(-len(data) // 1472)
        return 35_000 + 0.8 * (len(data) + segments * (28 + 14))

    monkeypatch.setattr(link, "_udp", lambda port, segment_bytes: socket.socket())
    monkeypatch.setattr(link, "_quickest_ns", quickest_ns)
    assert link.measure(cable.HOST, cable.TARGET, 1500).rate_gbit_s == pytest.approx(10)


SERVER = {"service_us": 1000, "service": "constant", "bandwidth_kib_s": 0}
SERVER |= {"accept_us": None, "seed": 1}


def pace(**changes):
    return Pace({**SERVER, **changes})


def test_an_idle_server_takes_its_time_and_a_busy_one_is_waited_for():
    disk = pace()
    assert disk.answered_at(5.0, 4096, True) == pytest.approx(5.001)
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
    soon = {"time_s": 0.0004, "busy_s": 0.0004, "requests": 1}
    assert disk.account(0.0004) == pytest.approx(soon)
    assert disk.account(7.0) == pytest.approx({"time_s": 7.0, "busy_s": 0.001, "requests": 1})
