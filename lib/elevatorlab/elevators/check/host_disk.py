"""The host's side of the check's network disk: it keeps the data, and judges what it has seen.

The disk's server in the machine (`in_guest.nbd`) only passes requests on. So no program in the
machine, and no module, can say that a request reached the disk that did not. The disk is filled
with what only the host knows. The programs copy it, and so show that they have read it.
"""

from __future__ import annotations

import mmap
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .in_guest import mailbox, nbd
from .in_guest.disks import SECTOR_BYTES

BLOCK_SECTORS = 8


class Wrong(Exception):
    """The disk did not see what it must see; the text is for the scheduler's author."""


class Forged(Exception):
    """Something in the machine spoke in the name of the check's program, or ended the machine."""


class Seen(NamedTuple):
    """A request that came to the disk."""

    operation: int
    sector: int = 0
    sectors: int = 0
    fua: bool = False

    @property
    def range(self) -> range:
        """The sectors that it reads or writes."""
        return range(self.sector, self.sector + self.sectors)


class Disk:
    """One disk: its data, and the requests that came to it since it was filled."""

    def __init__(self, size_bytes: int, takes_fua: bool) -> None:
        self.takes_fua = takes_fua
        self.data = bytearray(size_bytes)
        self.filled_with = bytes(size_bytes)
        self.seen: list[Seen] = []

    @property
    def sectors(self) -> int:
        """Size of the disk."""
        return len(self.data) // SECTOR_BYTES

    def fill(self) -> None:
        """Fill the disk at random, and forget what came before."""
        self.filled_with = secrets.token_bytes(len(self.data))
        self.data[:] = self.filled_with
        self.seen.clear()

    def carry_out(self, kind: int, at: int, length: int, data: bytes) -> bytes:
        """Carry out a request of NBD; return what it reads."""
        place, sectors = at // SECTOR_BYTES, length // SECTOR_BYTES
        self.seen.append(Seen(kind & 0xFFFF, place, sectors, bool(kind & nbd.FUA)))
        if kind & 0xFFFF == nbd.WRITE:
            self.data[at : at + length] = data
        return bytes(self.data[at : at + length]) if kind & 0xFFFF == nbd.READ else b""

    def require_copy(self, source: int, target: int) -> None:
        """Raise `Wrong` unless a sector has what another one was filled with."""
        was, now = (
            data[sector * SECTOR_BYTES :][:SECTOR_BYTES]
            for data, sector in ((self.filled_with, source), (self.data, target))
        )
        if was != now:
            raise Wrong(
                f"Sector {source} was read and its content written to sector {target}, but the "
                "disk has something else there: requests were mixed up."
            )


class Disks:
    """The disks of one machine, in the order in which the machine made them."""

    def __init__(self) -> None:
        self._made: list[Disk] = []

    def answer(self, memory: mmap.mmap) -> None:
        """Answer the question in the mailbox, which begins where the memory begins.

        Raises `Forged` if there is none.
        """
        mark, kind, at, length = mailbox.QUESTION.unpack_from(memory)
        if mark != mailbox.ASKS or not (self._made or kind == mailbox.NEW_DISK):
            raise Forged("the machine was stopped, and not by the check's program")
        begin = mailbox.QUESTION_BYTES
        if kind == mailbox.NEW_DISK:
            self._made.append(Disk(length, bool(at)))
        elif kind == mailbox.FILL:
            self._made[-1].fill()
        else:
            data = memory[begin : begin + length]
            read = self._made[-1].carry_out(kind, at, length, data)
            memory[begin : begin + len(read)] = read
        memory[: len(mailbox.ANSWERED)] = mailbox.ANSWERED

    def judge(self, case: str) -> str:
        """Say what the disks of a case have seen; raise `Wrong` if that is not as it must be.

        A case that makes no such disks has nothing to say. Raises `Forged` if the case has not made
        the disks that it makes.
        """
        number, judge = JUDGES.get(case, (0, None))
        disks, self._made = self._made[:number], self._made[number:]
        if len(disks) < number:
            raise Forged(f"the case {case} is said to have passed, and did not even begin")
        return judge(disks) if judge else ""


