"""What the monitor tells the policy: plain values, so that a policy is a pure function."""

from __future__ import annotations

from typing import NamedTuple

#: Moving this many bytes loads a disk as much as one more request does (a linear cost
#: model, as the kernel's io.cost has): it ranks containers whose requests differ in size.
REQUEST_BYTES = 64 * 1024


class Usage(NamedTuple):
    """One container in one control period.

    `wait_ms` is None where no request ended. With a device of its own (`own_device`) wait,
    queue length and utilisation are the container's; on a shared device the kernel knows
    them for the device alone: wait and queue length are then the device's, and utilisation
    is the device's, divided in proportion to `load`.
    """

    key: str
    name: str
    sla_class: str
    disk: str
    read_iops: float
    write_iops: float
    read_bytes_s: float
    write_bytes_s: float
    wait_ms: float | None
    queue_length: float
    utilization_ratio: float
    requests: int
    own_device: bool
    #: Written to its own device on nobody's account: buffered writes under cgroup v1.
    unlimited_bytes_s: float = 0.0

    @property
    def bytes_s(self) -> float:
        """Bytes read and written a second."""
        return self.read_bytes_s + self.write_bytes_s

    @property
    def iops(self) -> float:
        """Requests a second."""
        return self.read_iops + self.write_iops

    @property
    def load(self) -> float:
        """What the disk does for the container: requests and their bytes, in requests/s."""
        return self.iops + self.bytes_s / REQUEST_BYTES


class Disk(NamedTuple):
    """The disk that a pool of containers shares, in one control period.

    `has_counters` is False where it has none that can be read (a network disk, a file system
    in user space): utilisation is then the mean of the containers' devices, as in Figure 5 of
    the paper.
    """

    name: str
    utilization_ratio: float
    queue_length: float
    bytes_s: float
    iops: float
    has_counters: bool


class Observation(NamedTuple):
    """One control period: every container that was there for all of it, and the disks."""

    time_s: float
    period_s: float
    containers: tuple[Usage, ...]
    disks: dict[str, Disk]
