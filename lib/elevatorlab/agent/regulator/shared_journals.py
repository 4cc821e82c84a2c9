"""The journals that all who share a file system wait for, and what a cgroup adds to the wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from .topology import Topology

#: File systems whose journal waits for the data of files that grow, and the option that ends it.
ORDERED = {"ext3", "ext4"}
UNORDERED = "data=writeback"


class Mount(NamedTuple):
    """A mounted file system."""

    number: str
    point: str
    kind: str
    options: str


def shared_journals(topology: Topology, number: str) -> Iterator[Mount]:
    """Yield the file systems of a disk whose commits wait for the data of files that grew."""
    for mount in mounts(topology):
        device = topology.name(mount.number)
        same = device and number in (mount.number, topology.number(topology.whole(device)))
        if same and mount.kind in ORDERED and UNORDERED not in mount.options.split(","):
            yield mount


def waiting_bytes(folder: pathlib.Path) -> int:
    """Return what a cgroup has still to write; 0 where the memory controller is off."""
    counts = dict(lines_of(folder / "memory.stat"))
    return int(counts.get("file_dirty", 0)) + int(counts.get("file_writeback", 0))


def mounts(topology: Topology) -> list[Mount]:
    """Return the file systems that are mounted here, each at its first place."""
    found: dict[str, Mount] = {}
    for line in text_of(topology.proc / "self/mountinfo").splitlines():
        mount, _, source = line.partition(" - ")
        words = mount.split()
        kind, _, options = source.split(" ", 2)
        found.setdefault(words[2], Mount(words[2], words[4], kind, options))
    return list(found.values())


def lines_of(file: pathlib.Path) -> list[tuple[str, str]]:
    """Return each line's first word and the rest; nothing where there is no file."""
    split = (line.partition(" ") for line in text_of(file).splitlines())
    return [(first, rest) for first, _, rest in split if first]


def text_of(file: pathlib.Path) -> str:
    """Return what a file holds; nothing where it cannot be read."""
    try:
        return file.read_text().strip()
    except OSError:  # it is not there, has ended, is somebody else's, or has no such thing
        return ""
