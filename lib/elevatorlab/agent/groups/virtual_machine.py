"""A group that is a virtual machine: QEMU and KVM, booted by the testbed, which waits for a disk.

The machine runs the same kernel and the same packages as the one that it is in. A worker of the
agent waits in it at the other end of each virtio-serial port. QEMU's end of a port is a pair of
pipes in `FOLDER`; its monitor is there, too.
"""

from __future__ import annotations

import json
import os
import pathlib
import socket
from typing import TYPE_CHECKING

from ..errors import AgentError, KnobFailed
from .connection import Worker
from .isolation import Group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import IO, Any

    from ..lifecycle.context import Context
    from .cgroups import Tree

#: Where the testbed leaves the machine (environments/deterministic/outer.py).
FOLDER = pathlib.Path("/var/lib/elevatorlab/machine")

#: Through the first port the machine said that it was ready.
FIRST_PORT = 2

#: In the machine's own time; it sees its disk within a tenth of a second.
PATIENCE_S = 10

#: QEMU's cache modes: past the page cache, flushes ignored, a write cache shown.
CACHE_MODES = {
    "none": (True, False, True),
    "writeback": (False, False, True),
    "writethrough": (False, False, False),
    "directsync": (True, False, False),
    "unsafe": (False, True, True),
}

#: What shows in ``/proc`` that QEMU hands requests to its host this way.
AIO_SIGNS = {"native": "/[aio]", "io_uring": "anon_inode:[io_uring]"}


class Port:
    """A worker that waits inside a virtual machine: the outer end of its virtio-serial port."""

    ends_with = "its virtual machine"
    requests: IO[str]
    answers: IO[str]

    def __init__(self, path: pathlib.Path) -> None:
        try:  # without O_NONBLOCK this would wait for ever for a machine that has ended
            end = os.open(f"{path}.in", os.O_WRONLY | os.O_NONBLOCK)
        except OSError as problem:
            raise AgentError(
                f"the virtual machine has ended ({path.name}: {problem.strerror}); expected it to "
                "run. Run the trial again"
            ) from None
        os.set_blocking(end, True)
        self.requests, self.answers = os.fdopen(end, "w"), open(f"{path}.out")

    def close(self) -> None:
        """Close this end; the worker ends with its machine."""
        for end in (self.requests, self.answers):
            try:
                end.close()
            except BrokenPipeError:
                pass


