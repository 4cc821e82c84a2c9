"""Cases with requests of every kind, on disks of every kind that do not vanish."""

from __future__ import annotations

import itertools
import os
import threading
from typing import TYPE_CHECKING

from .. import burst, nbd, rest, trace
from ..disks import AFTER_A_TIME, AT_ONCE, BY_INTERRUPT, SECTOR_BYTES, Disk, NullBlk, ScsiDebug
from ..failure import require
from ..load import Load, content
from ..scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Sizes of requests in sectors: from one sector to 64 KiB.
MIXED_SECTORS = (1, 8, 8, 8, 16, 32, 128)

#: How long a scheduler may hold a request back, say to wait for a better one. The kernel's own wait
#: for some milliseconds.
HELD_AT_MOST_S = 1.0

#: How much longer than with the scheduler none the processors may work while a disk rests: two
#: in a thousand of the time.
BUSY_AT_REST_MS = 4.0

#: Numbers of requests that wait at the same time.
WAITING = (1, 8, 64, 128, 512)

#: Time of a disk for a request: longer than it takes to submit them all. Idle time costs nothing.
SLOW_NS = 4_000_000

KINDS = (
    {"irqmode": AT_ONCE},
    {"irqmode": BY_INTERRUPT},
    {"irqmode": AFTER_A_TIME, "completion_nsec": 30_000},
    {"irqmode": AFTER_A_TIME, "completion_nsec": 30_000, "hw_queue_depth": 3},
    {"irqmode": AT_ONCE, "blocking": 1},
    {"irqmode": BY_INTERRUPT, "hw_queue_depth": 5, "blocking": 1, "submit_queues": 2},
)


def serves_one_at_a_time(scheduler: Scheduler) -> str:
    """The requests of a single program, or of a few, come and go, and none is held back."""
    made = 0
    with NullBlk(irqmode=AFTER_A_TIME, completion_nsec=10_000) as disk:
        disk.select("none")
        usual_ms = rest.busy_ms()
        disk.select(scheduler.name)
        for depth, requests in (1, 100), (4, 200):
            load = Load(disk, depth, requests)
            made += load.finish()
            require(
                load.longest_s <= HELD_AT_MOST_S,
                f"A request took {load.longest_s:.1f} s on a disk that takes 10 us, with {depth} "
                "requests at most: the scheduler holds it back.",
            )
        more_ms = rest.busy_ms() - usual_ms
        require(
            more_ms <= BUSY_AT_REST_MS,
            f"While no request comes for {rest.RESTS_S:.0f} s, the processors work {more_ms:.0f} "
            "ms longer than with the scheduler none: it polls. A timer, or the queue, is to run "
            "only if a request waits.",
        )
    return f"{made} requests"


def hands_each_request_out_once(scheduler: Scheduler) -> str:
    """Each read reaches the disk exactly once, and so does each write; the host sees it."""
    programs = 32
    with nbd.NetworkBlockDevice() as disk:
        disk.select(scheduler.name)
        _copy(disk, programs)
        trace.require_insertions(disk)
    return f"{programs} programs"


def _copy(disk: Disk, programs: int, sizes: Iterable[int] = (8,)) -> None:
    """Let programs copy the first half of a disk to its second half, in pieces side by side.

    `sizes`: Sizes of the pieces in sectors, again and again.
    """
    half = disk.size_bytes // 2
    pieces = []
    end = 0
    for sectors in itertools.cycle(sizes):
        begin, end = end, min(end + sectors * SECTOR_BYTES, half)
        pieces.append((begin, end - begin))
        if end == half:
            break

    def work(program: int) -> None:
        file = os.open(disk.device, os.O_RDWR | os.O_DIRECT)
        for begin, length in pieces[program::programs]:
            page = nbd.page(length)
            os.preadv(file, [page], begin)
            os.pwrite(file, page, half + begin)
        os.close(file)

    _side_by_side(work, programs)


def _each_block_once(device: str, programs: int, blocks: int, write: bool) -> None:
    """Let programs write, or read, blocks of 4 KiB of their own, each one once."""

    def work(program: int) -> None:
        file = os.open(device, os.O_RDWR | os.O_DIRECT)
        page = nbd.page(4096)
        for block in range(blocks):
            at = 8 * (block * programs + program)
            if write:
                page[:] = content(at, 1) * 8
                os.pwrite(file, page, at * 512)
            else:
                os.preadv(file, [page], at * 512)
        os.close(file)

    _side_by_side(work, programs)


def _side_by_side(work: Callable[[int], None], programs: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(programs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def keeps_data(scheduler: Scheduler) -> str:
    """Written data reads back, with every kind of completion and requests of many sizes."""
    made = 0
    for kind in KINDS:
        with NullBlk(**kind) as disk:
            disk.select(scheduler.name)
            made += Load(disk, depth=16, requests=10, sizes=MIXED_SECTORS).finish()
    with nbd.NetworkBlockDevice() as network_disk:
        network_disk.select(scheduler.name)
        _copy(network_disk, programs=16, sizes=MIXED_SECTORS)
    return f"{made} requests on {len(KINDS)} kinds of disks"


def merges(scheduler: Scheduler) -> str:
    """Neighbouring requests that wait together may be merged, and their data stays right."""
    with NullBlk(irqmode=AFTER_A_TIME, completion_nsec=400_000, hw_queue_depth=1) as disk:
        disk.select(scheduler.name, waiting=64)
        for write in True, False:
            _each_block_once(disk.device, programs=32, blocks=48, write=write)
        # Long requests are split, and come to the scheduler as a list.
        disk.set("max_sectors_kb", 32)
        Load(disk, depth=4, requests=4, sizes=(512,)).finish()
        merged = disk.merged
    with nbd.NetworkBlockDevice(slow=True) as network_disk:
        network_disk.select(scheduler.name)
        _copy(network_disk, programs=32)
        merged += network_disk.merged
    return f"{merged} merged" if merged else "it merges nothing, which is allowed"


def takes_requests_back(scheduler: Scheduler) -> str:
    """If a disk is busy or does half of a request, the kernel requeues the request at the head."""
    short_transfer, busy = 0x100, 0x8000
    made = 0
    for refusal in busy, short_transfer:
        with ScsiDebug(delay=0, every_nth=7, opts=refusal, max_queue=8) as disk:
            disk.select(scheduler.name, waiting=64)
            made += Load(disk, depth=16, requests=15, sizes=(8, 32)).finish()
            disk.select("none")
    return f"{made} requests"


def serves_a_full_queue(scheduler: Scheduler) -> str:
    """More requests wait than the disk takes at once, from one to hundreds."""
    for waiting in WAITING:
        with NullBlk(irqmode=AFTER_A_TIME, completion_nsec=SLOW_NS, hw_queue_depth=1) as disk:
            # The driver takes one, and the block layer another.
            disk.select(scheduler.name, waiting=waiting + 2)
            burst.write_and_read_back(disk, waiting + 2)
            trace.require_insertions(disk)
    with nbd.NetworkBlockDevice(slow=True) as network_disk:
        network_disk.select(scheduler.name, waiting=128)
        burst.copy(network_disk)
    return f"{', '.join(map(str, WAITING))} waiting"
