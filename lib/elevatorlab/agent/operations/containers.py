"""The containers of the Docker engine, as what the regulator watches."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

from ..regulator.targets import Target, class_of, mark_own
from .audited_host import mounts_of
from .engine import EngineGone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from ..groups.hierarchies import Hierarchy
    from ..regulator.topology import Topology
    from .engine import Engine

#: The label of a container that names its class.
CLASS_LABEL = "elevatorlab.class"


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
        sla_class = label or class_of(name, self.classes)
        return Target(container["Id"], name, sla_class, folder, tuple(devices), False), None

    def _devices(self, container: Mapping[str, Any]) -> list[str]:
        """Return the devices given to a container, or those under its volumes, or its root's."""
        given = [entry["PathOnHost"] for entry in container["HostConfig"].get("Devices") or []]
        volumes = [mount["Source"] for mount in container.get("Mounts", []) if mount.get("Source")]
        names = self._names(given) or self._names(volumes) - self.common
        return sorted(names or self._names(self._layers(container)))

    def _layers(self, container: Mapping[str, Any]) -> list[str]:
        """Return the folder that a container's own files are written to, if anybody says so.

        With the image store of containerd, Docker's default since version 29, only the kernel does.
        """
        told = ((container.get("GraphDriver") or {}).get("Data") or {}).get("UpperDir")
        seen = mounts_of(self.proc / str(container["State"]["Pid"]) / "mountinfo")
        options = [
            one.partition("=") for mount in seen if mount.point == "/" for one in mount.options
        ]
        return [told] if told else [value for name, _, value in options if name == "upperdir"]

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
