"""The monitor: two readings of the kernel's counters -> what each container did between.

For a device with one user and one request at a time the kernel's busy time (io_ticks) counts
whole timer ticks and is wrong; the time that requests spent is not::

    wait_ms     = d(read_ms + write_ms) / d(reads + writes)
    queue       = d(read_ms + write_ms) / dt
    utilisation = min(1, queue)

For a shared disk see `shared_utilization`. Counters: Documentation/admin-guide/iostats.rst.
"""

from __future__ import annotations

import pathlib
import time
from typing import TYPE_CHECKING, NamedTuple

from ..errors import Refused
from ..observe.sampler import SECTOR_BYTES
from .observation import REQUEST_BYTES, Disk, Observation, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    #: What a cgroup did on each device, by number (see `hierarchies.COUNTERS`).
    GroupCounts = dict[str, list[int]]

    from ..groups.hierarchies import Hierarchy
    from .targets import Target
    from .topology import Topology

WRAP = 1 << 32
#: A counter this near to 2^32 that falls to nearly 0 wrapped; any other fall is a reset.
WRAP_ZONE = 1 << 28


class Counts(NamedTuple):
    """A device's counters, or their growth."""

    reads: int
    read_sectors: int
    read_ms: int
    writes: int
    write_sectors: int
    write_ms: int
    busy_ms: int


def parse_diskstats(text: str, wanted: Collection[str]) -> tuple[dict[str, str], dict[str, Counts]]:
    """Return the numbers and the `Counts` of the devices in `wanted` that have counters."""
    numbers: dict[str, str] = {}
    found: dict[str, Counts] = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 14 and fields[2] in wanted:
            reads, _, read_sectors, read_ms, writes, _, write_sectors, write_ms, _, busy_ms = map(
                int, fields[3:13]
            )
            numbers[fields[2]] = f"{fields[0]}:{fields[1]}"
            found[fields[2]] = Counts(
                reads, read_sectors, read_ms, writes, write_sectors, write_ms, busy_ms
            )
    return numbers, found


def growth(before: Iterable[int] | None, after: Iterable[int] | None) -> tuple[int, ...] | None:
    """Return how far counters went, or None when they were reset.

    >>> growth((2**32 - 10, 5), (10, 7))
    (20, 2)
    """
    if before is None or after is None:
        return None
    steps = []
    for old, new in zip(before, after):
        step = new - old
        if step < 0:
            step += WRAP
            if not 0 <= step < WRAP_ZONE:
                return None
        steps.append(step)
    return tuple(steps)


def shared_utilization(busy_ratio: float, queue_length: float) -> float:
    """Return a shared disk's utilisation from its busy time and its mean queue length.

    The kernel's busy time is good to a timer tick for each stretch of work, so it is kept
    within what the queue length L allows: U <= L always (one request keeps at most one
    server busy), and U >= L / (1 + L), the M/M/1 value, for one server whose service
    varies no more than an exponential one (Pollaczek-Khinchine).
    """
    lower = queue_length / (1 + queue_length)
    return max(lower, min(busy_ratio, queue_length, 1.0))


class Reading(NamedTuple):
    """All counters at one instant; cgroup counters by target key and device number."""

    time_s: float
    devices: dict[str, Counts]
    groups: dict[str, GroupCounts]


