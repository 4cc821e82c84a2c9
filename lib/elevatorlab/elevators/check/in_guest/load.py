"""Programs that read and write a disk, and know what they must read back.

Each program is a thread with sectors of its own, and one request at a time. So the number of
programs is the queue depth. In the emulated machine, starting fio would cost ten times as much.
"""

from __future__ import annotations

import mmap
import os
import random
import struct
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .disks import SECTOR_BYTES
from .failure import Broken

if TYPE_CHECKING:
    from .disks import Disk

LARGEST_BYTES = 1 << 20

#: Most sectors of one program; few, because all of them are read back in the end.
LARGEST_PART_SECTORS = 512


def content(sector: int, number: int) -> bytes:
    """Return the content that the write with this number gives a sector."""
    return struct.pack("<QQ", sector, number) * (SECTOR_BYTES // 16)


class Program(threading.Thread):
    """One program of a load: a thread that reads and writes its part of a disk.

    The part has `sectors` from `first` on. Without a number of requests, the program goes on until
    it is stopped, or the disk fails. `sizes` are sizes of requests in sectors, from which the
    program chooses at random; `reads` is the share of the requests that read.
    """

    def __init__(
        self,
        disk: Disk,
        first: int,
        sectors: int,
        requests: int | None = None,
        sizes: Iterable[int] = (8,),
        reads: float = 0.5,
    ) -> None:
        super().__init__(daemon=True)
        self.disk, self.first, self.sectors = disk, first, sectors
        self.requests, self.sizes, self.reads = requests, tuple(sizes), reads
        self.ended = threading.Event()
        self.error: OSError | None = None
        self.broken: Broken | None = None
        self.made = 0
        self.longest_s = 0.0
        self.numbers: dict[int, int] = {}
        self._tried: dict[int, int] = {}
        self._chance = random.Random(first)
        self._page = mmap.mmap(-1, LARGEST_BYTES)
        self._file = os.open(disk.device, os.O_RDWR | os.O_DIRECT)

    def run(self) -> None:
        """Make requests (the thread's body)."""
        try:
            while not self.ended.is_set() and self.made != self.requests:
                began_s = time.monotonic()
                self._request()
                self.longest_s = max(self.longest_s, time.monotonic() - began_s)
                self.made += 1
        except OSError as error:
            self.error = error
        except Broken as broken:
            self.broken = broken
        finally:
            os.close(self._file)

    def _request(self) -> None:
        length = self._chance.choice(self.sizes)
        at = self.first + self._chance.randrange(0, self.sectors - length + 1)
        if self.numbers and self._chance.random() < self.reads:
            self.read_back(self._file, at, length)
        else:
            self._write(at, length)

    def _write(self, at: int, length: int) -> None:
        number = self.made + 1
        view = memoryview(self._page)[: length * SECTOR_BYTES]
        view[:] = b"".join(content(sector, number) for sector in range(at, at + length))
        self._tried = dict.fromkeys(range(at, at + length), number)
        if os.pwrite(self._file, view, at * SECTOR_BYTES) != len(view):
            raise OSError("a short write")
        self.numbers.update(self._tried)
        self._tried = {}

    def read_back(self, file: int, at: int, length: int) -> None:
        """Read sectors, and compare them with the writes that were acknowledged there."""
        view = memoryview(self._page)[: length * SECTOR_BYTES]
        if os.preadv(file, [view], at * SECTOR_BYTES) != len(view):
            raise OSError("a short read")
        for sector in range(at, at + length):
            expected = self.numbers.get(sector)
            if expected is None or sector in self._tried:
                continue
            found = view[(sector - at) * SECTOR_BYTES :][:SECTOR_BYTES]
            if found != content(sector, expected):
                place, number = struct.unpack_from("<QQ", found)
                raise Broken(
                    f"{self.disk.name}: sector {sector} does not read back. Expected write "
                    f"{expected} of that sector, found write {number} of sector {place}."
                )


class Load:
    """Many programs at one disk, each with the same share of it.

    There are `depth` programs, and so many requests in flight. Together they have `share_of_disk`
    of the disk, from the place `begin` on, which is a share, too. The rest is as for each
    `Program`.
    """

    def __init__(
        self,
        disk: Disk,
        depth: int,
        requests: int | None = None,
        sizes: Iterable[int] = (8,),
        reads: float = 0.5,
        share_of_disk: float = 1.0,
        begin: float = 0.0,
    ) -> None:
        first = int(disk.size_bytes * begin) // SECTOR_BYTES
        share = int(disk.size_bytes * share_of_disk) // SECTOR_BYTES // depth
        self.disk = disk
        self.programs = [
            Program(
                disk,
                first + share * place,
                min(share, LARGEST_PART_SECTORS),
                requests,
                sizes,
                reads,
            )
            for place in range(depth)
        ]
        for program in self.programs:
            program.start()

    @property
    def made(self) -> int:
        """How many requests all programs have made."""
        return sum(program.made for program in self.programs)

    @property
    def alive(self) -> bool:
        """Whether no program has ended."""
        return all(program.is_alive() for program in self.programs)

    @property
    def longest_s(self) -> float:
        """How long the slowest request of a program took."""
        return max(program.longest_s for program in self.programs)

    def wait_for(self, requests: int) -> None:
        """Wait until the programs have made `requests` more requests, or a program has ended."""
        goal = self.made + requests
        while self.made < goal and self.alive:
            time.sleep(0.001)

    def end(self) -> None:
        """Let each program finish its current request, and wait until all programs have ended."""
        self.tell_to_end()
        self._join()

    def tell_to_end(self) -> None:
        """Let each program end with its current request."""
        for program in self.programs:
            program.ended.set()

    def _join(self) -> None:
        for program in self.programs:
            program.join()
            if program.broken:
                raise program.broken
            if program.error:
                raise Broken(
                    f"{self.disk.name} gave an error that no disk made: {program.error.strerror}."
                )

    def finish(self) -> int:
        """Wait until all programs are done, and check their data; return the number of requests."""
        self._join()
        self.compare()
        return self.made

    def stop(self) -> int:
        """End all programs, and check their data; return the number of requests that they made."""
        self.end()
        return self.finish()

    def fail(self) -> None:
        """Wait until all programs have seen their disk fail."""
        for program in self.programs:
            program.join()
            if program.broken:
                raise program.broken

    def compare(self) -> None:
        """Read back all sectors of all programs, and compare them with the acknowledged writes."""
        file = os.open(self.disk.device, os.O_RDONLY | os.O_DIRECT)
        for program in self.programs:
            for at in range(program.first, program.first + program.sectors, 256):
                length = min(256, program.first + program.sectors - at)
                program.read_back(file, at, length)
        os.close(file)
