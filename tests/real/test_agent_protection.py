"""Nothing of the user's is overwritten: every refusal, on real disks and on recorded ones."""

import os
import subprocess

import pytest

from disks import MIB, loop, refusal, said
from elevatorlab.agent.devices import block_device, protection
from elevatorlab.agent.devices.protection import DiskRefused
from elevatorlab.agent.lifecycle.proofs import Proofs


@pytest.mark.root
@pytest.mark.programs("losetup", "mkfs.ext4", "mkswap", "sfdisk")
class TestRealDisks:
    """Devices of this machine, in the states in which they must not be touched."""

    def test_a_disk_that_nothing_uses_may_be_destroyed(self, disk):
        assert protection.check(disk, destroy=True) == protection.identity(disk)

    def test_without_destroy_even_an_empty_disk_is_refused(self, disk):
        assert "has no signature, but is not a disk made for the trial" in refusal(disk, False)

    @pytest.mark.parametrize(
        ("command", "table", "found"),
        [
            (("mkfs.ext4", "-q"), None, "a file system or the like (ext4)"),
            (("sfdisk", "--no-reread"), "label: gpt\n,16M\n,16M\n", "a partition table (gpt)"),
            (("mkswap",), None, "a file system or the like (swap)"),
        ],
    )
    def test_what_is_on_it_is_named(self, disk, command, table, found):
        said(*command, f"/dev/{disk}", input=table)
        sentence = refusal(disk, destroy=False)
        assert f"has {found}" in sentence
        assert "expected the trial to say destroy: true" in sentence
        assert protection.check(disk, destroy=True)

    def test_a_mounted_disk(self, disk, tmp_path):
        said("mkfs.ext4", "-q", f"/dev/{disk}")
        (tmp_path / "place").mkdir()
        said("mount", f"/dev/{disk}", str(tmp_path / "place"))
        try:
            sentence = refusal(disk)
        finally:
            said("umount", str(tmp_path / "place"))
        assert f"because it is mounted on {tmp_path / 'place'}" in sentence
        assert protection.check(disk, destroy=True)

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
        before = protection.check(protection.resolve(stable_id), destroy=True)
        protection.still_the_same(disk, stable_id, before)
        said("losetup", "--detach", f"/dev/{disk}")
        (tmp_path / "other").write_bytes(bytes(32 * MIB))
        said("losetup", f"/dev/{disk}", str(tmp_path / "other"))
        with pytest.raises(DiskRefused, match="or was exchanged; .* Nothing was written"):
            protection.still_the_same(disk, stable_id, before)

    def test_an_id_that_went_to_another_name_since(self, disk, by_id, tmp_path):
        stable_id = by_id(disk)
        before = protection.check(protection.resolve(stable_id), destroy=True)
        (tmp_path / "other").write_bytes(bytes(32 * MIB))
        with loop(tmp_path / "other") as other:
            by_id(other)
            with pytest.raises(DiskRefused, match=f"was /dev/{disk} and is /dev/{other} now"):
                protection.still_the_same(disk, stable_id, before)

    def test_a_claimed_disk_is_in_the_proofs(self, disk, by_id):
        proofs = Proofs()
        assert block_device.claim(by_id(disk), True, proofs) == disk
        assert proofs.records[0]["written"] == "free to be overwritten"
        assert protection.identity(disk) in proofs.records[0]["read"]
