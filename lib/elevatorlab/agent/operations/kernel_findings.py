"""What is wrong with the limits that the kernel's files hold.

Each check names one cause. Several causes can look alike from outside, as when a cgroup writes more
than is charged to it; then one function decides between them (`uncharged`).
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

from ..regulator.shared_journals import ORDERED, UNORDERED, text_of
from .asked_findings import is_asked
from .audited_host import IDLE_PART, NO_JOURNAL, UNSURE_BYTES, link_of
from .disk_findings import other_disk
from .findings import Finding, Kind, Severity, above_notes
from .left_behind import everywhere

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .audited_host import Host, Limit, Mount, Opened, Writes

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

#: A commit that waits longer than this for a limit's data is more than a possibility.
LONG_WAIT_S = 5
#: Writeback of many pages makes requests of at most so many bytes, as a rule.
LARGE_REQUEST = 1 << 20

#: Options of ext3 and ext4 that are not in ordered mode.
NOT_ORDERED = {UNORDERED, "data=journal", NO_JOURNAL}

#: Whose writes the kernel charges to others, by the type of file system.
FOREIGN = {
    **dict.fromkeys(("fuse", "fuseblk", "virtiofs"), Kind.FUSE),
    "zfs": Kind.ZFS,
    **dict.fromkeys(
        ("nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "afs", "lustre", "beegfs"), Kind.NETWORK
    ),
}
#: FUSE without data of anybody's.
FUSE_OF_THE_HOST = {"fuse.lxcfs", "fuse.portal", "fuse.gvfsd-fuse", "fuse.snapfuse"}
WHO_WRITES = {
    Kind.FUSE: "a FUSE daemon writes for it, in another cgroup; limit that one, too",
    Kind.ZFS: "threads of ZFS write for it, in no cgroup; use a file system with cgroup writeback "
    "(ext4, XFS, btrfs), or a dataset on a volume of its own",
    Kind.NETWORK: "its data go over the network, not to this disk; limit it on the server, or its "
    "network traffic",
    Kind.DATA_JOURNAL: "with data=journal its data pass through the journal's thread, which no "
    "cgroup is charged for; mount it with data=ordered",
}


def of_kernel(host: Host) -> Iterator[Finding]:
    """Yield every finding about what the kernel holds, cgroup by cgroup."""
    if host.hierarchy.version == 2:
        for folder in (host.hierarchy.root, *host.groups):
            yield from undelegated(host, folder)
    for folder in host.groups:
        for limit in host.limits(folder):
            yield from of_limit(host, limit)
    yield from left_behind(host)


def of_limit(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield what is wrong with a limit; one on no disk has no other fault."""
    found = list(misplaced(host, limit))
    if not found:
        for check in (not_inherited, uncharged, other_direction, parent_stricter, held_back):
            found += check(host, limit)
        found += pinning(host, limit)
        found += other_disk(host, limit) if not above_notes(found) else []
    if any(one.kind is Kind.NOT_INHERITED for one in found):
        # Its own processes, if any, are not what passes it by.
        found = [one for one in found if one.kind is not Kind.BUFFERED or one.severity is ERROR]
    yield from found