def each_block_once(disks: Sequence[Disk]) -> str:
    """Each sector of the first half was read once, and copied once to the second half."""
    for disk in disks:
        half = disk.sectors // 2
        for operation, what, begin in (nbd.READ, "read", 0), (nbd.WRITE, "written", half):
            seen = Counter(
                sector for one in disk.seen if one.operation == operation for sector in one.range
            )
            for sector in range(begin, begin + half):
                if not seen[sector]:
                    raise Wrong(
                        f"The disk never saw sector {sector}, which was {what}: the scheduler "
                        "ended the request itself."
                    )
                if seen[sector] > 1:
                    raise Wrong(
                        f"Sector {sector} was {what} once, and the disk saw it {seen[sector]} "
                        "times: its request was issued twice."
                    )
        for sector in range(half):
            disk.require_copy(sector, half + sector)
    return f"{sum(disk.sectors for disk in disks) // BLOCK_SECTORS} blocks seen by the host"


class Commits(NamedTuple):
    """What programs commit to a disk: a way, and how often, one after the other."""

    takes_fua: bool
    ways: tuple[tuple[str, int], ...]
    #: Whether each write of the disk is to be durable by itself (FUA).
    all_marked: bool
    #: How many writes with O_DSYNC the disk may see marked with FUA; None: this is not asked.
    marked: int | None


DATASYNC, DSYNC = "fdatasync", "a write with O_DSYNC"
UNDER_LOAD, ALONE = 12, 40

#: The disks of the case `keeps_flushes`.
COMMITTED = (
    Commits(True, ((DATASYNC, UNDER_LOAD), (DSYNC, UNDER_LOAD)), False, UNDER_LOAD),
    Commits(False, ((DSYNC, UNDER_LOAD),), False, 0),
    Commits(True, ((DSYNC, ALONE),), True, None),
    Commits(True, ((DATASYNC, ALONE),), False, None),
)


def commits_are_durable(disks: Sequence[Disk]) -> str:
    """What was committed was durable before the next commit began."""
    for disk, commits in zip(disks, COMMITTED, strict=True):
        if disk.takes_fua != commits.takes_fua:
            raise Forged("a disk was made that the check's program does not make")
        _require_durable(disk, [way for way, number in commits.ways for _ in range(number)])
        _require_marks(disk, commits)
    flushes = sum(one.operation == nbd.FLUSH for disk in disks for one in disk.seen)
    marked = sum(one.fua for disk in disks for one in disk.seen)
    return f"{flushes} flushes and {marked} writes with FUA seen by the host"


def _require_durable(disk: Disk, ways: Sequence[str]) -> None:
    """Require that block by block, the disk's third quarter was committed to its fourth one."""
    quarter = disk.sectors // 4
    first = 3 * quarter
    volatile: int | None = None
    begun = 0

    def look() -> None:
        if volatile is not None:
            raise Wrong(
                f"{ways[volatile]} has returned, but sector {first + volatile * BLOCK_SECTORS} is "
                "only in the disk's volatile cache: a power cut now loses it. The flush did not "
                "reach the disk."
            )

    for one in disk.seen:
        if one.operation == nbd.FLUSH:
            volatile = None
        elif one.operation == nbd.WRITE and one.sector >= first:
            number = (one.sector - first) // BLOCK_SECTORS
            if number >= begun:
                look()
                begun = number + 1
            volatile = None if one.fua and disk.takes_fua else number
    look()
    for sector in range(len(ways) * BLOCK_SECTORS):
        disk.require_copy(2 * quarter + sector, first + sector)


def _require_marks(disk: Disk, commits: Commits) -> None:
    """Require that the kernel still knows whether the disk takes FUA, and which writes have it.

    The kernel flushes anyway after a write with O_DSYNC to a whole disk. So only the number of
    writes that are marked with FUA shows whether the queue's flag has changed.
    """
    writes = [one for one in disk.seen if one.operation == nbd.WRITE]
    lost = [one.sector for one in writes if commits.all_marked and not one.fua]
    if lost:
        raise Wrong(
            f"The write of sector {lost[0]} had FUA, and lost it after the driver had given it "
            "back. Do not change cmd_flags of a request."
        )
    marked = sum(one.fua for one in writes)
    if commits.marked is not None and marked != commits.marked:
        raise Wrong(
            f"Of {UNDER_LOAD} writes with O_DSYNC {marked} were marked with FUA, on a disk that "
            f"takes {'it' if disk.takes_fua else 'no FUA'}. The flag QUEUE_FLAG_FUA has changed."
        )


#: For each case that the host judges: how many disks it makes, and who judges what they saw.
JUDGES: dict[str, tuple[int, Callable[[Sequence[Disk]], str]]] = {
    "hands_each_request_out_once": (1, each_block_once),
    "keeps_data": (1, each_block_once),
    "merges": (1, each_block_once),
    "serves_a_full_queue": (1, each_block_once),
    "keeps_flushes": (len(COMMITTED), commits_are_durable),
}
