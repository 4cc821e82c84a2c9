"""The disk below all containers, and what of it is calibrated.

The paper names no disk. Its own numbers fix one, and these are the *calibration points*; a
measurement at one of them shows that the calibration was done, and nothing else:

===========================================  ==================================================
total rate with 20 containers, 20 x 27 /s    1.85 ms of service for a write of 5 KiB
wait and rate of one container, 0.82 ms and  2.23 ms of think time; and a memory for one write,
328 /s                                       since a server of 1.85 ms alone cannot answer in 0.82
wait of the overloaded container alone       time a byte, if its writes have 32 KiB (assumed: the
                                             paper says `dd`, and not with which block size)
===========================================  ==================================================

``write_behind`` is that disk. ``single_server`` has the same server without the memory, as the
paper's model assumes; ``exponential_server`` differs from it in the distribution alone.
"""

from __future__ import annotations

from typing import Any

from ....trial import DeviceModel, PacedDisk
from ....trial.drive_records import Queue
from ....trial.drives import drive, outermost, with_queue

REQUEST_BYTES = 5120
"""1658 KB/s at 328 writes/s are 5055 bytes a write, in binary units 5176: ten sectors."""
OVERLOAD_BYTES = 32 * 1024
THINK_US = 2230
SECTOR_BYTES = 512
WRITERS = (1, 2, 3)
"""How many can overload the disk, and wait alone as long as the paper says (`overload_bytes`)."""

SERVER = {"service_us": 1320, "bandwidth_kib_s": 9415}
DISKS: dict[str, dict[str, Any]] = {
    "write_behind": {**SERVER, "accept_us": 400},
    "single_server": SERVER,
    "exponential_server": {**SERVER, "service": "exponential"},
}
SIZE_MIB = 64


def disk(name: str, seed: int) -> DeviceModel:
    """Return a disk: of `DISKS`, which draws its service times by the seed, or a drive.

    A drive gets a queue, in order, as the others have one: what waits before a drive that takes one
    request at a time, the kernel's counters do not see.
    """
    if name not in DISKS:
        return with_queue(outermost(drive(name), SIZE_MIB), Queue(depth=32))
    return PacedDisk(profile=name, size_mib=SIZE_MIB, seed=seed, **DISKS[name])


def overload_bytes(writers: int) -> int:
    """Return the size of writes for which this many writers alone wait as long as the paper says.

    The paper tells neither their number nor their size. On a busy server they wait for one another,
    so more of them need shorter writes; no write is short enough for more than three.

    >>> [overload_bytes(writers) for writers in WRITERS]
    [32768, 10240, 2560]
    """
    transfer_ms = service_ms(OVERLOAD_BYTES) / writers - SERVER["service_us"] / 1e3
    sectors = transfer_ms / 1e3 * SERVER["bandwidth_kib_s"] * 1024 / SECTOR_BYTES
    return round(sectors) * SECTOR_BYTES


def service_ms(request_bytes: int = REQUEST_BYTES) -> float:
    """Return the mean time that the server takes for a write.

    >>> round(service_ms(), 3), round(service_ms(OVERLOAD_BYTES), 3)
    (1.851, 4.719)
    """
    return SERVER["service_us"] / 1e3 + request_bytes / 1024 / SERVER["bandwidth_kib_s"] * 1e3