class Monitor:
    """Reads the counters of the containers it is given, once a period.

    `disk` is the one under all containers, where the kernel cannot tell. `clock` gives seconds that
    never jump.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        topology: Topology,
        disk: str | None = None,
        proc: str | pathlib.Path = "/proc",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.hierarchy = hierarchy
        self.topology = topology
        self.disk = disk
        self.diskstats = pathlib.Path(proc, "diskstats")
        self.clock = clock
        self.before: Reading | None = None
        self.notes: list[str] = []
        self._numbers: dict[str, str] = {}
        self._disks: dict[str, str] = {}
        self._wholes: dict[str, str] = {}
        self._silent: set[str] = set()

    def check(self, device: str) -> None:
        """Refuse a device whose requests the kernel does not count."""
        self.topology.number(device)
        names = [line.split()[2] for line in self.diskstats.read_text().splitlines()]
        if device not in names:
            raise Refused(
                f"expected counters of {device} in {self.diskstats}; found none; name a device "
                f"that has them: {', '.join(names)}"
            )
        switch = self.topology.sys / "block" / self.topology.whole(device) / "queue/iostats"
        if switch.exists() and switch.read_text().strip() == "0":
            raise Refused(
                f"expected the kernel to count the requests of {device}; found 0 in {switch}; "
                f"switch it on: echo 1 > {switch}"
            )

    def number(self, device: str) -> str:
        """Return the number by which cgroups know a device: that of the whole disk."""
        if device not in self._wholes:
            self._wholes[device] = self.topology.whole(device)
        whole = self._wholes[device]
        return self._numbers.get(whole) or self.topology.number(whole)

    def disk_of(self, target: Target) -> str:
        """Return the disk that a target shares with others."""
        if self.disk:
            return self.disk
        device = target.devices[0]
        if device not in self._disks:
            self._disks[device] = self.topology.disk(device)
        return self._disks[device]

    def read(self, targets: Sequence[Target]) -> Reading:
        """Return the counters now; a cgroup that is gone has none."""
        used = {device for target in targets for device in target.devices}
        disks = {self.disk_of(target) for target in targets}
        now_s = self.clock()
        self._numbers, devices = parse_diskstats(self.diskstats.read_text(), used | disks)
        groups = {}
        for target in targets:
            try:
                groups[target.key] = self.hierarchy.counters(target.folder, not target.own)
            except OSError:
                continue
        self._report_missing(used, devices)
        return Reading(now_s, devices, groups)

    def _report_missing(self, used: set[str], devices: Collection[str]) -> None:
        missing = used - set(devices)
        for device in sorted(missing - self._silent):
            self.notes.append(f"device {device} has no counters now; its containers are not judged")
        for device in sorted(self._silent - missing):
            self.notes.append(f"device {device} has counters again")
            self._disks.pop(device, None)
            self._wholes.pop(device, None)
        self._silent = missing

    def observe(self, targets: Sequence[Target]) -> Observation | None:
        """Return what happened since the last call; None the first time.

        A container that came, was reset, or lost its device within the period is left out.
        """
        before, after = self.before, self.read(targets)
        self.before = after
        if before is None or after.time_s <= before.time_s:
            return None
        period_s = after.time_s - before.time_s
        growths = {
            device: Counts(*steps)
            for device, counts in after.devices.items()
            if (steps := growth(before.devices.get(device), counts))
        }
        usages = []
        for target in targets:
            first, last = before.groups.get(target.key), after.groups.get(target.key)
            if first is None or last is None:
                continue
            if all(device in growths for device in target.devices):
                usage = self._usage(target, growths, first, last, period_s)
                usages += [usage] if usage else []
        disks = self._shared_disks(usages, growths, period_s)
        return Observation(after.time_s, period_s, tuple(usages), disks)

    def _usage(
        self,
        target: Target,
        growths: Mapping[str, Counts],
        group_before: GroupCounts,
        group_after: GroupCounts,
        period_s: float,
    ) -> Usage | None:
        steps = [growths[device] for device in target.devices]
        requests = sum(step.reads + step.writes for step in steps)
        spent_ms = sum(step.read_ms + step.write_ms for step in steps)
        queue_length = spent_ms / 1000 / period_s
        counted = self._group_growth(target, group_before, group_after)
        if counted is None:
            return None
        unlimited_bytes_s = 0.0
        if target.own:
            reads = sum(step.reads for step in steps)
            writes = sum(step.writes for step in steps)
            read_bytes = sum(step.read_sectors for step in steps) * SECTOR_BYTES
            write_bytes = sum(step.write_sectors for step in steps) * SECTOR_BYTES
            utilization = min(1.0, queue_length)
            if self.hierarchy.version == 1 and self._counts_all(target, group_after):
                unlimited_bytes_s = max(0, write_bytes - counted[3]) / period_s
        else:
            reads, writes, read_bytes, write_bytes = counted
            busy_ratio = max(step.busy_ms for step in steps) / 1000 / period_s
            sectors = sum(step.read_sectors + step.write_sectors for step in steps)
            whole = requests + sectors * SECTOR_BYTES / REQUEST_BYTES
            part = reads + writes + (read_bytes + write_bytes) / REQUEST_BYTES
            share = min(1.0, part / whole) if whole else 0.0
            utilization = share * shared_utilization(busy_ratio, queue_length)
        return Usage(
            target.key,
            target.name,
            target.sla_class,
            self.disk_of(target),
            reads / period_s,
            writes / period_s,
            read_bytes / period_s,
            write_bytes / period_s,
            spent_ms / requests if requests else None,
            queue_length,
            utilization,
            reads + writes,
            target.own,
            unlimited_bytes_s,
        )

    def _counts_all(self, target: Target, counts: GroupCounts) -> bool:
        return all(self.number(device) in counts for device in target.devices)

    def _group_growth(
        self, target: Target, before: GroupCounts, after: GroupCounts
    ) -> list[int] | None:
        """Return what a cgroup did on its devices, or None when its counters were reset."""
        total = [0, 0, 0, 0]
        for device in target.devices:
            number = self.number(device)
            zeros = (0, 0, 0, 0)
            steps = growth(before.get(number, zeros), after.get(number, zeros))
            if steps is None:
                return None
            total = [sum(pair) for pair in zip(total, steps)]
        return total

    def _shared_disks(
        self, usages: Sequence[Usage], growths: Mapping[str, Counts], period_s: float
    ) -> dict[str, Disk]:
        pools: dict[str, list[Usage]] = {}
        for usage in usages:
            pools.setdefault(usage.disk, []).append(usage)
        disks = {}
        for name, members in pools.items():
            step = growths.get(name)
            bytes_s = sum(usage.bytes_s for usage in members)
            iops = sum(usage.iops for usage in members)
            if step:
                queue_length = (step.read_ms + step.write_ms) / 1000 / period_s
                busy_ratio = step.busy_ms / 1000 / period_s
                utilization = shared_utilization(busy_ratio, queue_length)
                bytes_s = (step.read_sectors + step.write_sectors) * SECTOR_BYTES / period_s
                iops = (step.reads + step.writes) / period_s
            else:
                active = [usage for usage in members if usage.requests]
                queue_length = sum(usage.queue_length for usage in active)
                utilizations = [usage.utilization_ratio for usage in active]
                utilization = sum(utilizations) / len(active) if active else 0.0
            disks[name] = Disk(name, utilization, queue_length, bytes_s, iops, bool(step))
        return disks
