"""The cable between an NVMe/TCP host and its target, where both are this machine.

It is a pair of virtual ports, of which one is in the target's network namespace. By itself it
takes no time and carries whatever the processor sends. With a link (`link`) it is as slow as the
cable and the network cards between two machines.
"""

from __future__ import annotations

import ctypes
import pathlib
import threading
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..errors import AgentError
from ..lifecycle.journal import undoes
from .modules import load_module, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..lifecycle.context import Context

    Made = TypeVar("Made")

NAMESPACES = pathlib.Path("/run/netns")

#: CLONE_NEWNET of the kernel's include/uapi/linux/sched.h.
NEW_NETWORK = 0x40000000

#: The target's network namespace.
NAMESPACE = "elevatorlab-target"


class Port(NamedTuple):
    """One end of the cable: its name, its address, and the namespace it is in (none: ours).

    The addresses are set aside for benchmarks (RFC 2544).
    """

    name: str
    address: str
    namespace: str | None = None

    @property
    def place(self) -> list[str]:
        """The option of ip and tc that says where it is."""
        return ["-n", self.namespace] if self.namespace else []


HOST = Port("elevatorlab0", "198.18.77.1")
TARGET = Port("elevatorlab1", "198.18.77.2", NAMESPACE)


def make(mtu_bytes: int, context: Context) -> None:
    """Make the target's namespace, and a cable from the host to it."""
    load_module("veth", journal=context.journal)
    context.journal.will("remove_namespace", NAMESPACE)
    run("ip", "netns", "add", NAMESPACE)
    # With one end, the other one goes, too, whatever namespace it is in.
    context.journal.will("remove_link", HOST.name)
    target = f"peer name {TARGET.name} mtu {mtu_bytes} netns {NAMESPACE}".split()
    run("ip", "link", "add", HOST.name, "mtu", str(mtu_bytes), "type", "veth", *target)
    for port in (HOST, TARGET):
        run("ip", *port.place, "address", "add", f"{port.address}/30", "dev", port.name)
        run("ip", *port.place, "link", "set", port.name, "up")
    run("ip", "-n", NAMESPACE, "link", "set", "lo", "up")
    file = pathlib.Path("/sys/class/net", HOST.name, "mtu")
    context.proofs.compare(file, mtu_bytes, file.read_text().strip())


@undoes("remove_namespace")
def remove_namespace(name: str) -> None:
    """Remove a network namespace, if there is one."""
    if (NAMESPACES / name).exists():
        run("ip", "netns", "delete", name)


@undoes("remove_link")
def remove_link(name: str) -> None:
    """Remove a network port, if there is one, and what it is connected to."""
    if pathlib.Path("/sys/class/net", name).exists():
        run("ip", "link", "delete", name)


def inside(name: str, make: Callable[[], Made]) -> Made:
    """Return what `make` returns where it is called in the network namespace `name`.

    What it opens stays in that namespace: a socket, or a file of /proc.
    """
    made = []

    def enter() -> None:
        with open(NAMESPACES / name) as place:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(place.fileno(), NEW_NETWORK):
                raise OSError(ctypes.get_errno(), f"entering {name}")
        made.append(make())

    thread = threading.Thread(target=enter)  # the namespace is the thread's own, and ends with it
    thread.start()
    thread.join()
    if not made:
        raise AgentError(
            f"{NAMESPACES / name} could not be entered; expected the trial's own namespace"
        )
    return made[0]
