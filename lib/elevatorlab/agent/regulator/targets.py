"""Which containers are watched: the cgroups that fit a pattern, or what another source has."""

from __future__ import annotations

import collections
import fnmatch
import glob
import os
import pathlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Set
    from typing import Protocol

    from ..groups.hierarchies import Hierarchy
    from .topology import Topology


class Target(NamedTuple):
    """A container: its cgroup, and the block devices (or partitions) that its I/O goes to.

    `own` tells that nobody else uses those devices, so that their counters are its own.
    """

    key: str
    name: str
    sla_class: str
    folder: pathlib.Path
    devices: tuple[str, ...]
    own: bool


if TYPE_CHECKING:

    class Source(Protocol):
        """Where the containers come from."""

        def targets(self) -> tuple[list[Target], list[str]]:
            """Return the containers that are there now, and what there is to report."""
            ...

        def close(self) -> None:
            """Let go of what is open."""
            ...


def class_of(name: str, classes: Sequence[str]) -> str:
    """Return the first class whose pattern a container's name fits.

    >>> class_of("db-1", ["web", "db*"])
    'db*'
    """
    return next((known for known in classes if fnmatch.fnmatchcase(name, known)), "")


def mark_own(targets: Sequence[Target], common: Set[str]) -> list[Target]:
    """Return `targets` with `own` False where devices are shared or in `common`."""
    users: dict[str, int] = {}
    for target in targets:
        for device in target.devices:
            users[device] = users.get(device, 0) + 1
    return [
        target._replace(
            own=all(users[device] == 1 and device not in common for device in target.devices)
        )
        for target in targets
    ]


class Pattern(NamedTuple):
    """Cgroups to watch: a path below the root, or one with ``*``, ``?`` and ``[]``.

    A star stands for any part of one level's name, and ``**`` for any number of levels. Without
    an `sla_class` a cgroup's name decides (see `class_of`).
    """

    path: str
    devices: tuple[str, ...]
    sla_class: str | None = None


def place(path: str, root: pathlib.Path) -> pathlib.Path:
    """Return where a cgroup is that is given by its path below the root, or in full."""
    folder = pathlib.Path(path)
    return folder if folder.is_relative_to(root) else root / path.lstrip("/")


def fitting(path: str, root: pathlib.Path) -> list[str]:
    """Return the cgroups that fit a path with stars: text, which is quicker for a thousand."""
    below = str(place(path, root).relative_to(root))
    # The last slash: no files.
    found = glob.glob(f"{glob.escape(str(root))}/{below}/", recursive=True)
    folders = [os.path.normpath(folder) for folder in found]
    return [folder for folder in folders if folder != str(root)]


def outermost(folders: Iterable[str]) -> list[str]:
    """Return the folders that lie in none of the others.

    >>> outermost(["a/b", "a", "a-b", "c/d"])
    ['a-b', 'a', 'c/d']
    """
    found: list[str] = []
    for folder in sorted(folders, key=lambda folder: f"{folder}/"):
        if not (found and folder.startswith(f"{found[-1]}/")):
            found.append(folder)
    return found


class NamedCgroups:
    """The cgroups that fit an operator's patterns; looked for again each time.

    The first pattern that fits a cgroup decides on its class and devices. Under cgroup v2 a
    cgroup's limit and counters hold for those below it, too, so that these are left out.
    """

    def __init__(
        self,
        patterns: Sequence[Pattern],
        classes: Sequence[str],
        hierarchy: Hierarchy,
        topology: Topology,
    ) -> None:
        self.patterns = patterns
        self.classes = classes
        self.hierarchy = hierarchy
        for pattern in patterns:
            for name in pattern.devices:
                topology.number(name)
        self.common = topology.of_the_host()
        self._told: set[str] = set()
        self._seen: dict[str, Target] = {}

    def targets(self) -> tuple[list[Target], list[str]]:
        """Return the cgroups that exist now, and what there is to report, each once."""
        chosen_by: dict[str, Pattern] = {}
        notes = []
        for pattern in self.patterns:
            folders = fitting(pattern.path, self.hierarchy.root)
            if not folders:
                notes.append(f"no cgroup fits {pattern.path} now")
            for folder in folders:
                chosen_by.setdefault(folder, pattern)
        chosen = outermost(chosen_by) if self.hierarchy.version == 2 else sorted(chosen_by)
        found = []
        names = collections.Counter(os.path.basename(folder) for folder in chosen)
        for folder in chosen:
            try:
                inode = os.stat(f"{folder}/{self.hierarchy.needed}").st_ino
            except OSError:
                notes.append(f"cgroup {folder} is left alone: it has no {self.hierarchy.needed}")
                continue
            name = os.path.basename(folder)
            if names[name] > 1:
                name = os.path.relpath(folder, self.hierarchy.root)
            found.append(self._target(folder, inode, name, chosen_by[folder]))
        self._seen = {target.key: target for target in found}
        fresh = [note for note in notes if note not in self._told]
        self._told = set(notes)
        return mark_own(found, self.common), fresh

    def _target(self, folder: str, inode: int, name: str, pattern: Pattern) -> Target:
        """Return a cgroup as a target: one that comes back under its old name is another.

        So is one whose file of limits comes back, since the limits are gone with the old file.
        """
        key = f"{folder}:{inode}"
        seen = self._seen.get(key)
        if seen and (seen.name, seen.devices) == (name, pattern.devices):
            return seen  # it takes longer to make a thousand paths than to look at the files
        sla_class = pattern.sla_class
        if sla_class is None:
            sla_class = class_of(os.path.basename(folder), self.classes)
        return Target(key, name, sla_class, pathlib.Path(folder), pattern.devices, False)

    def close(self) -> None:
        """Nothing is open."""