class Monitor:
    """A conversation with one QEMU by its monitor (QMP): lines of JSON over a socket."""

    def __init__(self, path: pathlib.Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
        except OSError as problem:
            raise AgentError(
                f"no virtual machine waits here ({path}: {problem.strerror}); expected the one "
                "that the testbed boots"
            ) from None
        self._lines = self._socket.makefile("rw")
        self._lines.readline()  # the greeting
        self.do("qmp_capabilities")

    def do(self, name: str, **arguments: Any) -> Any:
        """Run a command, and return its answer."""
        for answer in self._answers({"execute": name, "arguments": arguments}):
            if "error" in answer:
                raise AgentError(f"QEMU refused {name}: {answer['error']['desc']}")
            if "return" in answer:  # what else there is are events
                return answer["return"]
        raise AgentError(f"QEMU ended at {name}; expected it to answer. Run the trial again")

    def _answers(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Send a request, and yield what QEMU says until it ends."""
        try:
            self._lines.write(json.dumps(request) + "\n")
            self._lines.flush()
            yield from map(json.loads, self._lines)
        except ConnectionError:
            return


class VirtualMachineGroup(Group):
    """The machine that waits, with the device under test as its disk; QEMU is in the cgroup.

    The machine itself mounts the file system on the device, which is of the kind `filesystem`.
    """

    def __init__(
        self,
        group: Mapping[str, Any],
        tree: Tree,
        filesystem: str | None,
        device: str,
        context: Context,
    ) -> None:
        self.name, self.device = group["name"], device
        self.machine = group["virtual_machine"]
        self.path = tree.root / self.name
        self._ports = iter(
            sorted(FOLDER.glob("port*.in"), key=lambda path: int(path.stem[len("port") :]))[
                FIRST_PORT - 1 :
            ]
        )
        self._monitor = Monitor(FOLDER / "monitor")
        self.process = int((FOLDER / "process").read_text())
        context.journal.will("remove_cgroup", self.path)
        self.path.mkdir()
        context.journal.will("kill_group", self.path)
        (self.path / "cgroup.procs").write_text(str(self.process))
        self._proofs = context.proofs
        self._attach(self._monitor)
        self._hand = Worker(self.name, self.connect())
        self._inside: str = self._hand.call("virtio_disk", patience_s=PATIENCE_S)
        self._prove_the_machine()
        if self.machine["scheduler"]:
            self._select_scheduler()
        self.work = None
        if filesystem:
            self.work = self._hand.call(
                "mount_disk", kind=filesystem, device=self._inside, name=self.name
            )

    @property
    def inside(self) -> str:
        """What the machine's own kernel calls the disk."""
        return self._inside

    def _attach(self, monitor: Monitor) -> None:
        """Plug the device in as a virtio disk, and prove how QEMU reaches it."""
        direct, ignores_flushes, write_cache = CACHE_MODES[self.machine["cache"]]
        monitor.do(
            "blockdev-add",
            driver="host_device",
            filename=f"/dev/{self.device}",
            aio=self.machine["aio"],
            cache={"direct": direct, "no-flush": ignores_flushes},
            **{"node-name": "disk"},
        )
        monitor.do(
            "device_add",
            driver="virtio-blk-pci",
            id="virtio-disk",
            drive="disk",
            **{"num-queues": self.machine["queues"], "write-cache": "on" if write_cache else "off"},
        )
        accelerator = monitor.do("query-kvm")
        self._prove("KVM", True, accelerator["enabled"])
        (node,) = monitor.do("query-named-block-nodes", flat=True)
        found = (node["cache"]["direct"], node["cache"]["no-flush"])
        self._prove(
            f"cache {self.machine['cache']}",
            (direct, ignores_flushes),
            found,
            "past the page cache, flushes ignored",
        )
        self._prove("aio", self.machine["aio"], self._aio())

    def _aio(self) -> str:
        """Return how QEMU hands requests to its host, by what it has open or mapped."""
        process = pathlib.Path("/proc", str(self.process))
        seen = {os.readlink(path) for path in (process / "fd").iterdir()}
        if any(AIO_SIGNS["io_uring"] in one for one in seen):
            return "io_uring"
        return "native" if AIO_SIGNS["native"] in (process / "maps").read_text() else "threads"

    def _prove_the_machine(self) -> None:
        facts = self._hand.call("disk_facts", device=self._inside)
        write_cache = CACHE_MODES[self.machine["cache"]][2]
        # The kernel uses no more queues than it has processors.
        usable = min(self.machine["queues"], facts["processors"])
        self._prove(f"queues in use of {self.machine['queues']}", usable, facts["queues"])
        wanted = "write back" if write_cache else "write through"
        self._prove("write cache", wanted, facts["write_cache"])
        # The kernel keeps a part of the memory to itself.
        least_mib = self.machine["memory_mib"] * 3 // 4
        if not least_mib <= facts["memory_mib"] <= self.machine["memory_mib"]:
            raise KnobFailed(
                self._knob("memory"), f"{self.machine['memory_mib']} MiB", f"{facts['memory_mib']}"
            )
        self._proofs.add(
            self._knob("memory"), f"{self.machine['memory_mib']} MiB", f"{facts['memory_mib']} MiB"
        )
        self._proofs.add(self._knob("scheduler at first"), "the kernel's own", facts["scheduler"])

    def _select_scheduler(self) -> None:
        proved = self._hand.call(
            "select_scheduler", device=self._inside, scheduler=self.machine["scheduler"]
        )
        for one in proved:
            self._proofs.add(self._knob(one["knob"]), one["written"], one["read"], one["probe"])

    def _prove(self, what: str, wanted: object, found: object, probe: str | None = None) -> None:
        if found != wanted:
            raise KnobFailed(self._knob(what), wanted, str(found))
        self._proofs.add(self._knob(what), wanted, found, probe)

    def _knob(self, what: str) -> str:
        return f"virtual machine {self.name}: {what}"

    def connect(self) -> Port:
        """Connect to the next worker that waits inside."""
        port = next(self._ports, None)
        if port is None:
            raise AgentError(
                f"the virtual machine of group {self.name!r} has no worker left; expected one for "
                "each workload"
            )
        return Port(port.with_suffix(""))

    def write_out(self) -> None:
        """Write what waits in the machine's memory to its disk."""
        self._hand.call("write_out")

    def exits(self) -> dict[str, int]:
        """Return how often the machine was left so far, by the reason, as KVM counts it."""
        told = self._monitor.do("query-stats", target="vcpu", providers=[{"provider": "kvm"}])
        counts = {one["name"]: one["value"] for vcpu in told for one in vcpu["stats"]}
        return {name: counts[name] for name in sorted(counts) if name.endswith("exits")}

    def forget(self) -> None:
        """Forget what the machine's own page cache holds."""
        self._hand.call("forget")
