"""Is a limit on another disk than the one that its cgroup uses?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..regulator.shared_journals import lines_of
from .audited_host import UNSURE_BYTES
from .findings import Finding, Kind, Severity

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable, Iterator

    from .audited_host import Host, Limit

#: Of a row of counters: where the bytes of a direction stand.
COLUMN = {"r": 2, "w": 3}

#: Disks in memory: what is swapped to them is charged, and nobody limits it.
IN_MEMORY = ("zram", "ram")


def other_disk(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit on a disk that its cgroup leaves alone, where it uses one without a limit.

    A note where the cgroup can use the limit's disk: it may do so yet.
    """
    directions = sorted({key[0] for key in limit.values})
    # A limit of writes also holds back discards, which version 2 counts apart, in the last column.
    columns = [COLUMN[one] for one in directions] + [-1] * ("w" in directions)
    rows = host.counters(limit.cgroup).items()
    used = [number for number, row in rows if any(row[column] for column in columns)]
    used = [number for number in used if not told_below(host, number, used)]
    if any(host.lies_on(device_of(host, one), device_of(host, limit.number)) for one in used):
        return
    moved = {number: sum(free(host, limit, number, one) for one in directions) for number in used}
    most = max(moved, key=lambda number: moved[number], default="")
    if moved.get(most, 0) > UNSURE_BYTES:
        unsure = not host.devices.names or reaches(host, limit, "r" in directions)
        severity = Severity.NOTE if unsure else Severity.WARNING
        name = device_of(host, most)
        yield Finding(
            *(Kind.OTHER_DISK, severity, host.subject(limit.cgroup)),
            {**limit.evidence(), "used_device": most, "used_bytes": moved[most]},
            f"its limit is on {device_of(host, limit.number)}, and it uses {name}, on which it has "
            f"none; limit {name} ({most}) if that one was meant",
        )


def told_below(host: Host, number: str, used: Iterable[str]) -> bool:
    """Tell whether other rows say which of its disks a device used, as a cache or not."""
    name = device_of(host, number)
    several = len(host.devices.bottom(name)) > 1
    return several and any(device_of(host, one) in host.devices.chain(name)[1:] for one in used)


def device_of(host: Host, number: str) -> str:
    """Return a device's name, or its number where nothing names it."""
    return host.devices.names.get(number, number)


def free(host: Host, limit: Limit, number: str, direction: str) -> int:
    """Return what a cgroup moved on a device without any limit, its own or one above or below."""
    root = host.hierarchy.root
    above = [one for one in limit.cgroup.parents if root in one.parents]
    holders = [limit.cgroup, *(above if host.inherits() else ())]
    in_memory = device_of(host, number).startswith(IN_MEMORY)
    if in_memory or is_limited(host, holders, number, direction):
        return 0
    below = limited_below(host, limit.cgroup, number, direction)
    return host.counters(limit.cgroup)[number][COLUMN[direction]] - below


def is_limited(host: Host, folders: Iterable[pathlib.Path], number: str, direction: str) -> bool:
    """Tell whether cgroups limit a direction on a device, or on what lies above or below it."""
    name = device_of(host, number)
    held = (one for folder in folders for one in host.limits(folder))
    others = [
        device_of(host, one.number) for one in held if direction in {key[0] for key in one.values}
    ]
    return any(host.lies_on(name, one) or host.lies_on(one, name) for one in others)


def limited_below(host: Host, folder: pathlib.Path, number: str, direction: str) -> int:
    """Return what cgroups below moved that have a limit; version 2 counts it above, too."""
    moved = 0
    for child in sorted(folder.glob("*/")) if host.hierarchy.version == 2 else ():
        if is_limited(host, [child], number, direction):
            moved += host.counters(child).get(number, [0, 0, 0, 0])[COLUMN[direction]]
        else:
            moved += limited_below(host, child, number, direction)
    return moved


def reaches(host: Host, limit: Limit, reads: bool) -> bool:
    """Tell whether a cgroup can use a limit's disk: its file systems, the swap, the disk itself."""
    processes = host.processes(limit.cgroup) or ["self"]
    mounts = {mount for one in processes for mount in host.mounts(one)}
    usable = [mount for mount in mounts if reads or "ro" not in mount.options]
    devices = {host.device(mount) for mount in usable} - {""}
    devices |= {os.path.basename(file) for file, _ in lines_of(host.topology.proc / "swaps")}
    for one in tuple(devices):  # of a btrfs on several disks, a mount names one
        for place in host.topology.sys.glob(f"fs/btrfs/*/devices/{one}"):
            devices |= {file.name for file in place.parent.iterdir()}
    name = device_of(host, limit.number)
    raw = any(host.has_open(process, name, reads) for process in processes)
    # ZFS does not say which disks it is on.
    may = any(mount.kind == "zfs" or mount.number == limit.number for mount in usable)
    return raw or may or any(host.lies_on(one, name) for one in devices)
