"""Nothing of the user's is overwritten: every refusal, on real disks and on recorded ones."""

import pytest

from elevatorlab.agent.devices import guard


def refusal(name, destroy=True):
    with pytest.raises(guard.DiskRefused) as refused:
        guard.check(name, destroy)
    sentence = str(refused.value)
    assert sentence.startswith(f"/dev/{name} ") and "expected" in sentence
    return sentence


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
