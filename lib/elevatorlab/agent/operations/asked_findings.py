"""What was asked, beside what the kernel's files hold."""

from __future__ import annotations

import fnmatch
import glob
import os
import pathlib
import re
import stat
from typing import TYPE_CHECKING, NamedTuple

from ..regulator.shared_journals import lines_of, text_of
from . import units
from .asked_records import LATENCY
from .audited_host import MEMORY, V1_FILES, holding, link_of, raw_text_of
from .findings import Finding, Kind, Severity
from .weight_findings import weighers, weight_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .asked_records import Asked, AskedLimit, AskedWeight
    from .audited_host import Host
    from .findings import Evidence

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

#: Docker prints at least so much of an identifier.
SHORTEST_ID = 12

#: The kernel follows no more symbolic links of one path.
MOST_LINKS = 40


class Place(NamedTuple):
    """What a device that was asked for is: one of the host, no disk, or nobody can tell."""

    device: str
    no_disk: bool = False


def of_asked(host: Host) -> Iterator[Finding]:
    """Yield every way in which the kernel's files differ from what was asked."""
    for one in host.asked:
        name = f"{one.source}:{one.name}"
        if one.unsupported:
            yield not_supported(one)
        if one.limits or one.weights or one.unknown_class:
            folders = folders_of(host, one)
            for folder in folders:
                yield from of_cgroup(host, one, folder)
            if not folders and not has_closer(host, one):
                yield Finding(
                    *(Kind.NOT_FOUND, NOTE, name, {"hints": [*one.hints, one.path]}),
                    "no cgroup here is its own, so it does not run, or elsewhere; start it, and "
                    "audit again",
                )


def not_supported(one: Asked) -> Finding:
    """Return that nobody reads a part of what was asked."""
    fields: Evidence = {"fields": list(one.unsupported)}
    if one.source == "systemd":
        return Finding(
            *(Kind.NOT_SUPPORTED, ERROR, f"systemd:{one.name}", fields),
            "systemd ignores these lines, and says so in its log; write a device (unless a weight "
            "is for all) and a figure that it reads: bytes and requests as 1048576 or 10M, times "
            "as 25ms, weights from 1 to 10000 (BlockIO: 10 to 1000)",
        )
    return Finding(
        *(Kind.NOT_SUPPORTED, WARNING, f"{one.source}:{one.name}", fields),
        "no runtime reads these fields, so nothing is limited by them; name a class of "
        "containerd's or CRI-O's block I/O configuration in the annotation "
        "blockio.resources.beta.kubernetes.io/pod",
    )


def folders_of(host: Host, one: Asked) -> list[pathlib.Path]:
    """Return the cgroups that something was asked for: of a template, all without a closer unit."""
    if not stands_for_many(one):
        folder = folder_of(host, one)
        return [folder] if folder is not None else []
    fitting = [folder for folder in host.groups if closest(host, folder) == one.hints[0]]
    # systemd's own units lie in slices, and not in a container.
    return [
        folder
        for folder in fitting
        if all(parent.endswith(".slice") for parent in host.subject(folder).split("/")[:-1])
    ]


def stands_for_many(one: Asked) -> bool:
    """Tell whether something was asked for all units that fit a pattern."""
    return one.source == "systemd" and any("*" in hint for hint in one.hints)


def has_closer(host: Host, one: Asked) -> bool:
    """Tell whether a unit was asked for that a template, too, was asked for."""
    names = [other.hints[0] for other in host.asked if other.source == "systemd" and other != one]
    return stands_for_many(one) and bool(fnmatch.filter(names, one.hints[0]))


def closest(host: Host, folder: pathlib.Path) -> str:
    """Return the name or pattern of a unit that fits a cgroup most closely, of those asked for."""
    hints = [hint for one in host.asked if one.source == "systemd" for hint in one.hints]
    fitting = [hint for hint in hints if fnmatch.fnmatchcase(folder.name, hint)]
    return max(fitting, key=lambda hint: ("*" not in hint, len(hint)), default="")


