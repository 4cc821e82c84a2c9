"""A disk behind NVMe/TCP, whose host is this machine.

Its target is another machine, where the testbed has one (`nvme_target`), or this one: then it
serves its disk in a network namespace of its own, and the cable is a pair of virtual ports. The
host is the machine itself either way, since the driver connects from the first namespace whoever
asks it to. Each step is journalled before it is done.
"""

from __future__ import annotations

import pathlib
import re
import time
from typing import TYPE_CHECKING

from ..errors import AgentError
from . import nvme_target
from .modules import load_module, run
from .nvme_target import SUBSYSTEM

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..lifecycle.journal import Journal
    from ..lifecycle.proofs import Proofs

#: The host's driver by its name in a trial: a module each. Of two, the first one would serve.
DRIVERS = {"stock": "nvme-tcp", "one_send": "nvme-tcp-one-send"}

NAMESPACE = "elevatorlab-target"
HOST_PORT, TARGET_PORT = "elevatorlab0", "elevatorlab1"

#: Addresses that are set aside for benchmarks (RFC 2544).
HOST_ADDRESS, TARGET_ADDRESS = "198.18.77.1", "198.18.77.2"

CONTROLLERS = pathlib.Path("/sys/class/nvme")
FABRICS = pathlib.Path("/dev/nvme-fabrics")

#: The most that the driver takes, so that a workload's depth is never cut off by it.
QUEUE_SIZE = 1024

#: Whenever it connects, the kernel asks for Debian's driver: this makes it hear no.
MODPROBE_RULE = pathlib.Path("/run/modprobe.d/elevatorlab.conf")

PATIENCE_S = 20


def create(device: Mapping[str, Any], backing: str, journal: Journal, proofs: Proofs) -> str:
    """Serve the block device `backing` on this machine; return the kernel name of the host's disk.

    Parameters
    ----------
    device : dict
        As the trial describes it: ``driver``, ``mtu_bytes``.
    backing : str
        Kernel name.
    """
    load_driver(device["driver"], journal, proofs)
    for module in (*nvme_target.MODULES, "veth"):
        load_module(module, journal=journal)
    make_cable(device["mtu_bytes"], journal, proofs)
    inside = ("nsenter", f"--net=/run/netns/{NAMESPACE}")
    nvme_target.serve(f"/dev/{backing}", TARGET_ADDRESS, None, journal, proofs, inside)
    return connect(device, TARGET_ADDRESS, {}, journal, proofs)


def join(
    device: Mapping[str, Any], target: Mapping[str, Any], journal: Journal, proofs: Proofs
) -> str:
    """Connect to a target on another machine; return the kernel name of the disk that appears.

    Parameters
    ----------
    device : dict
        As the trial describes it.
    target : dict
        The testbed's: ``address``; ``host``, the name under which this machine may connect (a
        UUID); ``proofs``, the target's own.
    """
    proofs.records += target["proofs"]
    load_driver(device["driver"], journal, proofs)
    route = run("ip", "-oneline", "route", "get", target["address"])
    mtu = pathlib.Path("/sys/class/net", re.findall(r" dev (\S+)", route)[0], "mtu")
    proofs.compare(mtu, device["mtu_bytes"], mtu.read_text().strip())
    names = {"hostnqn": nvme_target.qualified(target["host"]), "hostid": target["host"]}
    return connect(device, target["address"], names, journal, proofs)


def load_driver(name: str, journal: Journal, proofs: Proofs) -> None:
    """Load the host's driver and what it needs.

    Raises
    ------
    AgentError
        When the other driver is loaded, or NVMe disks hide their schedulers.
    """
    for other, module in DRIVERS.items():
        if other != name and _folder(module).exists():
            raise AgentError(
                f"the NVMe/TCP driver {module} is loaded; expected {DRIVERS[name]} alone, since "
                f"the first one serves. Unload it: modprobe -r {module}"
            )
    load_module("nvme-core", "multipath=N", journal=journal)
    multipath = _folder("nvme-core") / "parameters/multipath"
    found = multipath.read_text().strip() if multipath.exists() else "N"
    if found != "N":
        raise AgentError(
            f"{multipath} is {found}; expected N, since otherwise a disk of several paths stands "
            "in front of each NVMe disk and has no scheduler. Boot with nvme_core.multipath=N"
        )
    proofs.add(multipath, "N", found)
    for module in ("nvme-fabrics", DRIVERS[name]):
        load_module(module, journal=journal)
    if name != "stock":
        journal.will("remove_file", MODPROBE_RULE)
        MODPROBE_RULE.parent.mkdir(exist_ok=True)
        MODPROBE_RULE.write_text(f"install {DRIVERS['stock']} /bin/true\n")