def misplaced(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit on what is no disk, on a partition, or on a device that is gone."""
    subject, found = host.subject(limit.cgroup), limit.evidence()
    name = host.devices.names.get(limit.number)
    character = host.character_device(limit)
    if limit.number.startswith("0:") or character:
        found.update({"character_device": character} if character else {})
        yield Finding(
            *(Kind.NO_DISK, ERROR, subject, found),
            f"its limit names {limit.number}, which is no disk, so it holds for nothing; name the "
            "disk that lsblk shows below its files",
        )
    elif name is None and host.devices.names:  # without any, nobody can tell
        yield Finding(
            *(Kind.GONE, ERROR, subject, found),
            f"its limit names {limit.number}, a device that is not there; set it again, for the "
            "number that lsblk shows now",
        )
    elif name and (whole := host.devices.whole(name)) != name:
        found.update(partition=name, disk=whole)
        yield Finding(
            *(Kind.PARTITION, ERROR, subject, found),
            f"its limit is on the partition {name}, and limits hold for whole disks alone; limit "
            f"{whole} ({host.devices.number(whole)}) instead",
        )


def not_inherited(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit of version 1 that does not hold for the processes in the cgroups below."""
    if host.inherits():
        return
    free = []
    moved = kept = 0
    for child in sorted(path for path in limit.cgroup.glob("**/") if path != limit.cgroup):
        row = host.counters(child).get(limit.number, [0, 0, 0, 0])
        own = next((one.values for one in host.limits(child) if one.number == limit.number), {})
        looser = any(own.get(key, value + 1) > value for key, value in limit.values.items())
        if looser and (any(row) or host.processes(child)):
            free.append(host.subject(child))
            moved += row[2] + row[3]
        kept += not looser
    if free:
        # A pod's pause sits idle beside containers that have the limit.
        severity = NOTE if kept and not moved else ERROR
        yield Finding(
            *(Kind.NOT_INHERITED, severity, host.subject(limit.cgroup)),
            {**limit.evidence(), "cgroups_below": free, "their_bytes": moved},
            "cgroup v1 does not pass its limit on to the cgroups below, where the processes are; "
            f"set the limit on each of them (first: {free[0]}), or boot with cgroup v2",
        )


def uncharged(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield why writes pass a limit by: the one cause, of all that would show the same bytes.

    What the processes' open files tell comes first, then what holds for every buffered write
    of the cgroup, and last what the mounted file systems allow.
    """
    if not limit.writes:
        return
    if crypt := by_crypt(host, limit):
        yield crypt
        return
    writes = host.writes(limit)
    opened = open_files(host, limit)
    kinds = [None if one.raw else past(host, limit, one.mount) for one in opened]
    foreign = {kind: one.mount for kind, one in zip(kinds, opened) if kind is not None}
    cached = [one for one in opened if in_cache(host, limit, one)]
    no_memory = without_memory(host, limit)
    if foreign:
        # The other files may have passed the limit by instead, or nothing may have.
        unsure = cached and (host.hierarchy.version == 1 or no_memory or not writes.passed)
        severity = NOTE if unsure else writes.severity()
        yield from charged_to_others(host, limit, writes, foreign, severity)
    if opened and not cached:
        return  # what is direct is charged to the cgroup itself
    if not opened and not can_write(host, limit):
        return  # what it can write to lies on other disks
    if no_memory:
        yield memory_off(host, limit, writes)
    elif not opened:
        yield from by_mounts(host, limit, writes)
    elif host.hierarchy.version == 1:
        yield from buffered(host, limit, writes, cached)
    elif not foreign:
        yield from by_nobody(host, limit, writes)


def by_crypt(host: Host, limit: Limit) -> Finding | None:
    """Return that dm-crypt's threads pass a limit by, unless their device has one, too."""
    found = host.encrypted(limit.cgroup, host.devices.names.get(limit.number, ""))
    held = {one.number for one in host.limits(limit.cgroup) if one.writes}
    if found is None or found.number in held:
        return None
    return Finding(
        *(Kind.CRYPT, ERROR, host.subject(limit.cgroup)),
        {**limit.evidence(), **found.evidence()},
        f"its limit does not hold for writes to {found.device}, since threads of dm-crypt, in no "
        f"cgroup, write them to the disk below; limit {found.device} ({found.number}) itself, in "
        f"{'io.max' if host.hierarchy.version == 2 else 'blkio.throttle.*'} (systemd takes the "
        "disk below for it)",
    )


def open_files(host: Host, limit: Limit) -> list[Opened]:
    """Return the files that a cgroup's processes have open for writing, where data are kept."""
    return [
        one
        for process in host.processes(limit.cgroup)
        for one in host.opened(process)
        if one.raw or stores(host, one.mount)
    ]


def can_write(host: Host, limit: Limit) -> bool:
    """Tell whether any file system that a cgroup sees may lie on a limit's disk."""
    kept = [mount for mount in host.writable(limit.cgroup) if stores(host, mount)]
    return not kept or any(concerns(host, mount, limit) for mount in kept)


def in_cache(host: Host, limit: Limit, one: Opened) -> bool:
    """Tell whether a file's writes go through the page cache to where a limit may concern them."""
    own = past(host, limit, one.mount) is None and concerns(host, one.mount, limit)
    # Whatever is written to a loop, its own thread writes to the file.
    loop = host.on_loop(host.device(one.mount), host.devices.names.get(limit.number, ""))
    return (loop or not one.direct) and (one.raw or own)


def by_mounts(host: Host, limit: Limit, writes: Writes) -> Iterator[Finding]:
    """Yield why writes pass a limit by, where no open file tells: by what can be written to."""
    seen = foreign_mounts(host, limit)
    unseen = writes.elsewhere and not writes.uncharged and not talks(host, limit)
    alone = {
        kind: mount
        for kind, mount in seen.items()
        if only_way(host, limit, kind) or (unseen and kind is Kind.FUSE)
    }
    if alone:
        yield from charged_to_others(host, limit, writes, alone, writes.severity())
    elif host.hierarchy.version == 1:
        yield from buffered(host, limit, writes, [])
    elif seen:
        severity = ERROR if writes.passed else NOTE
        yield from charged_to_others(host, limit, writes, seen, severity)
    else:
        yield from by_nobody(host, limit, writes)


def by_nobody(host: Host, limit: Limit, writes: Writes) -> Iterator[Finding]:
    """Yield that writes pass a limit by for no reason that the files tell."""
    if writes.accounted or not writes.uncharged:
        return
    yield Finding(
        *(Kind.UNCHARGED, WARNING if writes.passed else NOTE, host.subject(limit.cgroup)),
        figures(limit, writes),
        f"its writes {'pass' if writes.passed else 'may pass'} its limit by, and these files do "
        "not say why: they are charged to nobody or to another cgroup, as by file systems without "
        "writeback by cgroup (FAT), and by the threads of a RAID or of an older kernel's loop; "
        f"write to ext4, XFS or btrfs, and limit an array, not its disks{since_when(writes)}",
    )


def since_when(writes: Writes) -> str:
    """Return what to know of numbers that do not show whether a limit is passed by now."""
    if writes.passed or writes.accounted or not writes.uncharged:
        return ""
    return (
        "; what was written counts since the processes began, and what was charged may count from "
        "later: audit again on the host itself while they write"
    )


def talks(host: Host, limit: Limit) -> bool:
    """Tell whether a cgroup has a socket open, to which it may have written instead."""
    folders = [host.topology.proc / process / "fd" for process in host.processes(limit.cgroup)]
    files = (file for folder in folders for file in folder.glob("*"))
    return any(link_of(file).startswith("socket:") for file in files)


def only_way(host: Host, limit: Limit, kind: Kind) -> bool:
    """Tell whether a cgroup can write to a limit's disk by a kind of file system alone.

    ZFS does not tell which disks it is on: on one where nothing else is.
    """
    local = kind in (Kind.ZFS, Kind.DATA_JOURNAL)
    return not any(
        stores(host, mount) and foreign_kind(host, mount) is None
        for mount in host.writable(limit.cgroup)
        if not local or on_disk(host, mount, limit)
    )


def figures(limit: Limit, writes: Writes) -> dict[str, int | str | list[str]]:
    """Return a limit, and what was written and charged, as evidence."""
    found = limit.evidence()
    found.update(written_bytes=writes.written, charged_bytes=writes.charged)
    found.update(waiting_bytes=writes.waiting)
    if writes.growth:
        found.update(newly_written_bytes=writes.growth.written)
        found.update(newly_charged_bytes=writes.growth.charged)
    return found


def stores(host: Host, mount: Mount) -> bool:
    """Tell whether a file system keeps data: on a device here, or where others write."""
    return foreign_kind(host, mount) is not None or bool(host.device(mount))


def foreign_kind(host: Host, mount: Mount) -> Kind | None:
    """Return why writes to a file system are charged to others; None where they are not."""
    if mount.kind in FUSE_OF_THE_HOST:
        return None
    if mount.kind in ORDERED and "data=journal" in mount.options:
        # Version 1 charges no buffered write, whatever the mode of the journal.
        return Kind.DATA_JOURNAL if host.hierarchy.version == 2 else None
    return FOREIGN.get(mount.kind.partition(".")[0])


def past(host: Host, limit: Limit, mount: Mount) -> Kind | None:
    """Return why writes to a file system pass a limit by; a journal is a matter of its disk."""
    kind = foreign_kind(host, mount)
    return kind if kind is not Kind.DATA_JOURNAL or on_disk(host, mount, limit) else None


def foreign_mounts(host: Host, limit: Limit) -> dict[Kind, Mount]:
    """Return the file systems to which a cgroup can write at others' charge."""
    found = {}
    for mount in host.writable(limit.cgroup):
        kind = past(host, limit, mount)
        if kind is not None:
            found[kind] = mount
    return found


def on_disk(host: Host, mount: Mount, limit: Limit) -> bool:
    """Tell whether a file system lies on a limit's device, or on what is mapped upon it."""
    device = host.device(mount)
    below = bool(device) and host.devices.names.get(limit.number) in host.devices.chain(device)
    return below or mount.number == limit.number


def concerns(host: Host, mount: Mount, limit: Limit) -> bool:
    """Tell whether a limit may concern what is written to a file system.

    A loop's file may lie on any disk, and others write for a foreign file system.
    """
    below = host.devices.chain(host.device(mount))
    loop = any(name.startswith("loop") for name in below)
    return past(host, limit, mount) is not None or loop or on_disk(host, mount, limit)


def charged_to_others(
    host: Host, limit: Limit, writes: Writes, found: dict[Kind, Mount], severity: Severity
) -> Iterator[Finding]:
    """Yield that a file system's writes are charged to others."""
    for kind, mount in found.items():
        yield Finding(
            *(kind, severity, host.subject(limit.cgroup)),
            {**figures(limit, writes), "mount": mount.point, "file_system": mount.kind},
            f"its limit does not hold for writes below {mount.point} ({mount.kind}): "
            f"{WHO_WRITES[kind]}{since_when(writes)}",
        )


def without_memory(host: Host, limit: Limit) -> bool:
    """Tell whether a limit's cgroup has no memory controller; where no file tells, it has one."""
    controllers = host.controllers(limit.cgroup)
    return host.hierarchy.version == 2 and "memory" not in (controllers or ["memory"])


def memory_off(host: Host, limit: Limit, writes: Writes) -> Finding:
    """Return that buffered writes are charged to a cgroup above, which has a memory controller."""
    return Finding(
        *(Kind.MEMORY_OFF, writes.severity(), host.subject(limit.cgroup)),
        {**figures(limit, writes), "controllers": host.controllers(limit.cgroup) or []},
        "it has io but no memory controller, so its buffered writes are charged to a cgroup above, "
        "as a rule the root; enable memory (echo +memory > cgroup.subtree_control in each cgroup "
        "above; at boot: cgroup_enable=memory, and no cgroup_disable=memory)" + since_when(writes),
    )


def buffered(
    host: Host, limit: Limit, writes: Writes, cached: Sequence[Opened]
) -> Iterator[Finding]:
    """Yield that buffered writes pass a limit of version 1 by.

    `cached`: The files through which they go. Nobody is charged for them, so with such a file, much
    that was not charged is no matter of when a count began.
    """
    if writes.accounted:
        return
    unseen = WARNING if cached and writes.uncharged else NOTE
    yield Finding(
        *(Kind.BUFFERED, ERROR if writes.passed else unseen, host.subject(limit.cgroup)),
        figures(limit, writes),
        f"buffered writes {'pass' if writes.passed else 'would pass'} its limit by: cgroup v1 "
        "charges them to nobody; boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)"
        + since_when(writes),
    )


def other_direction(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit of one direction where the I/O goes in the other."""
    limited = {key[0] for key in limit.values}
    if len(limited) != 1:
        return
    rows = host.counters(limit.cgroup)
    read, written = rows.get(limit.number, [0, 0, 0, 0])[2:4]
    # Then no buffered writes are counted.
    if host.hierarchy.version == 1 or without_memory(host, limit):
        opened = open_files(host, limit)
        may = (
            any(in_cache(host, limit, one) for one in opened) if opened else can_write(host, limit)
        )
        if may:
            elsewhere = written_to_other_disks(host, limit, rows)
            written = max(written, host.writes(limit).written - elsewhere)
    busy, idle = (written, read) if limited == {"r"} else (read, written)
    if busy > UNSURE_BYTES and idle < busy * IDLE_PART:
        names = ("reads", "writes") if limited == {"r"} else ("writes", "reads")
        yield Finding(
            # A limit of reads alone is seldom meant; one of writes alone often is.
            *(Kind.OTHER_DIRECTION, WARNING if limited == {"r"} else NOTE),
            host.subject(limit.cgroup),
            {**limit.evidence(), "read_bytes": read, "written_bytes": written},
            f"its limit is on {names[0]}, and it does {names[1]}; limit {names[1]} too, if they "
            "shall be slower",
        )


def written_to_other_disks(host: Host, limit: Limit, rows: Mapping[str, Sequence[int]]) -> int:
    """Return the bytes that are counted as written to disks which a limit does not concern."""
    names, bottom = host.devices.names, host.devices.bottom
    own = bottom(names.get(limit.number, ""))
    disks = {number: names.get(number, "") for number in rows}
    others = (one for one, name in disks.items() if name not in own and bottom(name) == [name])
    return sum(rows[number][3] for number in others)


def parent_stricter(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit that is never reached, since a cgroup above has a lower one."""
    if not host.inherits():
        return
    root = host.hierarchy.root
    # What a volume writes is limited once more on the disks below it.
    names = host.devices.chain(host.devices.names.get(limit.number, ""))
    numbers = {limit.number, *map(host.devices.number, names)}
    for parent in limit.cgroup.parents:
        if parent == root or root not in parent.parents:
            return
        above: dict[str, int] = {}
        for one in host.limits(parent):
            if one.number in numbers:
                above.update({key: min(on, above.get(key, on)) for key, on in one.values.items()})
        keys = [key for key, value in limit.values.items() if above.get(key, value) < value]
        if keys:
            yield Finding(
                *(Kind.PARENT_STRICTER, WARNING, host.subject(limit.cgroup)),
                {
                    **limit.evidence(),
                    "parent": host.subject(parent),
                    **{f"parent_{key}": above[key] for key in keys},
                },
                f"it never reaches its limit, since {host.subject(parent)} above it has a stricter "
                "one; raise that, or lower this",
            )
            return


def held_back(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit on a disk whose writeback is throttled for all cgroups together."""
    if host.hierarchy.version == 1 or not limit.writes:
        return
    chain = host.devices.chain(host.devices.names.get(limit.number, ""))
    latencies = {device: host.devices.queue(device, "wbt_lat_usec") for device in chain}
    device = next((one for one, us in latencies.items() if us.isdigit() and int(us)), None)
    if device is not None:
        yield Finding(
            *(Kind.WBT, NOTE, host.subject(limit.cgroup)),
            {**limit.evidence(), "wbt_lat_usec": int(latencies[device])},
            "writeback throttling, the kernel's default, lets its buffered writes wait in one line "
            f"with everybody's; if that hurts: echo 0 > /sys/block/{device}/queue/wbt_lat_usec",
        )


def pinning(host: Host, limit: Limit) -> Iterator[Finding]:
    """Yield a limit by which one cgroup's dirty pages can hold up a journal that all share.

    In ordered mode a commit waits for the data of every file that grew, whoever wrote it; and who
    calls fsync waits for the commit.
    """
    # Without memory, no writeback is the cgroup's.
    if host.hierarchy.version != 2 or not limit.writes or without_memory(host, limit):
        return
    waiting = host.writes(limit).waiting
    sizes = {"wbps": 1, "wiops": LARGE_REQUEST}
    rate = min(limit.values[key] * size for key, size in sizes.items() if key in limit.values)
    rows = host.counters(limit.cgroup)
    # Which disk the pages wait for is nowhere said.
    elsewhere = limit.number not in rows and any(row[3] for row in rows.values())
    slow = waiting > LONG_WAIT_S * rate and not elsewhere
    # A container sees few of the host's file systems, and those at places of its own.
    places = {mount.number: mount for mount in reversed(host.mounts())}
    seen = {mount.number: mount for mount in host.writable(limit.cgroup)}
    for mount in (places.get(number, mount) for number, mount in seen.items()):
        ordered = mount.kind in ORDERED and not NOT_ORDERED & set(mount.options)
        if ordered and on_disk(host, mount, limit):
            chain = host.devices.chain(host.device(mount))
            yield Finding(
                *(Kind.JOURNAL, WARNING if slow else NOTE, host.subject(limit.cgroup)),
                {
                    **limit.evidence(),
                    **{"waiting_bytes": waiting, "mount": mount.point, "devices": chain},
                },
                f"its slow writeback {'holds' if slow else 'can hold'} up the journal of "
                f"{mount.point} ({mount.kind}), and all who fsync there; give it a file system of "
                "its own, or weights with io.cost instead of the limit",
            )


def undelegated(host: Host, folder: pathlib.Path) -> Iterator[Finding]:
    """Yield a note on a cgroup that has io and does not pass it on to those below."""
    has = text_of(folder / "cgroup.controllers").split()
    passes = folder / "cgroup.subtree_control"
    if "io" not in has or not passes.exists() or "io" in text_of(passes).split():
        return
    below = [file.parent for file in folder.glob("*/**/cgroup.procs") if text_of(file)]
    if below:
        yield Finding(
            *(Kind.NOT_DELEGATED, NOTE, host.subject(folder)),
            {"subtree_control": text_of(passes).split(), "cgroups_below": len(below)},
            "it does not pass io on, so no limit or weight can be set on the cgroups below it; if "
            "one shall be: echo +io > cgroup.subtree_control there, or systemd's Delegate=io",
        )


def left_behind(host: Host) -> Iterator[Finding]:
    """Yield the limits that a killed regulator has left in force, by its journal."""
    for left in everywhere(host.state) if host.state else ():
        cgroup = left.cgroup
        if cgroup not in host.groups:  # the journal of a copied host has that host's paths
            cgroup = host.root / str(cgroup).lstrip("/")
        limits = host.limits(cgroup) if cgroup in host.groups else []
        now = next((limit for limit in limits if limit.number == left.device), None)
        if now is None:
            continue
        changed = [key for key, value in left.before.items() if now.values.get(key) != value]
        if not changed:
            continue
        disk = host.devices.names.get(left.device, "")
        asked = all(is_asked(host, cgroup, disk, key, now.values.get(key)) for key in changed)
        yield Finding(
            *(Kind.LEFT_BEHIND, NOTE if asked else WARNING, host.subject(cgroup)),
            {
                **now.evidence(),
                **{"journal": left.journal, "command": left.command, "since": left.since},
                **{f"before_{key}": value or "max" for key, value in left.before.items()},
            },
            "it is what was asked for, but the journal of a regulator that was killed holds an "
            "earlier limit, to which its next start, --restore and elevatorlab clean go back; set "
            "it again after these"
            if asked
            else "a regulator that was killed has left this limit in force; elevatorlab regulate "
            "--restore takes it away, and so does elevatorlab clean",
        )