def folder_of(host: Host, one: Asked) -> pathlib.Path | None:
    """Return the cgroup that something was asked for: by its path, its name, or a process in it."""
    root = host.hierarchy.root
    if one.path.strip("/") and (root / one.path.lstrip("/")).is_dir():
        known = root / one.path.lstrip("/")
        # podman names the cgroup that crun makes inside, and the limit may be on either.
        inside = known.name == "container" and one.source == "podman"
        return known.parent if inside else known
    fitting = [
        folder
        for folder in host.groups
        if any(named(folder.name, hint) for hint in one.hints if hint)
    ]
    if fitting:
        return min(fitting, key=lambda folder: len(folder.parts))
    text = raw_text_of(host.topology.proc / str(one.process) / "cgroup") if one.process else ""
    folder = host.hierarchy.path(text)
    return folder if folder is not None and folder != root and folder.is_dir() else None


def named(folder: str, hint: str) -> bool:
    """Tell whether a cgroup's name is a unit's, or has a container's identifier in it.

    >>> named("docker-0123456789ab.scope", "0123456789ab"), named("data.service", "a.service")
    (True, False)
    """
    has_it = len(hint) >= SHORTEST_ID and hint in folder and not hint.endswith(".service")
    return folder == hint or (has_it and "conmon" not in folder)


def of_cgroup(host: Host, one: Asked, folder: pathlib.Path) -> Iterator[Finding]:
    """Yield how a cgroup differs from what was asked for it."""
    if host.hierarchy.version == 2 and not has_io(host, folder):
        yield not_delegated(host, one, folder)
        return
    if one.unknown_class:
        yield from without_class(host, one, folder)
    one = units.specified(one, folder.name)
    given = [limit.device for limit in one.limits] + [weight.device for weight in one.weights]
    places = {device: place_of(host, one.source, device) for device in given}
    for device, place in places.items():
        if device and not expanded(host, device, place):
            yield nowhere(host, one, folder, device, place)
    for (disk, _), limits in by_disk(host, one, folder, places).items():
        yield from of_disk(host, one, folder, disk, limits)
    for weight in one.weights:
        yield from of_weight(host, one, folder, weight, places[weight.device])


def by_disk(
    host: Host, one: Asked, folder: pathlib.Path, places: Mapping[str, Place]
) -> dict[tuple[str, str], list[AskedLimit]]:
    """Return the limits asked for each disk, by disk and key, in order."""
    found: dict[tuple[str, str], list[AskedLimit]] = {}
    for asked in one.limits:
        for device in expanded(host, asked.device, places[asked.device]):
            # A volume has a limit of its own, or systemd made it one of the disk below.
            below = host.devices.chain(host.devices.whole(device))
            below = below if one.source == "systemd" else below[:1]
            holds = (name for name in below if holds_on(host, folder, name, asked.key) is not None)
            found.setdefault((next(holds, below[0]), asked.key), []).append(
                asked._replace(device=device)
            )
    return found


def is_asked(host: Host, folder: pathlib.Path, disk: str, key: str, value: int | None) -> bool:
    """Tell whether this is the limit that somebody asked of a disk for a cgroup."""
    for one in host.asked:
        if folder in folders_of(host, one):
            own = units.specified(one, folder.name)
            places = {
                limit.device: place_of(host, one.source, limit.device) for limit in own.limits
            }
            limits = by_disk(host, own, folder, places).get((disk, key))
            if limits and limits[-1].value == value:
                return True
    return False


def has_io(host: Host, folder: pathlib.Path) -> bool:
    """Tell whether a cgroup has the io controller, by what it has, or by the files that come so."""
    controllers = host.controllers(folder)
    if controllers is None:
        return (folder / "io.max").exists() or any(folder.glob("io.*weight"))
    return "io" in controllers or bool(text_of(folder / "io.max"))


