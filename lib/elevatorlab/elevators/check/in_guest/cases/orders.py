"""Cases on the order of requests: flushes keep their effect, and everybody gets a turn."""

from __future__ import annotations

import os
import time

from .. import nbd, trace
from ..disks import AFTER_A_TIME, NullBlk
from ..failure import Broken, require
from ..load import Load, content
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
    """As in a database's log, what fdatasync or O_DSYNC acknowledged outlives a power cut."""
    flushes = marked = 0
    for takes_fua in True, False:
        with nbd.NetworkBlockDevice(takes_fua=takes_fua, slow=True) as disk:
            disk.select(scheduler.name)
            load = Load(disk, depth=32, share_of_disk=0.5)
            if takes_fua:
                _commit(disk, 0, "fdatasync", COMMITS_UNDER_LOAD)
            _commit(disk, os.O_DSYNC, "a write with O_DSYNC", COMMITS_UNDER_LOAD)
            load.stop()
            _compare_marks(disk, takes_fua)
            flushes += sum(one.operation == nbd.FLUSH for one in disk.seen)
            marked += sum(one.fua for one in disk.seen)
    given_back = _commit_while_connections_break(scheduler)
    return f"{flushes} flushes, {marked} writes with FUA, {given_back} given back"


def _commit_while_connections_break(scheduler: Scheduler) -> int:
    """Commit to a disk whose driver gives requests back; return how many it gave back.

    A request that the driver gives back comes to the scheduler, unless the request is a flush. So
    even a write with FUA comes to the scheduler, which it bypassed at first.
    """
    given_back = 0
    for flags, way in (os.O_DSYNC, "a write with O_DSYNC"), (0, "fdatasync"):
        with nbd.NetworkBlockDevice(connections=CONNECTIONS, lasts=LASTS) as disk:
            disk.select(scheduler.name)
            trace.forget()
            _commit(disk, flags, way)
            kinds = trace.given_back(disk)
            if len(kinds) != CONNECTIONS - 1 or not any("F" in kind for kind in kinds):
                raise RuntimeError(f"expected {CONNECTIONS - 1} requests given back, found {kinds}")
            given_back += len(kinds)
            if flags:
                _require_fua(disk)
    return given_back


def _require_fua(disk: nbd.NetworkBlockDevice) -> None:
    """Require that each write still had FUA when it reached the disk."""
    writes = [one for one in disk.seen if one.operation == nbd.WRITE]
    for one in writes:
        require(
            one.fua,
            f"The write of sector {one.sector} had FUA, and lost it after the driver had given it "
            "back. Do not change cmd_flags of a request.",
        )


def _compare_marks(disk: nbd.NetworkBlockDevice, takes_fua: bool) -> None:
    """Require that the kernel still knows whether the disk takes FUA.

    This disk's driver gives no write back, so the scheduler gets no write with FUA. And the kernel
    flushes anyway after a write with O_DSYNC to a whole disk. So only the number of writes that are
    marked with FUA shows whether the queue's flag has changed.
    """
    marked = sum(one.fua for one in disk.seen)
    expected = COMMITS_UNDER_LOAD if takes_fua else 0
    require(
        marked == expected,
        f"Of {COMMITS_UNDER_LOAD} writes with O_DSYNC {marked} were marked with FUA, on a disk "
        f"that takes {'it' if takes_fua else 'no FUA'}. The flag QUEUE_FLAG_FUA has changed.",
    )


def _commit(disk: nbd.NetworkBlockDevice, flags: int, way: str, commits: int = COMMITS) -> None:
    """Write block after block; each must be durable when the call has returned."""
    file = os.open(disk.device, os.O_RDWR | os.O_DIRECT | flags)
    page = nbd.page(4096)
    for commit in range(commits):
        at = disk.size_bytes // 512 // 2 + 8 * commit
        page[:] = content(at, flags + commit + 1) * 8
        os.pwrite(file, page, at * 512)
        if not flags:
            os.fdatasync(file)
        require(
            disk.durable[at * 512 : at * 512 + 4096] == page[:],
            f"{way} has returned, but sector {at} is only in the disk's volatile cache: a power "
            "cut now loses it. The flush did not reach the disk.",
        )
    os.close(file)


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
