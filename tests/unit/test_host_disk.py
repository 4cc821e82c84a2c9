"""What the host's side of the check's network disk holds against a scheduler."""

import mmap

import pytest

from elevatorlab.elevators.check import host_disk
from elevatorlab.elevators.check.in_guest import mailbox, nbd

SECTOR, BLOCK = 512, 4096
SIZE = 2 << 20


class Machine:
    """Stands for the machine: it asks as `in_guest.mailbox` does."""

    def __init__(self):
        self.disks = host_disk.Disks()
        self.memory = mmap.mmap(-1, mailbox.QUESTION_BYTES + mailbox.DATA_BYTES)

    def ask(self, kind, at=0, length=0, data=b""):
        begin = mailbox.QUESTION_BYTES
        self.memory[: mailbox.QUESTION.size] = mailbox.QUESTION.pack(mailbox.ASKS, kind, at, length)
        self.memory[begin : begin + len(data)] = data
        self.disks.answer(self.memory)
        return self.memory[begin : begin + length]

    def new_disk(self, takes_fua=True):
        self.ask(mailbox.NEW_DISK, int(takes_fua), SIZE)
        self.ask(mailbox.FILL)

    def copy(self, source, target, length=BLOCK, flags=0):
        data = self.ask(nbd.READ, source, length)
        self.ask(nbd.WRITE | flags, target, length, data)


def copied(*left_out, twice=(), mixed=()):
    """Return what a machine's host says when the first half was copied to the second one."""
    machine = Machine()
    machine.new_disk()
    for at in range(0, SIZE // 2, BLOCK):
        if at not in left_out:
            machine.copy(at if at not in mixed else 0, SIZE // 2 + at)
        if at in twice:
            machine.copy(at, SIZE // 2 + at)
        if at in mixed:
            machine.ask(nbd.READ, at, BLOCK)
            machine.disks._made[0].seen.pop(-3)  # the read of block 0
    return machine.disks.judge("hands_each_request_out_once")


def test_a_disk_that_was_copied_has_seen_all():
    assert copied() == "512 blocks seen by the host"


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({"left_out": [3 * BLOCK]}, "never saw sector 24, which was read"),
        ({"twice": [3 * BLOCK]}, "Sector 24 was read once, and the disk saw it 2 times"),
        ({"mixed": [3 * BLOCK]}, "has something else there"),
    ],
)
def test_a_request_that_was_lost_repeated_or_mixed_up_is_named(how, named):
    with pytest.raises(host_disk.Wrong, match=named):
        copied(*how.pop("left_out", ()), **how)


def commits(forget_flush=-1, marks=12, kept=True):
    """Return what the host says of commits, of which one may lack its flush."""
    machine = Machine()
    quarter = SIZE // 4
    for plan in host_disk.COMMITTED:
        machine.new_disk(plan.takes_fua)
        ways = [way for way, times in plan.ways for _ in range(times)]
        marked = 0
        for number, way in enumerate(ways):
            place = number * BLOCK
            fua = way == host_disk.DSYNC and plan.takes_fua
            if plan.marked and marked == marks or plan.all_marked and not kept:
                fua = False
            marked += fua
            flags = nbd.FUA if fua else 0
            machine.copy(2 * quarter + place, 3 * quarter + place, flags=flags)
            if number != forget_flush and not fua:
                machine.ask(nbd.FLUSH)
    return machine.disks.judge("keeps_flushes")


def test_commits_that_are_durable_pass():
    assert commits() == "64 flushes and 52 writes with FUA seen by the host"


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({"forget_flush": 0}, "fdatasync has returned, but sector 3072 is only in the disk's"),
        ({"forget_flush": 11}, "fdatasync has returned, but sector 3160"),
        ({"marks": 3}, "3 were marked with FUA, on a disk that takes it"),
        ({"kept": False}, "had FUA, and lost it after the driver had given it back"),
    ],
)
def test_a_commit_that_a_power_cut_would_lose_is_named(how, named):
    with pytest.raises(host_disk.Wrong, match=named):
        commits(**how)


def test_a_case_that_passed_without_its_disk_was_forged():
    with pytest.raises(host_disk.Forged, match="did not even begin"):
        host_disk.Disks().judge("keeps_flushes")
    assert host_disk.Disks().judge("loads") == ""


def test_a_machine_that_stops_without_a_question_was_stopped_by_something_else():
    machine = Machine()
    machine.new_disk()
    with pytest.raises(host_disk.Forged, match="not by the check's program"):
        machine.disks.answer(machine.memory)