def not_delegated(host: Host, one: Asked, folder: pathlib.Path) -> Finding:
    """Return that a cgroup has no io, and which one above does not pass it on."""
    above = [path for path in folder.parents if path.is_relative_to(host.hierarchy.root)]
    without = [
        path
        for path in above
        if (path / "cgroup.subtree_control").exists()
        and "io" not in text_of(path / "cgroup.subtree_control").split()
    ]
    first = host.subject(without[-1] if without else folder.parent)
    return Finding(
        *(Kind.NOT_DELEGATED, ERROR, host.subject(folder)),
        {"asked_by": one.source, "not_passed_on_by": first},
        f"{one.source} was asked to limit or weigh it, but it has no io controller, since {first} "
        "does not pass io on; give the unit above Delegate=io (rootless: user@.service), or echo "
        "+io > cgroup.subtree_control there",
    )


def without_class(host: Host, one: Asked, folder: pathlib.Path) -> Iterator[Finding]:
    """Yield that a class was asked for, and the cgroup has no limit or weight at all."""
    kinds = weighers(host.hierarchy.version).items()
    weights = [(weight_on(folder, file), kind.default) for file, kind in kinds]
    if not host.limits(folder) and all(weight in (None, plain) for weight, plain in weights):
        yield Finding(
            *(Kind.DROPPED, WARNING, host.subject(folder)),
            {"asked_by": one.source, "class": one.unknown_class},
            f"its annotation names the class {one.unknown_class}, and its files hold no limit or "
            "weight; give containerd or CRI-O a block I/O configuration with this class "
            "(blockio_config_file), and the audit the same as JSON with --asked",
        )


def place_of(host: Host, source: str, text: str) -> Place:
    """Return the device that a number, a path to a device, or another path names."""
    if number := re.fullmatch(r"(?:/dev/block/)?(\d+:\d+)", text):
        name = host.devices.names.get(number[1], "")
        return Place(name, not name and bool(host.devices.names))
    if not text.startswith("/") or "%" in text:  # a specifier that only systemd can replace
        return Place("")
    if not text.startswith("/dev/"):
        text = followed(host.root, text)
    if not text.startswith("/dev/"):
        if source != "systemd":  # which alone looks for the disk below a file
            return Place("", True)
        mount = holding(host.mounts(), text)
        if mount is None:
            return Place("")
        device = host.device(mount)
        # Without a block device, a file system has a number of its own; btrfs has it, too.
        own = mount.number.startswith("0:") and not mount.source.startswith("/dev/")
        return Place(device, own and not device and mount.kind != "overlay")
    return named_in_dev(host, text)


def named_in_dev(host: Host, text: str) -> Place:
    """Return the device that a path below /dev names: a node, a volume, or a link to one."""
    devices = host.devices
    known = bool(devices.names)  # without any, only what never is a disk can be told
    path = host.root / text.lstrip("/")
    name = text[len("/dev/") :]
    parts = name.split("/")
    volume = "-".join(part.replace("-", "--") for part in parts)  # of /dev/GROUP/VOLUME
    for given in (name, "!".join(parts), os.path.basename(link_of(path))):
        if devices.known(given):
            return Place(given)
    if mapped := devices.mapped(parts[-1] if parts[0] == "mapper" else volume):
        return Place(mapped)
    try:
        status = path.stat()
    except OSError:
        # A plain name is the kernel's own: no such disk. Another is a link, made elsewhere.
        plain = "/" not in name and not any(c in name for c in "*?[")
        return Place("", plain and (known or name in MEMORY.values()))
    number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    blocks = stat.S_ISBLK(status.st_mode)
    linked = path.resolve().name  # in a copy, where only links are left
    found = devices.names.get(number) if blocks else linked if linked in devices.paths else None
    return Place(found or "", not found and (stat.S_ISCHR(status.st_mode) or "/" not in name))


def followed(root: pathlib.Path, path: str) -> str:
    """Return where a path leads by its symbolic links; in a copy, these stay below its root."""
    at, left, links = "/", path.split("/"), 0
    while left:
        step = os.path.normpath(os.path.join(at, left.pop(0)))
        link = link_of(root / step.lstrip("/"))
        if link and links < MOST_LINKS:
            links += 1
            left = [*link.split("/"), *left]
            step = "/" if link.startswith("/") else os.path.dirname(step)
        at = step
    return at


