"""Which containers are watched: found through the Docker engine, or cgroups that fit a pattern."""

from __future__ import annotations

import collections
import contextlib
import fnmatch
import glob
import os
import pathlib
from typing import TYPE_CHECKING, NamedTuple

from ..errors import Refused
from .engine import EngineGone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence, Set
    from typing import Any, Protocol

    from ..groups.hierarchies import Hierarchy
    from .engine import Engine
    from .topology import Topology

#: The label of a container that names its class.
CLASS_LABEL = "elevatorlab.class"


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


def class_of(name: str, label: str | None, classes: Sequence[str]) -> str:
    """Return the container's class: its label, or the first class whose pattern its name fits.

    >>> class_of("db-1", None, ["web", "db*"])
    'db*'
    """
    if label:
        return label
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


def named(texts: Iterable[str], devices: Sequence[str]) -> list[Pattern]:
    """Return the patterns that an operator gives as ``PATH`` or ``PATH=DEVICE``."""
    found = []
    for text in texts:
        path, _, device = text.partition("=")
        if not (device or devices):
            raise Refused(
                f"expected a block device for cgroup {path}; found none; add --device NAME, "
                f"or write --cgroup {path}=NAME"
            )
        found.append(Pattern(path, (device,) if device else tuple(devices)))
    return found


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


def check_paths(patterns: Iterable[Pattern], hierarchy: Hierarchy) -> None:
    """Refuse a path without a star that is no cgroup that can be limited."""
    for pattern in patterns:
        if glob.has_magic(pattern.path):
            continue
        folder = place(pattern.path, hierarchy.root)
        if not folder.is_dir():
            raise Refused(
                f"expected the cgroup {folder}; found none; give its path below "
                f"{hierarchy.root}, or --container NAME for a Docker container"
            )
        if not (folder / hierarchy.needed).exists():
            raise Refused(
                f"expected {hierarchy.needed} in {folder}; found none; turn the io controller "
                f"on for it: echo +io > {folder.parent}/cgroup.subtree_control"
            )


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
            if not os.path.exists(f"{folder}/{self.hierarchy.needed}"):
                notes.append(f"cgroup {folder} is left alone: it has no {self.hierarchy.needed}")
                continue
            name = os.path.basename(folder)
            if names[name] > 1:
                name = os.path.relpath(folder, self.hierarchy.root)
            with contextlib.suppress(OSError):  # it has just ended
                found.append(self._target(folder, name, chosen_by[folder]))
        fresh = [note for note in notes if note not in self._told]
        self._told = set(notes)
        return mark_own(found, self.common), fresh

    def _target(self, folder: str, name: str, pattern: Pattern) -> Target:
        """Return a cgroup as a target: one that comes back under its old name is another."""
        key = f"{folder}:{os.stat(folder).st_ino}"
        sla_class = pattern.sla_class
        if sla_class is None:
            sla_class = class_of(os.path.basename(folder), None, self.classes)
        return Target(key, name, sla_class, pathlib.Path(folder), pattern.devices, False)

    def close(self) -> None:
        """Nothing is open."""


class EngineContainers:
    """The engine's running containers, all or those named; asked again when they change."""

    def __init__(
        self,
        engine: Engine,
        names: Collection[str],
        devices: Sequence[str],
        classes: Sequence[str],
        hierarchy: Hierarchy,
        topology: Topology,
        proc: str | pathlib.Path = "/proc",
    ) -> None:
        self.engine = engine
        self.names = names
        self.devices = devices
        self.classes = classes
        self.hierarchy = hierarchy
        self.topology = topology
        self.proc = pathlib.Path(proc)
        self._known: dict[str, Target | None] = {}
        self._targets: list[Target] = []
        self._away = False
        for name in devices:
            topology.number(name)
        self.common = topology.of_the_host()

    def targets(self) -> tuple[list[Target], list[str]]:
        """Return the running containers, and what there is to report.

        While the engine does not answer the containers known last are kept: they may well
        go on without it. One that ended meanwhile has no cgroup, and the monitor drops it.
        """
        try:
            if not self.engine.changed():
                return self._targets, []
            self._targets, notes = self._ask()
        except EngineGone as problem:
            first, self._away = not self._away, True
            return self._targets, [f"{problem}; going on with the containers known"] * first
        if self._away:
            self._away = False
            notes.append("the Docker engine answers again")
        return self._targets, notes

    def _ask(self) -> tuple[list[Target], list[str]]:
        found: dict[str, Target | None] = {}
        notes: list[str] = []
        for container in self.engine.running():
            if container in self._known:
                found[container] = self._known[container]
                continue
            try:
                found[container], note = self._describe(self.engine.inspect(container))
            except (KeyError, FileNotFoundError, ProcessLookupError):
                continue  # ended between the questions
            notes += [note] if note else []
        self._known = found
        return mark_own([target for target in found.values() if target], self.common), notes

    def _describe(self, container: Mapping[str, Any]) -> tuple[Target | None, str | None]:
        """Return (target or None, note) for the engine's description of a container."""
        name = container["Name"].lstrip("/")
        if self.names and name not in self.names and container["Id"][:12] not in self.names:
            return None, None
        text = (self.proc / str(container["State"]["Pid"]) / "cgroup").read_text()
        folder = self.hierarchy.path(text)
        if folder == self.hierarchy.root:  # the kernel moves a process there that has ended
            raise ProcessLookupError(name)
        if folder is None or not (folder / self.hierarchy.needed).exists():
            return None, (
                f"container {name} is left alone: expected {self.hierarchy.needed} in its cgroup "
                f"{folder}; turn the io controller on for it"
            )
        devices = self.devices or self._devices(container)
        if not devices:
            return None, (
                f"container {name} is left alone: no block device is known for it; start the "
                "regulator with --device NAME"
            )
        label = (container["Config"].get("Labels") or {}).get(CLASS_LABEL)
        sla_class = class_of(name, label, self.classes)
        return Target(container["Id"], name, sla_class, folder, tuple(devices), False), None

    def _devices(self, container: Mapping[str, Any]) -> list[str]:
        """Return the devices given to a container, or those under its volumes, or its root's."""
        given = [entry["PathOnHost"] for entry in container["HostConfig"].get("Devices") or []]
        volumes = [mount["Source"] for mount in container.get("Mounts", []) if mount.get("Source")]
        layer = (container.get("GraphDriver", {}).get("Data") or {}).get("UpperDir")
        names = self._names(given) or self._names(volumes) - self.common
        return sorted(names or self._names([layer] if layer else []))

    def _names(self, paths: Iterable[str]) -> set[str]:
        names: set[str] = set()
        for path in paths:
            try:
                device = self.topology.device_of(path)
            except OSError:
                continue
            if device:
                names.add(device)
        return names

    def close(self) -> None:
        """Close the engine's event stream."""
        self.engine.close()
