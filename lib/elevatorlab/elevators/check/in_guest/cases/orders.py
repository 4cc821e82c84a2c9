"""Cases on the order of requests: flushes keep their effect, and everybody gets a turn."""

from __future__ import annotations

import os
import time

from .. import nbd, trace
from ..disks import AFTER_A_TIME, NullBlk
from ..failure import Broken
from ..load import Load
from ..scheduler import Scheduler

#: How often a program commits: alone, and beside a load.
COMMITS, COMMITS_UNDER_LOAD = 40, 12

#: Number of connections of a disk, which break one after the other; and number of requests that
#: each connection but the last takes. If each write is followed by a flush, three requests make the
#: driver give back writes and flushes in turn.
CONNECTIONS, LASTS = 12, 3

#: Requests of the load, and the disk's time for each: 2 ms. A machine's idle time costs nothing.
REQUESTS = 4500
SERVICE_NS = 2_000_000

#: A request starves if it waits longer than `WAITS_AT_MOST_S`, while more than `OVERTAKEN_AT_MOST`
#: later requests are served. Turns of 100 ms for each of sixteen programs, as cfq gives them, are
#: no starvation. Neither is a deadline of 5 s for writes, the kernel's own, while reads go first.
WAITS_AT_MOST_S = 6.0
OVERTAKEN_AT_MOST = 1000


def keeps_flushes(scheduler: Scheduler) -> str:
    """As in a database's log, what fdatasync or O_DSYNC acknowledged outlives a power cut.

    The host judges what the disks saw, in the order in which they are made here.
    """
    for takes_fua in True, False:
        with nbd.NetworkBlockDevice(takes_fua=takes_fua, slow=True) as disk:
            disk.select(scheduler.name)
            load = Load(disk, depth=32, share_of_disk=0.5)
            begin = 0
            if takes_fua:
                begin = _commit(disk, 0, COMMITS_UNDER_LOAD)
            _commit(disk, os.O_DSYNC, COMMITS_UNDER_LOAD, begin)
            load.stop()
    kinds = _commit_while_connections_break(scheduler)
    marked = sum("F" in kind for kind in kinds)
    return f"{len(kinds)} given back, {marked} of them flushes or with FUA"


def _commit_while_connections_break(scheduler: Scheduler) -> list[str]:
    """Commit to a disk whose driver gives requests back; return the kinds of those given back.

    A request that the driver gives back comes to the scheduler, unless the request is a flush. So
    even a write with FUA comes to the scheduler, which it bypassed at first.
    """
    kinds = []
    for flags in os.O_DSYNC, 0:
        with nbd.NetworkBlockDevice(connections=CONNECTIONS, lasts=LASTS) as disk:
            disk.select(scheduler.name)
            trace.forget()
            _commit(disk, flags, COMMITS)
            kinds += trace.given_back(disk)
    return kinds


def _commit(disk: nbd.NetworkBlockDevice, flags: int, commits: int, begin: int = 0) -> int:
    """Commit block after block of the disk's third quarter to its fourth one, from `begin` on.

    Return: the number of the next block.
    """
    quarter = disk.size_bytes // 4
    file = os.open(disk.device, os.O_RDWR | os.O_DIRECT | flags)
    with memoryview(nbd.page(4096 * commits)) as blocks:
        os.preadv(file, [blocks], 2 * quarter + 4096 * begin)
        for commit in range(commits):
            block = blocks[4096 * commit :][:4096]
            os.pwrite(file, block, 3 * quarter + 4096 * (begin + commit))
            if not flags:
                os.fdatasync(file)
    os.close(file)
    return begin + commits


def starves_nobody(scheduler: Scheduler) -> str:
    """While readers and writers keep the disk busy, no request waits while others are served."""
    with NullBlk(irqmode=AFTER_A_TIME, completion_nsec=SERVICE_NS, hw_queue_depth=1) as disk:
        disk.select(scheduler.name, waiting=64)
        trace.forget()
        # Who reads never writes, and the other way round, so nobody waits for both.
        writers = Load(disk, depth=8, reads=0.0, share_of_disk=0.5)
        readers = Load(disk, depth=8, reads=1.0, share_of_disk=0.5, begin=0.5)
        while readers.made + writers.made < REQUESTS and readers.alive:
            time.sleep(0.01)
        # All at once: the ones may starve as long as the others go on.
        for load in readers, writers:
            load.tell_to_end()
        readers.end()
        writers.end()
        _, done = trace.requests(disk)
    worst = max(done, key=lambda one: one.took_s)
    if worst.took_s > WAITS_AT_MOST_S and worst.overtaken_by > OVERTAKEN_AT_MOST:
        raise Broken(
            f"A {worst} had to wait for {worst.took_s:.1f} s while {worst.overtaken_by} requests "
            "that came later were served: it starves."
        )
    return f"of {len(done)} requests none waited longer than {worst.took_s:.2f} s"
