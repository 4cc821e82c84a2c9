"""Profiles of simulated disks: ours, and those of other packages or of a notebook."""

from __future__ import annotations

from dataclasses import dataclass

from .registry import Registry


@dataclass(frozen=True)
class Profile:
    """How long a simulated disk takes for a request, and how many requests it serves at once.

    Attributes
    ----------
    service_time_us : float
    parallelism : int
    bandwidth_mib_s : float
        0: no limit.
    volatile : bool
        Whether the disk has a volatile write cache, as large as the disk, so that a flush takes
        time.
    """

    service_time_us: float
    parallelism: int
    bandwidth_mib_s: float = 0
    volatile: bool = False


#: Each of the first four stands for a class of device, not for one product. The figures are round
#: numbers within the range of the data sheets of the class. SATA SSD: 32 queued commands; 600 MB/s
#: after encoding, less the protocol. NVMe SSD: four PCIe 3.0 lanes. Disk with one server: at 7200
#: turns per minute, half a turn takes 4.2 ms, and a short seek about as long.
#:
#: The two RAID profiles are for the article on InnoDB. Each has eight disks, so it serves eight
#: requests at once.
#:
#: ``raid_write_behind``: a request ends when it is in the controller's memory. In the article's own
#: table, a commit took 1/6850 s with the device and 1/15000 s without it: 2.19 times as long. 40 us
#: (160 us at study 4's slowdown of 4) give that ratio. It was set once, on 27 November 2026, from
#: one trial of mq-deadline with 1 thread and 4 processors at 80 us: 534 us a commit with flush=1,
#: of which 340 us were the device's, and 167 us with flush=0. No other cell of that
#: arrangement had been looked at. Nothing is volatile, so a flush costs nothing.
#:
#: ``raid_no_cache``: every write waits for a platter. A log is appended to, so its place comes
#: round one turn later: 4 ms at 15000 turns per minute. The disks' own caches are flushed, and for
#: that null_blk takes as long as for a write (a test measures this). The cache is as large as the
#: disk, because null_blk empties it only at a flush.
OURS = {
    "sata_ssd": Profile(service_time_us=90, parallelism=32, bandwidth_mib_s=530),
    "nvme_ssd": Profile(service_time_us=80, parallelism=256, bandwidth_mib_s=3200),
    "ram_disk": Profile(service_time_us=0, parallelism=64),
    "single_server_disk": Profile(service_time_us=8000, parallelism=1),
    "raid_write_behind": Profile(service_time_us=40, parallelism=8),
    "raid_no_cache": Profile(service_time_us=4000, parallelism=8, volatile=True),
}

#: Every profile that is installed or was registered; ours first.
PROFILES: Registry[Profile] = Registry("device profile", "elevatorlab.profiles", collections=True)