def make_cable(mtu_bytes: int, journal: Journal, proofs: Proofs) -> None:
    """Make the target's namespace, and a cable from the host to it."""
    journal.will("remove_namespace", NAMESPACE)
    run("ip", "netns", "add", NAMESPACE)
    # With one end, the other one goes, too, whatever namespace it is in.
    journal.will("remove_link", HOST_PORT)
    target = f"peer name {TARGET_PORT} mtu {mtu_bytes} netns {NAMESPACE}".split()
    run("ip", "link", "add", HOST_PORT, "mtu", str(mtu_bytes), "type", "veth", *target)
    run("ip", "address", "add", f"{HOST_ADDRESS}/30", "dev", HOST_PORT)
    run("ip", "link", "set", HOST_PORT, "up")
    for words in (
        f"address add {TARGET_ADDRESS}/30 dev {TARGET_PORT}",
        f"link set {TARGET_PORT} up",
        "link set lo up",
    ):
        run("ip", "-n", NAMESPACE, *words.split())
    file = pathlib.Path("/sys/class/net", HOST_PORT, "mtu")
    proofs.compare(file, mtu_bytes, file.read_text().strip())


def connect(
    device: Mapping[str, Any],
    address: str,
    names: Mapping[str, str],
    journal: Journal,
    proofs: Proofs,
) -> str:
    """Connect the host to a target; return the kernel name of the disk that appears.

    A connection that breaks is not made anew (``ctrl_loss_tmo=0``): its requests fail, and so
    does the trial, which would have measured the gap.

    Parameters
    ----------
    device : dict
        As the trial describes it: ``driver``.
    address : str
        The target's.
    names : dict
        ``hostnqn`` and ``hostid``, where the target lets one host in only.
    """
    journal.will("disconnect", SUBSYSTEM)
    options = {
        **{"transport": "tcp", "traddr": address, "trsvcid": nvme_target.SERVICE},
        **{"nqn": SUBSYSTEM, "queue_size": QUEUE_SIZE, "ctrl_loss_tmo": 0},
        **names,
    }
    try:
        with open(FABRICS, "r+b", buffering=0) as fabrics:
            fabrics.write(",".join(f"{name}={value}" for name, value in options.items()).encode())
            answer = fabrics.read(4096).decode()
    except OSError as problem:
        raise AgentError(
            f"the NVMe/TCP target at {address} could not be reached ({problem.strerror}); expected "
            "it to answer. The kernel's log says more"
        ) from None
    controller = CONTROLLERS / f"nvme{re.findall('instance=([0-9]+)', answer)[0]}"
    until_s = time.monotonic() + PATIENCE_S
    while not (disks := [disk.name for disk in controller.glob("nvme*n*") if _there(disk.name)]):
        if time.monotonic() > until_s:
            raise AgentError(f"{controller} shows no disk after {PATIENCE_S} s; expected one")
        time.sleep(0.01)
    size = (controller / "sqsize").read_text().strip()
    proofs.compare(controller / "sqsize", QUEUE_SIZE - 1, size)
    loaded = [name for name, module in DRIVERS.items() if _folder(module).exists()]
    proofs.compare("NVMe/TCP drivers in the kernel", device["driver"], " ".join(loaded))
    return disks[0]


def disconnect(subsystem: str) -> None:
    """Remove every controller that is connected to a subsystem, if any is."""
    for name in CONTROLLERS.glob("*/subsysnqn"):
        if name.read_text().strip() == subsystem:
            (name.parent / "delete_controller").write_text("1")


def remove_namespace(name: str) -> None:
    """Remove a network namespace, if there is one."""
    if pathlib.Path("/run/netns", name).exists():
        run("ip", "netns", "delete", name)


def remove_link(name: str) -> None:
    """Remove a network port, if there is one, and what it is connected to."""
    if pathlib.Path("/sys/class/net", name).exists():
        run("ip", "link", "delete", name)


def _folder(module: str) -> pathlib.Path:
    return pathlib.Path("/sys/module", module.replace("-", "_"))


def _there(disk: str) -> bool:
    return pathlib.Path("/dev", disk).exists() and pathlib.Path("/sys/class/block", disk).exists()
