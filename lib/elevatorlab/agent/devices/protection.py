"""Nothing of the user's is ever overwritten: what is checked before a disk is written to.

A device that the agent made itself needs no permission. A disk of the machine is used only
when the trial names it by its stable id and says ``destroy: true``; and even then not while
anything uses it.
"""

from __future__ import annotations

import errno
import os
import pathlib
import subprocess
from typing import TYPE_CHECKING

from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Iterator

BY_ID = pathlib.Path("/dev/disk/by-id")
BLOCK = pathlib.Path("/sys/class/block")
MOUNT_TABLES = ("/proc/self/mountinfo", "/proc/1/mountinfo")


class DiskRefused(AgentError):
    """A disk that must not be written to."""


def resolve(stable_id: str, by_id: pathlib.Path = BY_ID) -> str:
    """Return the kernel's present name of the disk with this id.

    The id is a name below ``/dev/disk/by-id``, or a serial number.
    """
    link = by_id / stable_id
    disks = [disk for disk in sorted(BLOCK.glob("*")) if not _is_partition(disk.name)]
    if link.is_symlink():
        names = [disk.name for disk in disks if disk.name == link.resolve().name]
    else:
        # Where the kernel shows no serial number, udev has put it behind the bus and the model.
        named = {path.resolve().name for path in by_id.glob(f"*_{stable_id}")}
        names = [d.name for d in disks if _serial(d) == stable_id or d.name in named]
    if len(names) > 1:
        raise DiskRefused(
            f"{' and '.join(names)} have the same id {stable_id!r}; expected one disk of that id. "
            f"Name it by another one, below {by_id}"
        )
    if not names:
        known = sorted(path.name for path in by_id.glob("*")) if by_id.exists() else []
        raise DiskRefused(
            f"no whole disk has the id or serial {stable_id!r}; expected one of "
            f"{', '.join(known) or f'the names below {by_id} (there are none)'}"
        )
    return names[0]


def _serial(disk: pathlib.Path) -> str | None:
    for file in (disk / "serial", disk / "device/serial"):
        if file.exists():
            return file.read_text().strip()
    return None


def check(name: str, destroy: bool) -> str:
    """Return the identity of the disk that the kernel calls `name`, if it may be written to.

    The identity tells this disk from another that gets its name later. `destroy`: what is on it may
    be lost.
    """
    for reason in in_use(name):
        raise DiskRefused(
            f"/dev/{name} {reason}; expected a disk that nothing uses. Name another one"
        )
    if not destroy:
        content = signature(name) or "no signature, but is not a disk made for the trial"
        raise DiskRefused(
            f"/dev/{name} has {content}; expected the trial to say destroy: true before "
            "anything on it is overwritten"
        )
    return identity(name)


def in_use(name: str) -> Iterator[str]:
    """Yield what uses the disk or any part of it."""
    whole = _whole_disk(name)
    mounted, swap = _mounted(), _swap()
    for relative in sorted({name, whole, *_partitions(whole)}):
        where = "it" if relative == name else f"/dev/{relative}, on the same disk,"
        if "/" in mounted.get(relative, ()):
            yield f"is refused because {where} carries the system's root"
        elif relative in mounted:
            yield f"is refused because {where} is mounted on {', '.join(mounted[relative])}"
        if relative in swap:
            yield f"is refused because {where} is swap space"
        holders = BLOCK / relative / "holders"
        if holders.exists() and (held := sorted(path.name for path in holders.iterdir())):
            yield f"is refused because {where} is held by {', '.join(held)}"
        if loops := _loops_over(relative):
            yield f"is refused because {where} is below {', '.join(loops)}"
    if _claimed(name):
        yield "is refused because the kernel says that it is busy (mounted for other processes?)"


def signature(name: str) -> str | None:
    """Return what blkid finds on the disk (a file system, a partition table), or None."""
    run = subprocess.run(
        ["blkid", "--probe", "--output", "export", f"/dev/{name}"], capture_output=True, text=True
    )
    found = dict(line.split("=", 1) for line in run.stdout.splitlines() if "=" in line)
    if "PTTYPE" in found:
        return f"a partition table ({found['PTTYPE']})"
    if "TYPE" in found:
        return f"a file system or the like ({found['TYPE']})"
    return None


def identity(name: str) -> str:
    """Return what tells this disk from another one that gets the same name later."""
    folder = BLOCK / name
    parts = [(folder / "dev").read_text().strip(), (folder / "size").read_text().strip()]
    if (folder / "diskseq").exists():
        parts.append((folder / "diskseq").read_text().strip())
    return "/".join([*parts, _serial(folder) or ""])


def still_the_same(name: str, stable_id: str, before: str) -> None:
    """Make sure, right before the first write, that the name has not gone to another disk."""
    now = resolve(stable_id)
    if now != name or identity(name) != before:
        raise DiskRefused(
            f"the disk {stable_id} was /dev/{name} and is /dev/{now} now, or was exchanged; "
            "expected it to stay. Nothing was written; start again"
        )


def _is_partition(name: str) -> bool:
    return (BLOCK / name / "partition").exists()


def _whole_disk(name: str) -> str:
    return (BLOCK / name).resolve().parent.name if _is_partition(name) else name


def _partitions(disk: str) -> list[str]:
    return [path.parent.name for path in (BLOCK / disk).glob(f"{disk}*/partition")]


def _mounted() -> dict[str, list[str]]:
    """Return where each device is mounted, as this process and as the first process see it.

    In a container these are not the same. A btrfs has a number of its own, so the source counts
    as well.
    """
    places: dict[str, list[str]] = {}
    for file in MOUNT_TABLES:
        try:
            lines = pathlib.Path(file).read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            fields, _, source = line.partition(" - ")
            _, _, number, _, target, *_ = fields.split()
            device = pathlib.Path("/sys/dev/block", number)
            for name in {device.resolve().name} if device.exists() else _device(source.split()[1]):
                if target not in places.setdefault(name, []):
                    places[name].append(target)
    return places


def _swap() -> set[str]:
    lines = pathlib.Path("/proc/swaps").read_text().splitlines()
    return {name for line in lines for name in _device(line.split()[0])}


def _loops_over(disk: str) -> list[str]:
    """Return the loop devices over a disk; the kernel does not list them as its holders."""
    files = {file: file.read_text().strip() for file in BLOCK.glob("loop*/loop/backing_file")}
    return [file.parts[-3] for file, below in files.items() if disk in _device(below)]


def _claimed(name: str) -> bool:
    """Tell whether somebody has the disk for himself: a mount that is hidden from us, say."""
    try:
        os.close(os.open(f"/dev/{name}", os.O_RDONLY | os.O_EXCL))
    except OSError as problem:
        return problem.errno == errno.EBUSY
    return False


def _device(path: str) -> set[str]:
    return {pathlib.Path(path).resolve().name} if path.startswith("/dev/") else set()
