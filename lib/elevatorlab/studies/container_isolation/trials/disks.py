"""The disk that all containers share, and which of its parameters are calibrated.

The paper names no disk, but some of its numbers determine one. These numbers are the *calibration
points*. A measurement at such a point shows only that the calibration was done:

===========================================  ==================================================
total rate with 20 containers, 20 x 27 /s    1.85 ms of service for a write of 5 KiB
wait and rate of one container, 0.82 ms and  2.23 ms of think time; and a buffer for one write,
328 /s                                       without which no write would take less than 1.85 ms
wait of the overloaded container alone       time per byte, if its writes have 32 KiB (assumed:
                                             the paper mentions `dd`, but no block size)
===========================================  ==================================================

``write_behind`` is that disk. ``single_server`` has the same server without the buffer, as the
paper's model assumes. ``exponential_server`` is ``single_server`` with exponentially distributed
service times.
"""

from __future__ import annotations

from typing import Any

from ....trial import DeviceModel, PacedDisk
from ....trial.drive_records import Queue
from ....trial.drives import drive, outermost, with_queue

REQUEST_BYTES = 5120
"""1658 KB/s at 328 writes/s are 5055 bytes per write (5176, if KB means KiB): about ten sectors."""
OVERLOAD_BYTES = 32 * 1024
THINK_US = 2230
SECTOR_BYTES = 512
WRITERS = (1, 2, 3)
"""Numbers of writers that can overload the disk and, alone, wait as long as the paper says."""

SERVER = {"service_us": 1320, "bandwidth_kib_s": 9415}
DISKS: dict[str, dict[str, Any]] = {
    "write_behind": {**SERVER, "accept_us": 400},
    "single_server": SERVER,
    "exponential_server": {**SERVER, "service": "exponential"},
}
SIZE_MIB = 64


def disk(name: str, seed: int) -> DeviceModel:
    """Return a disk by its name: one of `DISKS`, or a drive.

    A disk of `DISKS` draws its service times from `seed`. A drive gets a first-in, first-out queue
    of 32 requests, because the other disks have a queue, too. If a drive took one request at a
    time, the other requests would wait before it, where the kernel's counters do not see them.
    """
    if name not in DISKS:
        return with_queue(outermost(drive(name), SIZE_MIB), Queue(depth=32))
    return PacedDisk(profile=name, size_mib=SIZE_MIB, seed=seed, **DISKS[name])


def overload_bytes(writers: int) -> int:
    """Return the size of writes for which this many writers alone wait as long as the paper says.

    The paper gives neither the number of writers nor the size of their writes. The writers wait for
    one another, so more writers need shorter writes. For more than three writers, no write is short
    enough.

    >>> [overload_bytes(writers) for writers in WRITERS]
    [32768, 10240, 2560]
    """
    transfer_ms = service_ms(OVERLOAD_BYTES) / writers - SERVER["service_us"] / 1e3
    sectors = transfer_ms / 1e3 * SERVER["bandwidth_kib_s"] * 1024 / SECTOR_BYTES
    return round(sectors) * SECTOR_BYTES


def service_ms(request_bytes: int = REQUEST_BYTES) -> float:
    """Return the mean time in ms that the server takes for a write.

    >>> round(service_ms(), 3), round(service_ms(OVERLOAD_BYTES), 3)
    (1.851, 4.719)
    """
    return SERVER["service_us"] / 1e3 + request_bytes / 1024 / SERVER["bandwidth_kib_s"] * 1e3