def expanded(host: Host, text: str, place: Place) -> Sequence[str]:
    """Return the devices that a path names; a class of a runtime may have a pattern of disks."""
    if not any(star in text for star in "*?["):
        return [place.device] if place.device else []
    names = {host.devices.whole(name) for name in host.devices.names.values()}
    fitting = {one for one in names if fnmatch.fnmatchcase(f"/dev/{one}", text)}
    if text.startswith("/dev/"):  # also by links, such as those of /dev/disk
        found = glob.glob(glob.escape(str(host.root)) + text)
        paths = (f"/{os.path.relpath(path, host.root)}" for path in found)
        fitting.update(named_in_dev(host, path).device for path in paths)
    return sorted(fitting & names)


def nowhere(host: Host, one: Asked, folder: pathlib.Path, device: str, place: Place) -> Finding:
    """Return that a device that was asked for is no disk, or that nobody can tell which."""
    found = {"asked_by": one.source, "asked_device": device}
    if place.no_disk:
        return Finding(
            *(Kind.NO_DISK, ERROR, host.subject(folder), found),
            f"{one.source} was asked to limit {device}, which is no disk here; name the disk that "
            "lsblk shows below its files",
        )
    return Finding(
        *(Kind.UNRESOLVED, NOTE, host.subject(folder), found),
        f"which disk {device} is cannot be told from here; name the kernel's own, as /dev/sda",
    )


def of_disk(
    host: Host, one: Asked, folder: pathlib.Path, disk: str, limits: Sequence[AskedLimit]
) -> Iterator[Finding]:
    """Yield how a disk's limit differs from what was asked for it, and for its partitions."""
    last = limits[-1]
    held = holds_on(host, folder, disk, last.key)
    devices = sorted({limit.device for limit in limits})
    figures: Evidence = {"key": last.key, "asked": last.value, "disk": disk}
    found: Evidence = {"asked_by": one.source, **figures}
    subject = host.subject(folder)
    if held is not None and len(devices) > 1:
        asked = [f"{limit.device}={limit.value}" for limit in limits]
        yield Finding(
            *(Kind.PARTITIONS_MERGED, ERROR, subject),
            {**found, "asked": asked, "held": held},
            f"limits were asked for {' and '.join(devices)}, which are one disk to the kernel or "
            f"to systemd, so {disk} has one limit of {held} for all of them; ask for one of {disk}",
        )
    elif held is None and (others := rivals(host, one, folder, limits)):
        yield Finding(
            *(Kind.PARTITIONS_MERGED, ERROR, subject),
            {**found, "asked_devices": [*devices, *others]},
            f"its {last.key} was asked for {' and '.join(devices)}, and other limits for "
            f"{' and '.join(others)}; these are one disk to systemd, and what it writes last takes "
            "the others away; ask for all limits of one of them",
        )
    elif held is None and devices != [disk] and one.source != "systemd":  # which asks for disks
        for part in (limit for limit in limits if limit.device != disk):
            yield Finding(
                *(Kind.PARTITION, ERROR, subject),
                {**found, "asked": part.value, "partition": part.device},
                f"its limit was asked for the partition {part.device}, and the kernel takes limits "
                f"of whole disks alone; ask for {disk} instead",
            )
    elif held is None:
        yield Finding(
            *(Kind.DROPPED, ERROR, subject, found),
            f"{one.source} was asked for {last.key}={last.value} on {disk}, and the kernel holds "
            f"no such limit; {why_dropped(host, one, folder, last.key)}",
        )
    elif held != last.value:
        yield Finding(
            # A lower one limits, and somebody may have meant it: a regulator does.
            *(Kind.DIFFERS, ERROR if held > last.value else WARNING, subject),
            {**found, "held": held},
            f"{one.source} was asked for {last.key}={last.value} on {disk}, and the kernel holds "
            f"{held}; set it again, and see who else sets it",
        )


