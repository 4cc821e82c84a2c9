"""What the audit reads of a host: its disks, its file systems, and who wrote and was charged.

Everything comes from files of the kernel, below roots that are given, and nothing is changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import time
from typing import TYPE_CHECKING, NamedTuple

from ..groups.hierarchies import COUNTERS, LIMITS
from ..regulator.shared_journals import ORDERED, lines_of, text_of, waiting_bytes
from .findings import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..groups.hierarchies import V1, V2
    from ..regulator.topology import Topology
    from .asked_records import Asked

    Hierarchy = V1 | V2

#: Stands among the options of an ext4 that has no journal.
NO_JOURNAL = "no journal"

#: The keys of a limit, by version 2's names: file of version 1.
V1_FILES = {key: file for file, key in LIMITS.values()}

#: A device's number, ``major:minor``.
NUMBER = re.compile(r"\d+:\d+")

#: What was written and what was charged differ by less than this for many reasons, or by less
#: than a part of what was written. A direction that did less than this part of the other is idle.
UNSURE_BYTES = 1 << 20
IDLE_PART = 0.1
#: btrfs makes a page of 32 at most, and f2fs of fewer by default.
COMPRESSED_PART = 1 / 32
#: Between two readings of a limit that seems to be passed by.
PAUSE_S = 1.0

#: Character devices whose numbers have never changed, by which a limit is asked to no avail.
MEMORY = {"1:3": "null", "1:5": "zero", "1:7": "full", "1:8": "random", "1:9": "urandom"}


class Devices:
    """The block devices in a sysfs, by name and by number."""

    def __init__(self, sys: pathlib.Path) -> None:
        self.sys = sys
        #: Where a device's files are, by its name.
        self.paths: dict[str, pathlib.Path] = {}
        #: A device's name, by its number.
        self.names: dict[str, str] = {}
        self._chains: dict[str, list[str]] = {}
        self._mapped: dict[str, str] | None = None
        for pattern in ("class/block/*", "block/*", "block/*/*/partition"):
            for path in sys.glob(pattern):
                folder = path.parent if path.name == "partition" else path
                self.paths.setdefault(folder.name, folder.resolve())
        for name, folder in self.paths.items():
            if number := text_of(folder / "dev"):  # the path of a disk with several has none
                self.names[number] = name
        for link in (sys / "dev/block").glob("*"):
            if link.is_symlink():
                self.names[link.name] = os.path.basename(os.readlink(link))

    def number(self, name: str) -> str:
        """Return ``major:minor`` of a device, or nothing."""
        return next((number for number, known in self.names.items() if known == name), "")

    def whole(self, name: str) -> str:
        """Return the disk of a partition, and any other device itself."""
        folder = self.paths.get(name)
        if folder is not None and not (folder / "partition").exists():
            return name
        if folder is not None and folder.parent.name in self.paths:
            return folder.parent.name
        disk = re.sub(r"(?<=\d)p\d+$|(?<=\D)\d+$", "", name)
        return disk if disk in {*self.paths, *self.names.values()} else name

    def known(self, name: str) -> str:
        """Return the name of a device that is here, or nothing.

        A copy may lack all partitions of a disk.
        """
        names = set(self.names.values())
        if name in names or (disk := self.whole(name)) not in names:
            return name if name in names else ""
        return "" if any(self.whole(other) == disk for other in names - {disk}) else name

    def chain(self, name: str) -> list[str]:
        """Return a device, the disk it is a part of, and all that lie below it."""
        if name in self._chains:
            return self._chains[name]
        self._chains[name] = found = [name]
        for one in found:
            folder = self.paths.get(one)
            below = [self.whole(one)]
            below += sorted(path.name for path in (folder / "slaves").glob("*")) if folder else []
            if head := re.fullmatch(r"nvme(\d+)n(\d+)", one):  # multipath: the paths are hidden
                path_of = re.compile(rf"nvme{head[1]}c\d+n{head[2]}")
                below += sorted(filter(path_of.fullmatch, self.paths))
            found += [other for other in below if other not in found]
        return found

    def bottom(self, name: str) -> list[str]:
        """Return the disks below a device that lie on no other one."""
        return [one for one in self.chain(name) if self.chain(one) == [one]]

    def queue(self, name: str, file: str) -> str:
        """Return a file of a device's queue, or nothing."""
        folder = self.paths.get(name)
        return text_of(folder / "queue" / file) if folder else ""

    @functools.cached_property
    def encrypted(self) -> list[str]:
        """The devices that dm-crypt made."""
        uuids = {name: text_of(folder / "dm/uuid") for name, folder in self.paths.items()}
        return [name for name, uuid in uuids.items() if uuid.startswith("CRYPT-")]

    def mapped(self, name: str) -> str | None:
        """Return the device that device mapper gave a name."""
        if self._mapped is None:
            folders = self.paths.items()
            named = ((raw_text_of(path / "dm/name").strip(), one) for one, path in folders)
            self._mapped = {given: one for given, one in named if given}
        return self._mapped.get(name)


