"""Nothing of the user's is overwritten: every refusal, on real disks and on recorded ones."""

import os
import subprocess

import pytest

from disks import MIB, loop, said
from elevatorlab.agent.devices import block_device, guard
from elevatorlab.agent.lifecycle.proofs import Proofs


def refusal(name, destroy=True):
    with pytest.raises(guard.DiskRefused) as refused:
        guard.check(name, destroy)
    sentence = str(refused.value)
    assert sentence.startswith(f"/dev/{name} ") and "expected" in sentence
    return sentence


@pytest.mark.root
@pytest.mark.programs("losetup", "mkfs.ext4", "mkswap", "sfdisk")
class TestRealDisks:
    """Devices of this machine, in the states in which they must not be touched."""

    def test_a_disk_that_nothing_uses_may_be_destroyed(self, disk):
        assert guard.check(disk, destroy=True) == guard.identity(disk)

    def test_without_destroy_even_an_empty_disk_is_refused(self, disk):
        assert "has no signature, but is not a disk made for the trial" in refusal(disk, False)

    def test_a_file_system_is_named(self, disk):
        said("mkfs.ext4", "-q", f"/dev/{disk}")
        sentence = refusal(disk, destroy=False)
        assert "has a file system or the like (ext4)" in sentence
        assert "expected the trial to say destroy: true" in sentence
        assert guard.check(disk, destroy=True)

    def test_a_partition_table_is_named(self, disk):
        said("sfdisk", "--no-reread", f"/dev/{disk}", input="label: gpt\n,16M\n,16M\n")
        assert "has a partition table (gpt)" in refusal(disk, destroy=False)

    def test_swap_space_that_is_not_in_use_is_named(self, disk):
        said("mkswap", f"/dev/{disk}")
        assert "has a file system or the like (swap)" in refusal(disk, destroy=False)

    def test_a_mounted_disk(self, disk, tmp_path):
        said("mkfs.ext4", "-q", f"/dev/{disk}")
        (tmp_path / "place").mkdir()
        said("mount", f"/dev/{disk}", str(tmp_path / "place"))
        try:
            sentence = refusal(disk)
        finally:
            said("umount", str(tmp_path / "place"))
        assert f"because it is mounted on {tmp_path / 'place'}" in sentence
        assert guard.check(disk, destroy=True)

    def test_a_disk_that_is_mounted_where_we_cannot_see_it(self, disk, tmp_path):
        said("mkfs.ext4", "-q", f"/dev/{disk}")
        (tmp_path / "place").mkdir()
        script = f"mount /dev/{disk} {tmp_path / 'place'} && echo mounted && cat"
        command = ["unshare", "--mount", "sh", "-c", script]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as elsewhere:
            assert elsewhere.stdout.readline() == "mounted\n"
            try:
                assert not os.path.ismount(tmp_path / "place")
                sentence = refusal(disk)
            finally:
                elsewhere.stdin.close()
        assert "the kernel says that it is busy" in sentence

    def test_swap_in_use(self, disk):
        said("mkswap", f"/dev/{disk}")
        said("swapon", f"/dev/{disk}")
        try:
            sentence = refusal(disk)
        finally:
            said("swapoff", f"/dev/{disk}")
        assert "because it is swap space" in sentence

    def test_a_disk_below_another_loop_device(self, disk):
        with loop(f"/dev/{disk}") as above:
            assert f"because it is below {above}" in refusal(disk)

    def test_the_disk_of_the_system(self):
        for name in block_device.disks_below("/"):
            assert "carries the system's root" in refusal(name)

    def test_a_name_that_went_to_another_disk_since(self, disk, by_id, tmp_path):
        stable_id = by_id(disk)
        before = guard.check(guard.resolve(stable_id), destroy=True)
        guard.still_the_same(disk, stable_id, before)
        said("losetup", "--detach", f"/dev/{disk}")
        (tmp_path / "other").write_bytes(bytes(32 * MIB))
        said("losetup", f"/dev/{disk}", str(tmp_path / "other"))
        with pytest.raises(guard.DiskRefused, match="or was exchanged; .* Nothing was written"):
            guard.still_the_same(disk, stable_id, before)

    def test_an_id_that_went_to_another_name_since(self, disk, by_id, tmp_path):
        stable_id = by_id(disk)
        before = guard.check(guard.resolve(stable_id), destroy=True)
        (tmp_path / "other").write_bytes(bytes(32 * MIB))
        with loop(tmp_path / "other") as other:
            by_id(other)
            with pytest.raises(guard.DiskRefused, match=f"was /dev/{disk} and is /dev/{other} now"):
                guard.still_the_same(disk, stable_id, before)

    def test_a_claimed_disk_is_in_the_proofs(self, disk, by_id):
        proofs = Proofs()
        assert block_device.claim(by_id(disk), True, proofs) == disk
        assert proofs.records[0]["written"] == "free to be overwritten"
        assert guard.identity(disk) in proofs.records[0]["read"]


