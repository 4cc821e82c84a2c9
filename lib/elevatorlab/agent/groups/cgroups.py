"""A trial's control groups: made, limited, counted, emptied and removed."""

from __future__ import annotations

import errno
import functools
import os
import pathlib
import signal
import time
from typing import TYPE_CHECKING

from ..errors import AgentError
from ..lifecycle.journal import undoes
from .hierarchies import COUNTERS, LIMITS, V1, V2, line_of, pairs_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..lifecycle.context import Context
    from ..lifecycle.journal import Journal
    from ..lifecycle.proofs import Proofs
    from .hierarchies import Hierarchy, Reader

TOP = pathlib.Path("/sys/fs/cgroup")
ROOT_NAME = "elevatorlab"


def find(top: pathlib.Path = TOP) -> Tree:
    """Return a trial's tree in the hierarchy that this machine has with I/O in it."""
    for hierarchy in (V2(top), V1(top / "blkio")):
        if hierarchy.has_io():
            return Tree(hierarchy)
    raise AgentError(
        f"{top} has neither a cgroup v2 tree with the io controller nor a v1 tree blkio; "
        "expected one of them. Boot with systemd.unified_cgroup_hierarchy=1"
    )


def processes(path: pathlib.Path) -> list[int]:
    """Return the process ids of a cgroup and of all below it."""
    found: list[int] = []
    for folder, _, _ in os.walk(path):  # which says nothing of folders that are gone meanwhile
        try:
            found += map(int, pathlib.Path(folder, "cgroup.procs").read_text().split())
        except OSError:  # removed meanwhile
            continue
    return found


@undoes("kill_group")
def kill(path: str | pathlib.Path) -> None:
    """End every process of a cgroup and below, and wait until none is left."""
    path = pathlib.Path(path)
    if os.getpid() in processes(path):
        raise AgentError(
            f"expected a cgroup of the trial's own to end; found {path}, which the agent itself "
            "is in. Nothing was ended"
        )
    if (path / "cgroup.kill").exists():  # version 2: no process can be born meanwhile
        (path / "cgroup.kill").write_text("1")
    while path.exists() and (left := processes(path)):
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.01)  # what waits for the disk cannot be killed before it answers


@undoes("remove_cgroup")
def remove(path: str | pathlib.Path, times: int = 100) -> None:
    """Remove a cgroup and all below it, and whatever process came in since it was emptied.

    For a moment the kernel calls a cgroup busy whose last process has just ended.
    """
    for left in reversed(range(times)):
        try:
            for folder, _, _ in os.walk(path, topdown=False):
                os.rmdir(folder)
            return
        except OSError as problem:
            if problem.errno != errno.EBUSY or not left:
                raise
        kill(path)
        time.sleep(0.05)


class Tree:
    """A trial's cgroups, all below `root`, in the hierarchy of either version."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy
        self.number = hierarchy.version
        self.root = hierarchy.root / ROOT_NAME

    def prepare(self, journal: Journal) -> None:
        """Make the cgroup under which a trial's groups live, with the controllers they need."""
        if isinstance(self.hierarchy, V2):
            self._note_controllers(self.hierarchy, journal)
        journal.will("remove_cgroup", self.root)
        self.root.mkdir(exist_ok=True)
        if self.number == 2:
            for folder in (self.hierarchy.root, self.root):
                (folder / "cgroup.subtree_control").write_text("+io +memory")

    def _note_controllers(self, hierarchy: V2, journal: Journal) -> None:
        """Note which controllers are to be switched off again, if all that are needed are there."""
        missing = {"io", "memory"} - set(hierarchy.controllers())
        if missing:
            raise AgentError(
                f"this kernel's cgroup v2 lacks the controller(s) {', '.join(sorted(missing))}; "
                "expected io and memory"
            )
        switch = hierarchy.root / "cgroup.subtree_control"
        for controller in ("io", "memory"):
            if controller not in switch.read_text().split():
                journal.will("write", switch, f"-{controller}")

    def of_process(self, process: int) -> pathlib.Path:
        """Return the cgroup of a process that a container engine has put into one.

        The kernel moves a process that has ended to the root until its parent has waited for it.
        """
        ended = AgentError(
            f"process {process} has ended; expected it to run as long as the trial. Run it again"
        )
        try:
            text = pathlib.Path(f"/proc/{process}/cgroup").read_text()
        except OSError:
            raise ended from None
        path = self.hierarchy.path(text)
        if path is None:
            wanted = "cgroup v2" if self.number == 2 else "blkio cgroup"
            raise AgentError(f"process {process} is in no {wanted}; expected one")
        if path == self.hierarchy.root:
            raise ended
        return path

    def counters(self, path: pathlib.Path, number: str) -> dict[str, int]:
        """Return what a cgroup, and all below it, did on the device `number` (``major:minor``)."""
        counted = self.hierarchy.counters(path, below=True)
        return dict(zip(COUNTERS, counted.get(number, (0, 0, 0, 0))))

    def limit(
        self, path: pathlib.Path, limits: Mapping[str, Any], number: str, proofs: Proofs
    ) -> None:
        """Set the limits of a cgroup on a device and prove each with the kernel's own answer."""
        wanted = {name: limits[name] for name in LIMITS if limits.get(name)}
        for file, value, reader in self.hierarchy.knobs(path, number, wanted):
            proofs.set(file, value, read_as=_reading(number, reader))
        if limits.get("weight"):
            for file, value, reader in self.hierarchy.weights(path, limits["weight"]):
                proofs.set(file, value, read_as=reader)

    def prove(self, path: pathlib.Path, name: str, value: Any, number: str, proofs: Proofs) -> None:
        """Prove a limit that somebody else has set."""
        for file, written, reader in self.hierarchy.knobs(path, number, {name: value}):
            proofs.compare(file, written, _reading(number, reader)(file.read_text()))

    def account_cost(self, device: str, wanted: Mapping[str, Any], context: Context) -> None:
        """Switch the cost controller on for a device, with the trial's model of it."""
        if self.number == 1:
            raise AgentError(
                f"io_cost on {device}: expected cgroup version 2; found version 1, which has no "
                "cost controller. Boot with systemd.unified_cgroup_hierarchy=1, or leave io_cost "
                "out"
            )
        number = pathlib.Path("/sys/class/block", device, "dev").read_text().strip()
        context.journal.will("write", self.hierarchy.root / "io.cost.qos", f"{number} enable=0")
        parts = {
            "io.cost.model": {"ctrl": "user", "model": "linear", **wanted["model"]},
            "io.cost.qos": {
                "enable": 1,
                "ctrl": "user",
                **{key: _as_qos(key, value) for key, value in wanted["qos"].items()},
            },
        }
        for file, values in parts.items():
            text = " ".join(f"{key}={value}" for key, value in values.items())
            context.proofs.set(
                self.hierarchy.root / file,
                f"{number} {text}",
                read_as=_reading(number, functools.partial(pairs_of, number=number, keys=values)),
            )


def _as_qos(name: str, value: float) -> str:
    """Return a number as ``io.cost.qos`` takes and shows it: latencies whole, percents not."""
    return str(round(value)) if name in ("rlat", "wlat") else f"{value:.2f}"


def _reading(number: str, reader: Reader) -> Reader:
    """Return a reader that shows all of a file's text where it has nothing of the device."""
    return lambda text: reader(text) if line_of(text, number) else text.strip()
