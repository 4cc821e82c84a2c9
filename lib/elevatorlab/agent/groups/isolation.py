"""Groups: processes that share one cgroup, plainly or in a container of their own."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import TYPE_CHECKING

from ..errors import AgentError
from ..lifecycle.journal import undoes
from . import cgroups
from .connection import Copy, Pipes, Socket

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..lifecycle.context import Context
    from ..lifecycle.proofs import Proofs
    from .cgroups import Tree
    from .connection import Connection


#: Where a container sees the agent.
AGENT_INSIDE = "/elevatorlab-agent"


class Group:
    """What all groups have."""

    name: str
    #: Kernel name of what the group works on: the device under test, or its own part of it.
    device: str
    #: The cgroup.
    path: pathlib.Path
    #: The folder on the device under test, as the group's own processes see it; None where the
    #: trial has no file system.
    work: str | None

    @property
    def inside(self) -> str:
        """What the group's own processes call the device."""
        return self.device

    def connect(self) -> Connection:
        """Return a connection to a worker inside the group."""
        raise NotImplementedError

    def limit(self, limits: Mapping[str, Any], tree: Tree, number: str, proofs: Proofs) -> None:
        """Set the group's I/O limits on the device `number`, and prove each."""
        tree.limit(self.path, limits, number, proofs)

    def write_out(self) -> None:
        """Write what waits in a memory of the group's own to the device."""

    def exits(self) -> dict[str, int]:
        """Return how often a virtual machine was left so far, by the reason; nothing for others."""
        return {}

    def forget(self) -> None:
        """Forget what is cached in a memory of the group's own."""


class ProcessGroup(Group):
    """Plain processes of the machine in one cgroup."""

    def __init__(
        self, name: str, tree: Tree, disk: pathlib.Path | None, device: str, context: Context
    ) -> None:
        self.name = name
        self.device = device
        self.path = tree.root / name
        context.journal.will("remove_cgroup", self.path)
        self.path.mkdir()
        context.journal.will("kill_group", self.path)
        self.work = None
        if disk is not None:
            self.work = str(disk / name)
            os.mkdir(self.work)

    def connect(self) -> Copy:
        """Start a worker inside the group."""
        return Copy(self.path)


class ContainerGroup(Group):
    """A container made by a real OCI runtime (crun): namespaces, overlay root, cgroup.

    Its writable layer is on the device under test, so a file that the container writes is
    reached through overlayfs; on a bare device the layer is in memory, and the container has
    the device. The agent is the only thing mounted into it.
    """

    def __init__(
        self,
        name: str,
        tree: Tree,
        disk: pathlib.Path | None,
        device: str,
        context: Context,
    ) -> None:
        self.name = name
        self.device = device
        self.agent, journal = context.agent, context.journal
        self.path = tree.root / name
        self.container = f"elevatorlab-{name}"
        self.work = "/work" if disk else None
        journal.will("remove_cgroup", self.path)
        self.path.mkdir()
        journal.will("kill_group", self.path)
        bundle = pathlib.Path("/run/elevatorlab/bundles", name)
        journal.will("remove_tree", bundle)
        (bundle / "rootfs").mkdir(parents=True)
        layers = disk / name if disk else bundle / "layers"
        for layer in ("upper", "work", "upper/work"):
            (layers / layer).mkdir(parents=True)
        journal.will("unmount", bundle / "rootfs")
        options = f"lowerdir=/,upperdir={layers}/upper,workdir={layers}/work"
        _run(["mount", "-t", "overlay", "overlay", "-o", options, str(bundle / "rootfs")])
        (bundle / "config.json").write_text(json.dumps(self._oci_configuration()))
        journal.will("delete_container", self.container)
        runtime = ["crun", "--cgroup-manager=cgroupfs", "run", "--detach", "--bundle", str(bundle)]
        # Not captured: the container's first process keeps these files open.
        started = subprocess.run(
            [*runtime, self.container], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        if started.returncode:
            raise AgentError(f"crun could not start the container of group {name!r}; see log.txt")

    def _oci_configuration(self) -> dict[str, Any]:
        """Return the container's description (OCI runtime specification 1.0)."""
        kernel_mounts = [
            ("/proc", "proc", ["nosuid", "noexec", "nodev"]),
            ("/dev", "tmpfs", ["nosuid", "mode=755"]),
            ("/sys", "sysfs", ["nosuid", "noexec", "nodev", "ro"]),
        ]
        mounts = [
            {"destination": target, "type": kind, "source": kind, "options": options}
            for target, kind, options in kernel_mounts
        ]
        mounts.append(
            {
                "destination": AGENT_INSIDE,
                "source": self.agent,
                "options": ["bind", "ro"],
                "type": "bind",
            }
        )
        return {
            "ociVersion": "1.0.2",
            "hostname": self.name,
            "root": {"path": "rootfs", "readonly": False},
            "process": {
                "args": ["sleep", "infinity"],
                "cwd": "/",
                "user": {"uid": 0, "gid": 0},
                "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"],
            },
            "mounts": mounts,
            "linux": {
                "devices": [] if self.work else [self._device_node()],
                "cgroupsPath": f"/{cgroups.ROOT_NAME}/{self.name}/container",
                "namespaces": [
                    {"type": kind} for kind in ("pid", "mount", "ipc", "uts", "network")
                ],
            },
        }

    def _device_node(self) -> dict[str, Any]:
        """Return the description of the device's node inside the container."""
        number = pathlib.Path("/sys/class/block", self.device, "dev").read_text()
        major, minor = map(int, number.split(":"))
        path = f"/dev/{self.device}"
        return {"type": "b", "path": path, "major": major, "minor": minor, "fileMode": 0o600}

    def connect(self) -> Pipes:
        """Start a worker inside the container."""
        worker = ["python3", AGENT_INSIDE, "worker"]
        return Pipes(["crun", "exec", self.container, *worker])


@undoes("delete_container")
def _delete_container(name: str) -> None:
    subprocess.run(["crun", "delete", "--force", name], check=True, capture_output=True)


class ForeignGroup(Group):
    """A container that the testbed had a container engine make; its first process is a worker.

    The container ends with the connection to its worker, so that a killed agent leaves none.
    """

    def __init__(
        self, name: str, tree: Tree, container: Mapping[str, Any], device: str, context: Context
    ) -> None:
        self.name = name
        self.device = device
        self.path = tree.of_process(container["process"])
        self.work = container["work"]
        self.socket = container["socket"]
        self.limited = container["limited"]
        context.journal.will("kill_group", self.path)

    def limit(self, limits: Mapping[str, Any], tree: Tree, number: str, proofs: Proofs) -> None:
        """Prove the limits that the engine has set, and set the others."""
        for name in self.limited:
            tree.prove(self.path, name, limits[name], number, proofs)
        rest = {name: value for name, value in limits.items() if name not in self.limited}
        super().limit(rest, tree, number, proofs)

    def connect(self) -> Socket:
        """Connect to the worker that runs already."""
        return Socket(self.socket)


def create(
    group: Mapping[str, Any],
    tree: Tree,
    disk: pathlib.Path | None,
    device: str,
    context: Context,
) -> Group:
    """Make one of the trial's groups, but for virtual machines (`virtual_machine`)."""
    kind = ContainerGroup if group["isolation"] == "container" else ProcessGroup
    return kind(group["name"], tree, disk, device, context)


def _run(argv: list[str]) -> None:
    run = subprocess.run(argv, capture_output=True, text=True)
    if run.returncode:
        raise AgentError(f"{' '.join(argv[:3])} failed: {run.stderr.strip()}")