class Mount(NamedTuple):
    """A line of ``mountinfo``."""

    id: str
    number: str
    point: str
    kind: str
    source: str
    options: tuple[str, ...]


class Opened(NamedTuple):
    """A file that is open for writing: past the page cache, or on a device itself."""

    mount: Mount
    direct: bool
    raw: bool


class Limit(NamedTuple):
    """What a cgroup may do on one device: key -> value, by version 2's keys."""

    cgroup: pathlib.Path
    number: str
    values: dict[str, int]

    @property
    def writes(self) -> bool:
        """Tell whether writes are limited."""
        return any(key[0] == "w" for key in self.values)

    def evidence(self) -> dict[str, int | str | list[str]]:
        """Return it as evidence."""
        return {"device": self.number, **self.values}


class Encrypted(NamedTuple):
    """What a cgroup wrote to a device of dm-crypt, and was charged for on a disk below."""

    device: str
    number: str
    written: int
    charged: int

    def evidence(self) -> dict[str, int | str | list[str]]:
        """Return it as evidence."""
        figures = {"crypt_bytes": self.written, "charged_bytes": self.charged}
        return {"crypt_device": self.number, **figures}


class Writes(NamedTuple):
    """What a cgroup's processes wrote, what was charged to it, and what waits in its pages."""

    written: int
    charged: int
    waiting: int
    #: What they handed to ``write``, also for pipes, and for FUSE, which `written` leaves out.
    called: int
    #: What each number grew by in `PAUSE_S`, where that was read.
    growth: Writes | None = None
    #: A file system that they may write to makes data smaller before it is charged.
    compressed: bool = False

    @property
    def elsewhere(self) -> bool:
        """Tell whether nearly all that they handed over went to no page cache and no disk."""
        return self.called > UNSURE_BYTES and self.written < self.called * IDLE_PART

    @property
    def uncharged(self) -> bool:
        """Tell whether much was written that is neither charged nor still to be written.

        Processes count from their start, and a cgroup from when it got io: that may be later.
        """
        written = self.written - self.waiting
        missing = written - self.charged
        shrunk = self.compressed and self.charged >= written * COMPRESSED_PART
        return missing > max(UNSURE_BYTES, self.written * IDLE_PART) and not shrunk

    @property
    def passed(self) -> bool:
        """Tell whether writes pass the limit by now, as both counts of one time show."""
        return self.growth is not None and self.growth.uncharged

    @property
    def accounted(self) -> bool:
        """Tell whether what was written is charged, so that the limit holds for it."""
        latest = self.growth or self
        return not latest.uncharged and latest.charged > UNSURE_BYTES

    def since(self, earlier: Writes) -> Writes:
        """Return what each number grew by."""
        return Writes(
            self.written - earlier.written,
            self.charged - earlier.charged,
            self.waiting - earlier.waiting,
            self.called - earlier.called,
            compressed=self.compressed,
        )

    def severity(self) -> Severity:
        """Return how bad a way past the limit is: used, not seen in use, or not used at all."""
        if self.passed:
            return Severity.ERROR
        return Severity.NOTE if self.accounted else Severity.WARNING