class Recorded:
    """A recorded machine: the files of /sys and /proc that the guard reads."""

    def __init__(self, root, monkeypatch):
        self.sys = root / "sys"
        self.sys.mkdir()
        monkeypatch.setattr(guard, "BLOCK", self.sys)
        monkeypatch.setattr(guard, "_mounted", lambda: self.mounted)
        monkeypatch.setattr(guard, "_swap", lambda: self.swap)
        monkeypatch.setattr(guard, "signature", lambda name: None)
        self.mounted, self.swap, self.by_id = {}, set(), root / "by-id"
        self.by_id.mkdir()

    def add(self, name, serial=None, holders=(), partitions=()):
        disk = self.sys / name
        for holder in holders:
            (disk / "holders" / holder).mkdir(parents=True)
        for part in partitions:
            (disk / part / "holders").mkdir(parents=True)
            (disk / part / "partition").write_text("1\n")
            (self.sys / part).symlink_to(disk / part)
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

    def test_a_partition_of_a_mounted_disk(self, machine):
        machine.add("sdzz", partitions=("sdzz1", "sdzz2"))
        machine.mounted = {"sdzz1": ["/home"]}
        assert "because it is mounted on /home" in refusal("sdzz1")
        said = "because /dev/sdzz1, on the same disk, is mounted on /home"
        assert said in refusal("sdzz2")
        assert said in refusal("sdzz")

    def test_a_partition_of_the_disk_of_the_system(self, machine):
        machine.add("sdzz", partitions=("sdzz1", "sdzz2"))
        machine.mounted = {"sdzz2": ["/", "/var"]}
        assert "/dev/sdzz2, on the same disk, carries the system's root" in refusal("sdzz1")

    def test_a_disk_with_swap_on_a_partition(self, machine):
        machine.add("sdzz", partitions=("sdzz5",)).swap = {"sdzz5"}
        assert "because /dev/sdzz5, on the same disk, is swap space" in refusal("sdzz")

    def test_a_disk_held_by_lvm_or_raid(self, machine):
        machine.add("sdzz", holders=("dm-0", "md127"))
        assert "because it is held by dm-0, md127" in refusal("sdzz")

    def test_a_disk_with_a_held_partition(self, machine):
        machine.add("sdzz", partitions=("sdzz1",))
        (machine.sys / "sdzz/sdzz1/holders/dm-3").mkdir()
        assert "because /dev/sdzz1, on the same disk, is held by dm-3" in refusal("sdzz")

    def test_a_serial_number_names_a_disk(self, machine):
        machine.add("sdzy", serial="S45PNA0M").add("sdzz", serial="S45PNA0N")
        assert guard.resolve("S45PNA0N", machine.by_id) == "sdzz"

    def test_a_serial_number_that_two_disks_share(self, machine):
        machine.add("sdzy", serial="0123456789").add("sdzz", serial="0123456789")
        with pytest.raises(guard.DiskRefused) as refused:
            guard.resolve("0123456789", machine.by_id)
        assert "sdzy and sdzz have the same id '0123456789'; expected one" in str(refused.value)

    def test_an_id_that_no_disk_has(self, machine):
        machine.add("sdzz", serial="S45PNA0M")
        (machine.by_id / "ata-S45PNA0M").symlink_to("../../sdzz")
        with pytest.raises(guard.DiskRefused) as refused:
            guard.resolve("ata-OTHER", machine.by_id)
        assert "'ata-OTHER'; expected one of ata-S45PNA0M" in str(refused.value)

    def test_an_id_where_there_are_no_ids(self, machine):
        with pytest.raises(guard.DiskRefused, match=r"names below .*by-id \(there are none\)"):
            guard.resolve("ata-OTHER", machine.by_id)

    @pytest.mark.parametrize("stable_id", [".", ".."])
    def test_a_folder_is_no_disk(self, machine, stable_id):
        with pytest.raises(guard.DiskRefused, match="no whole disk has the id"):
            guard.resolve(stable_id, machine.by_id)

    def test_an_id_of_a_partition(self, machine):
        machine.add("sdzz", partitions=("sdzz1",))
        (machine.by_id / "ata-S45PNA0M-part1").symlink_to("../../sdzz1")
        with pytest.raises(guard.DiskRefused, match="no whole disk has the id"):
            guard.resolve("ata-S45PNA0M-part1", machine.by_id)


def test_mounts_are_recognised_by_number_and_by_source(tmp_path, monkeypatch):
    table = tmp_path / "mountinfo"
    table.write_text(
        "1 0 4095:7 / / rw - ext4 /dev/elevatorlab-none rw\n"
        "2 1 0:44 /sub /data rw shared:2 - btrfs /dev/elevatorlab-btrfs rw\n"
        "3 1 0:45 / /proc rw - proc proc rw\n"
        "4 1 0:46 / /net rw - nfs server:/export rw\n"
    )
    monkeypatch.setattr(guard, "MOUNT_TABLES", (table, tmp_path / "not ours to read"))
    assert guard._mounted() == {
        "elevatorlab-none": ["/"],
        "elevatorlab-btrfs": ["/data"],
    }