def why_dropped(host: Host, one: Asked, folder: pathlib.Path, key: str) -> str:
    """Return why a cgroup may hold no limit that was asked for, and what to do."""
    if key == LATENCY and not (folder / "io.latency").exists():
        return (
            "there is no io.latency, which needs cgroup v2 and a kernel with "
            "CONFIG_BLK_CGROUP_IOLATENCY: boot one, or give weights and use io.cost"
        )
    if host.hierarchy.version == 1 and one.source == "systemd" and "iops" in key:
        return (
            f"systemd sets no IOPS with cgroup v1: boot with cgroup v2, or write to {V1_FILES[key]}"
        )
    if host.hierarchy.version == 2 and not (folder / "io.max").exists():
        return "there is no io.max, which needs a kernel with CONFIG_BLK_DEV_THROTTLING: boot one"
    if one.source == "systemd":
        return (
            "systemd has not set it: run systemctl daemon-reload if its files are newer, or set it "
            "again (systemctl set-property --runtime UNIT), and see systemd's log"
        )
    return "the runtime dropped it: see its log, or set it again while the container runs"


def rivals(host: Host, one: Asked, folder: pathlib.Path, limits: Sequence[AskedLimit]) -> list[str]:
    """Return the devices whose limits took these away: systemd writes all of a disk for each."""
    if one.source != "systemd" or host.hierarchy.version == 1 or limits[-1].key == LATENCY:
        return []
    own = {limit.device for limit in limits}
    disks = {disk for name in own for disk in host.devices.bottom(name)}
    if not {limit.number for limit in host.limits(folder)} & set(map(host.devices.number, disks)):
        return []
    paths = [limit.device for limit in one.limits if limit.key != LATENCY]
    names = {
        name for path in paths for name in expanded(host, path, place_of(host, one.source, path))
    }
    return sorted(name for name in names - own if disks & {*host.devices.bottom(name)})


def holds_on(host: Host, folder: pathlib.Path, disk: str, key: str) -> int | None:
    """Return the limit that a cgroup holds for a disk, or the goal of its latency.

    crun makes a cgroup inside.
    """
    number = host.devices.number(disk)
    if key == LATENCY:
        goal = dict(lines_of(folder / "io.latency")).get(number, "").partition("target=")[2]
        return int(goal) if goal.isdigit() else None
    for place in (folder, folder / "container"):
        for limit in host.limits(place) if place.is_dir() else []:
            if limit.number == number and key in limit.values:
                return limit.values[key]
    return None


def of_weight(
    host: Host, one: Asked, folder: pathlib.Path, asked: AskedWeight, place: Place
) -> Iterator[Finding]:
    """Yield a weight that is in none of the files."""
    if asked.device and not place.device:
        return  # told already
    names = host.devices.chain(host.devices.whole(place.device))
    # systemd weighs the disk below a volume, and writes no weight of the volume itself.
    names = names if one.source == "systemd" else names[:1]
    numbers = [host.devices.number(name) for name in names if name]
    files = weighers(host.hierarchy.version)
    held = {
        file: weight
        for file in files
        for inside in (folder, folder / "container")
        if (weight := weight_on(inside, file, *numbers)) is not None
    }
    # systemd's defaults need no file.
    plain = one.source == "systemd" and asked.value == (500 if asked.blkio else 100)
    if asked.accepted(one.source, host.hierarchy.version) & set(held.values()) or (
        plain and not held
    ):
        return
    subject = host.subject(folder)
    found: Evidence = {"asked_by": one.source, "asked": asked.value, **held}
    if held:
        values = " and ".join(f"{value} ({file})" for file, value in held.items())
        yield Finding(
            *(Kind.WEIGHT_DROPPED, ERROR, subject, found),
            f"{one.source} was asked for the weight {asked.value}, and the files hold {values}; "
            "set it again, or write it to the file",
        )
    elif host.hierarchy.version == 1:
        yield Finding(
            *(Kind.WEIGHT_WITHOUT_CFQ, ERROR, subject, found),
            f"{one.source} was asked for the weight {asked.value}, and there is no blkio.weight, "
            "since CFQ went with Linux 5.0; select bfq and set blkio.bfq.weight",
        )
    else:
        yield Finding(
            *(Kind.WEIGHT_DROPPED, ERROR, subject, found),
            f"{one.source} was asked for the weight {asked.value}, and there is no file for it; "
            "load bfq, or boot a kernel with CONFIG_BLK_CGROUP_IOCOST",
        )