@dataclasses.dataclass
class Host:
    """What is looked at, and what was asked of it."""

    hierarchy: Hierarchy
    topology: Topology
    groups: Sequence[pathlib.Path]
    asked: Sequence[Asked] = ()
    #: The journals of regulators, by which the limits of a killed one are known.
    state: pathlib.Path | None = None
    #: Below it lies `/dev`.
    root: pathlib.Path = pathlib.Path("/")
    #: Who was asked for `asked`, and why one did not answer; empty for who did.
    answers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: The files are the kernel's own, and no copy: what they count goes on.
    live: bool = False

    def __post_init__(self) -> None:
        self.devices = Devices(self.topology.sys)

    def subject(self, folder: pathlib.Path) -> str:
        """Return a cgroup's path below the root."""
        below = folder.relative_to(self.hierarchy.root)
        return os.fsencode(below).decode(errors="replace") if below.parts else "/"

    def character_device(self, limit: Limit) -> str:
        """Return the character device whose number a limit has by mistake, or nothing.

        Both kinds have numbers of their own. A disk that is gone may share its number with a
        console, so a major number of disks is one. But 1:5 is /dev/zero, and a disk in memory.
        """
        major = limit.number.partition(":")[0]
        _, _, blocks = text_of(self.topology.proc / "devices").partition("Block devices:")
        majors = {number.partition(":")[0] for number in self.devices.names}
        majors.update(line.split()[0] for line in blocks.splitlines() if line.strip())
        idle = not any(self.counters(limit.cgroup).get(limit.number, ()))
        if idle if major == "1" else major not in majors:
            link = link_of(self.topology.sys / "dev/char" / limit.number)
            return os.path.basename(link) or MEMORY.get(limit.number, "")
        return ""

    def inherits(self) -> bool:
        """Tell whether a limit holds for the cgroups below, too."""
        return (
            self.hierarchy.version == 2
            or text_of(self.hierarchy.root / "cgroup.sane_behavior") == "1"
        )

    def limits(self, folder: pathlib.Path) -> list[Limit]:
        """Return the limits that a cgroup's files hold, device by device."""
        found: dict[str, dict[str, int]] = {}
        for number, key, value in self._limits(folder):
            if value.isdigit() and (int(value) or self.hierarchy.version == 2):
                found.setdefault(number, {})[key] = int(value)
        return [Limit(folder, number, values) for number, values in found.items()]

    def _limits(self, folder: pathlib.Path) -> Iterator[tuple[str, str, str]]:
        if self.hierarchy.version == 2:
            for number, words in lines_of(folder / "io.max"):
                for word in words.split():
                    key, _, value = word.partition("=")
                    yield number, key, value
            return
        for key, file in V1_FILES.items():
            for number, value in lines_of(folder / file):
                yield number, key, value.strip()

    def counters(self, folder: pathlib.Path) -> dict[str, list[int]]:
        """Return a cgroup's counters, and version 2's discards; none where it has just ended.

        Before a row of version 2, some kernels print the numbers of devices without counts.
        A disk's hidden path, and what ZFS made, are "(unknown)".
        """
        found: dict[str, list[int]] = {}
        if self.hierarchy.version == 1:
            with contextlib.suppress(OSError, ValueError):
                found = self.hierarchy.counters(folder, False)
        for line in text_of(folder / "io.stat").splitlines():
            numbers = [word for word in line.split() if "=" not in word]
            values = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if numbers and values:
                names = (*COUNTERS, "dios")
                found[numbers[-1]] = [count(values.get(name)) for name in names]
        return {number: row for number, row in found.items() if NUMBER.fullmatch(number)}

    def controllers(self, folder: pathlib.Path) -> list[str] | None:
        """Return the controllers that a cgroup has; None where no file tells."""
        for file in (folder / "cgroup.controllers", folder.parent / "cgroup.subtree_control"):
            if file.exists():
                return text_of(file).split()
        return None

    def processes(self, folder: pathlib.Path) -> list[str]:
        """Return a cgroup's processes, with those of the cgroups that share its limits."""
        folders = [folder, *folder.glob("*/**/")] if self.inherits() else [folder]
        texts = (text_of(one / "cgroup.procs") or text_of(one / "tasks") for one in folders)
        return [number for text in texts for number in text.split()]

    def writes(self, limit: Limit) -> Writes:
        """Return what was written by a limit's cgroup, and to whom it was charged."""
        return self._writes(limit)._replace(growth=self._growths.get(limit[:2]))

    @functools.cached_property
    def _growths(self) -> Mapping[tuple[pathlib.Path, str], Writes]:
        """What was written meanwhile under each limit that seems to be passed by."""
        if not self.live:
            return {}
        held = [one for folder in self.groups for one in self.limits(folder) if one.writes]
        readings = [(one, self._writes(one)) for one in held]
        suspected = [(one, reading) for one, reading in readings if reading.uncharged]
        if suspected:
            time.sleep(PAUSE_S)
        return {one[:2]: self._writes(one).since(earlier) for one, earlier in suspected}

    def _writes(self, limit: Limit) -> Writes:
        folder = limit.cgroup
        written = called = 0
        for process in self.processes(folder):
            counts = dict(lines_of(self.topology.proc / process / "io"))
            called += count(counts.get("wchar:"))
            written += count(counts.get("write_bytes:"))
            written -= count(counts.get("cancelled_write_bytes:"))
        # A mapped device counts what the disks below it count once more, where they count it.
        rows = self.counters(folder)
        below = sum(row[3] for number, row in rows.items() if not self._mapped(number, limit))
        charged = max(below, rows[limit.number][3] if limit.number in rows else 0)
        found = Writes(max(written, 0), charged, self._waiting(folder), called)
        # Lists of mounts are long, so they are read only where it matters.
        return found._replace(compressed=found.uncharged and self._compresses(folder))

    def _compresses(self, folder: pathlib.Path) -> bool:
        options = (option for mount in self.writable(folder) for option in mount.options)
        return any(option.startswith("compress") for option in options)

    def writable(self, folder: pathlib.Path) -> list[Mount]:
        """Return the file systems that a cgroup's processes may write to, or else the host's."""
        processes = self.processes(folder)
        mounts = self.mounts(processes[0] if processes else "self")
        return [mount for mount in mounts if "ro" not in mount.options]

    def encrypted(self, folder: pathlib.Path, disk: str) -> Encrypted | None:
        """Return by which device of dm-crypt a cgroup's writes reach a disk uncharged, if by one.

        dm-crypt's own threads submit them, and these are in no cgroup.
        """
        devices = self.devices
        bytes_on = {number: row[3] for number, row in self.counters(folder).items()}
        charged = bytes_on.get(devices.number(disk), 0)
        for name in devices.encrypted:
            number = devices.number(name)
            written = bytes_on.get(number, 0)
            missing = written - charged - self._waiting(folder)
            below = disk in devices.chain(name)[1:]
            if below and missing > max(UNSURE_BYTES, written * IDLE_PART):
                return Encrypted(name, number, written, charged)
        return None

    def _waiting(self, folder: pathlib.Path) -> int:
        with contextlib.suppress(ValueError):
            return waiting_bytes(folder) if self.hierarchy.version == 2 else 0
        return 0

    def _mapped(self, number: str, limit: Limit) -> bool:
        name = self.devices.names.get(number, "")
        disk = self.devices.names.get(limit.number, "")
        return self.devices.bottom(name) != [name] or self.on_loop(name, disk)

    def on_loop(self, device: str, disk: str) -> bool:
        """Tell whether a device is a loop, or lies on one, whose file is known to lie on a disk."""
        chain = self.devices.chain
        files = [self._below_loops.get(one) for one in chain(device)]
        return disk not in chain(device) and any(disk in chain(one) for one in files if one)

    def lies_on(self, device: str, other: str) -> bool:
        """Tell whether a device is the other, or lies on it; a loop whose file is nowhere may."""
        for name in self.devices.chain(device):
            if name == other:
                return True
            if name.startswith("loop"):
                below = self._below_loops.get(name, "")
                if below in ("", device) or self.lies_on(below, other):
                    return True
        return False

    @functools.cached_property
    def _below_loops(self) -> Mapping[str, str]:
        """The device that each loop's file lies on, or nothing."""
        mounts, found = self.mounts(), {}
        for name, folder in self.devices.paths.items():
            file = text_of(folder / "loop/backing_file")
            mount = holding(mounts, file) if file else None
            found[name] = self.device(mount) if mount else ""
        return found

    def mounts(self, process: str = "self") -> list[Mount]:
        """Return the file systems that a process sees; the reader's where it cannot be asked.

        An overlay is given as the file system that its writes go to.
        """
        own = own_mounts(self.topology.proc)
        seen = mounts_of(self.topology.proc / process / "mountinfo") or own
        real = [mount for mount in own if mount.kind != "overlay"]
        found = []
        for mount in seen:
            upper = dict(option.partition("=")[::2] for option in mount.options).get("upperdir")
            below = holding(real, upper) if upper and mount.kind == "overlay" else None
            if below:
                here = {"ro"} & set(mount.options)
                mount = below._replace(id=mount.id, options=(*here, *below.options))
            found.append(self._with_mode(mount))
        return found

    def _with_mode(self, mount: Mount) -> Mount:
        """Return a mount with its journal's mode, which the superblock may give (`tune2fs -o`)."""
        if mount.kind not in ORDERED:
            return mount
        name = self.devices.names.get(mount.number, "")
        words = text_of(self.topology.proc / "fs/ext4" / name / "options").split()
        if not words:
            return mount
        modes = [word for word in words if word.startswith("data=")] or [NO_JOURNAL]
        return mount._replace(options=(*mount.options, *modes))

    def opened(self, process: str) -> Iterator[Opened]:
        """Yield the files that a process has open for writing, where that may be read."""
        mounts = self.mounts(process)
        by_id = {mount.id: mount for mount in mounts}
        for path, flags, mount_id in self._descriptors(process):
            raw = path.startswith("/dev/") and os.path.basename(path) in self.devices.paths
            mount = by_id.get(mount_id)
            if mount is None and (raw or not path.startswith(("/dev/", "/memfd:"))):
                mount = holding(mounts, path)
            if mount is not None and flags & os.O_ACCMODE != os.O_RDONLY:
                yield Opened(mount, bool(flags & os.O_DIRECT), raw)

    def has_open(self, process: str, device: str, reads: bool) -> bool:
        """Tell whether a process has a device itself open, for reading if `reads`, or to write."""
        return any(
            path.startswith("/dev/")
            and os.path.basename(path) == device
            and (reads or flags & os.O_ACCMODE != os.O_RDONLY)
            for path, flags, _ in self._descriptors(process)
        )

    def _descriptors(self, process: str) -> Iterator[tuple[str, int, str]]:
        """Yield what a process has open, where that may be read: path, flags, mount's id."""
        for info in sorted((self.topology.proc / process / "fdinfo").glob("*")):
            words = text_of(info).split()
            values = dict(zip(words[::2], words[1::2]))
            path = link_of(info.parent.with_name("fd") / info.name)
            yield path, count(values.get("flags:"), 8), values.get("mnt_id:", "")

    def device(self, mount: Mount) -> str:
        """Return the device that a file system lies on, or nothing."""
        base = os.path.basename(mount.source)  # btrfs has a number of its own
        name = self.devices.names.get(mount.number) or self.devices.mapped(base) or base
        return self.devices.known(name)


