"""Profiles of simulated disks: ours, and those of other packages or of a notebook."""

from __future__ import annotations

from dataclasses import dataclass

from .registry import Registry


@dataclass(frozen=True)
class Profile:
    """What a simulated disk takes for a request, and how many it serves at once.

    Attributes
    ----------
    service_time_us : float
    parallelism : int
    bandwidth_mib_s : float
        0: no limit.
    volatile : bool
        Whether it has a volatile write cache, as large as the disk, so that a flush takes time.
    """

    service_time_us: float
    parallelism: int
    bandwidth_mib_s: float = 0
    volatile: bool = False


#: They stand for classes of device, not for one product: the figures are
#: round numbers within the range of data sheets of each class (SATA SSD: 32 queued commands,
#: 600 MB/s, after encoding, less the protocol; NVMe SSD: four PCIe 3.0 lanes; disk with one
#: server: at 7200 turns a minute half a turn is 4.2 ms, and a short seek about as long).
#:
#: The two of a RAID are for the article on InnoDB. Write-behind: a request ends when it is in the
#: controller's memory. 80 us is what the article's own table leaves for it: a commit took 1/6850 s
#: with the device and 1/15000 s without, 79 us less. Eight disks: so many requests at once; nothing
#: volatile, so a flush costs nothing. Without that memory every write waits for a platter: a log is
#: appended to, so the place comes round a turn later, 4 ms at 15000 turns a minute; and the disks'
#: own caches are flushed, for which null_blk takes the same time as for a write (a test measures
#: it). Its cache is as large as the disk: null_blk never empties it but for a flush.
OURS = {
    "sata_ssd": Profile(service_time_us=90, parallelism=32, bandwidth_mib_s=530),
    "nvme_ssd": Profile(service_time_us=80, parallelism=256, bandwidth_mib_s=3200),
    "ram_disk": Profile(service_time_us=0, parallelism=64),
    "single_server_disk": Profile(service_time_us=8000, parallelism=1),
    "raid_write_behind": Profile(service_time_us=80, parallelism=8),
    "raid_no_cache": Profile(service_time_us=4000, parallelism=8, volatile=True),
}

#: Every profile that is installed or was registered; ours first.
PROFILES: Registry[Profile] = Registry("device profile", "elevatorlab.profiles", collections=True)