def link_of(path: pathlib.Path) -> str:
    """Return where a link leads; nothing where it is not there, or is somebody else's."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def count(word: str | None, base: int = 10) -> int:
    """Return a number that a file of the kernel holds; 0 where a copy was cut off."""
    try:
        return int(word or "0", base)
    except ValueError:
        return 0


def raw_text_of(file: pathlib.Path) -> str:
    """Return a file's text that has names of other files, in whatever encoding these are."""
    try:
        return os.fsdecode(file.read_bytes())
    except OSError:
        return ""


def mounts_of(mountinfo: pathlib.Path) -> list[Mount]:
    """Return the lines of a ``mountinfo``; a name in it may be in any encoding."""
    try:
        text = mountinfo.read_text(errors="replace")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        words, (kind, source, options) = left.split(), [*right.split(" ", 2), "", ""][:3]
        if len(words) < 6:  # cut off in a copy
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), words[4])
        # What is mounted read-only at this place alone says so on the left.
        here = ["ro"] if "ro" in words[5].split(",") else []
        both = (*here, *options.split(","))
        found.append(Mount(words[0], words[2], point, kind, source, both))
    return found


def own_mounts(proc: pathlib.Path) -> list[Mount]:
    """Return what the reader sees; in a copy, ``self`` may be a link that leads nowhere."""
    return mounts_of(proc / "self/mountinfo") or mounts_of(proc / "1/mountinfo")


def holding(mounts: Sequence[Mount], path: str) -> Mount | None:
    """Return the mount that holds a path; of two at one point, the later."""
    found = [one for one in mounts if f"{path}/".startswith(one.point.rstrip("/") + "/")]
    return max(reversed(found), key=lambda one: len(one.point)) if found else None
