"""A disk behind NVMe/TCP, whose host is this machine.

Its target is another machine, where the testbed has one (`nvme_target`), or this one: then it
serves its disk in a network namespace of its own, at the other end of a `cable`. The host is the
machine itself either way, since the driver connects from the first namespace whoever asks it to.
Each step is journalled before it is done.
"""

from __future__ import annotations

import pathlib
import re
import time
from typing import TYPE_CHECKING

from ..errors import AgentError
from ..lifecycle.journal import undoes
from . import cable, link, nvme_target
from .modules import load_module, run
from .nvme_target import SUBSYSTEM

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..lifecycle.context import Context

#: The host's driver by its name in a trial: a module each. Of two, the first one would serve.
DRIVERS = {"stock": "nvme-tcp", "one_send": "nvme-tcp-one-send"}

CONTROLLERS = pathlib.Path("/sys/class/nvme")
FABRICS = pathlib.Path("/dev/nvme-fabrics")

#: The most that the driver takes, so that a workload's depth is never cut off by it.
QUEUE_SIZE = 1024

#: Whenever it connects, the kernel asks for Debian's driver: this makes it hear no.
MODPROBE_RULE = pathlib.Path("/run/modprobe.d/elevatorlab.conf")

PATIENCE_S = 20


def create(device: Mapping[str, Any], backing: str, context: Context) -> str:
    """Serve the disk `backing` on this machine; return the kernel name of the host's disk."""
    load_driver(device["driver"], context)
    for module in nvme_target.MODULES:
        load_module(module, journal=context.journal)
    cable.make(device["mtu_bytes"], context)
    if device["link"]:
        link.shape(device["link"], device["mtu_bytes"], context.proofs)
    inside = ("nsenter", f"--net={cable.NAMESPACES / cable.NAMESPACE}")
    address = cable.TARGET.address
    nvme_target.serve(f"/dev/{backing}", address, None, context, inside)
    return connect(device, address, {}, context)


def join(device: Mapping[str, Any], target: Mapping[str, Any], context: Context) -> str:
    """Connect to a target on another machine; return the kernel name of the disk that appears.

    The testbed says of the target: ``address``; ``host``, the name under which this machine may
    connect (a UUID); ``proofs``, the target's own.
    """
    proofs = context.proofs
    proofs.records += target["proofs"]
    load_driver(device["driver"], context)
    route = run("ip", "-oneline", "route", "get", target["address"])
    port = pathlib.Path("/sys/class/net", re.findall(r" dev (\S+)", route)[0])
    mtu = port / "mtu"
    proofs.compare(mtu, device["mtu_bytes"], mtu.read_text().strip())
    found_us = link.ping(target["address"])
    proofs.add("network to the target", "as it is", _speed(port), f"ping {found_us:.3f} us")
    names = {"hostnqn": nvme_target.qualified(target["host"]), "hostid": target["host"]}
    return connect(device, target["address"], names, context)


def load_driver(name: str, context: Context) -> None:
    """Load the host's driver and what it needs."""
    for other, module in DRIVERS.items():
        if other != name and _folder(module).exists():
            raise AgentError(
                f"the NVMe/TCP driver {module} is loaded; expected {DRIVERS[name]} alone, since "
                f"the first one serves. Unload it: modprobe -r {module}"
            )
    load_module("nvme-core", "multipath=N", journal=context.journal)
    multipath = _folder("nvme-core") / "parameters/multipath"
    found = multipath.read_text().strip() if multipath.exists() else "N"
    if found != "N":
        raise AgentError(
            f"{multipath} is {found}; expected N, since otherwise a disk of several paths stands "
            "in front of each NVMe disk and has no scheduler. Boot with nvme_core.multipath=N"
        )
    context.proofs.add(multipath, "N", found)
    for module in ("nvme-fabrics", DRIVERS[name]):
        load_module(module, journal=context.journal)
    if name != "stock":
        context.journal.will("remove_file", MODPROBE_RULE)
        MODPROBE_RULE.parent.mkdir(exist_ok=True)
        MODPROBE_RULE.write_text(f"install {DRIVERS['stock']} /bin/true\n")


def connect(
    device: Mapping[str, Any], address: str, names: Mapping[str, str], context: Context
) -> str:
    """Connect the host to a target; return the kernel name of the disk that appears.

    A connection that breaks is not made anew (``ctrl_loss_tmo=0``): its requests fail, and so
    does the trial, which would have measured the gap.

    `names` are ``hostnqn`` and ``hostid``, where the target lets one host in only.
    """
    context.journal.will("disconnect", SUBSYSTEM)
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
    context.proofs.compare(controller / "sqsize", QUEUE_SIZE - 1, size)
    loaded = [name for name, module in DRIVERS.items() if _folder(module).exists()]
    context.proofs.compare("NVMe/TCP drivers in the kernel", device["driver"], " ".join(loaded))
    return disks[0]


@undoes("disconnect")
def disconnect(subsystem: str) -> None:
    """Remove every controller that is connected to a subsystem, if any is."""
    for name in CONTROLLERS.glob("*/subsysnqn"):
        if name.read_text().strip() == subsystem:
            (name.parent / "delete_controller").write_text("1")


def _speed(port: pathlib.Path) -> str:
    """Return what a network port says of its rate; the driver of a virtual one may not know."""
    try:
        return f"{int((port / 'speed').read_text()) / 1000:g} Gb/s"
    except (OSError, ValueError):
        return "rate unknown"


def _folder(module: str) -> pathlib.Path:
    return pathlib.Path("/sys/module", module.replace("-", "_"))


def _there(disk: str) -> bool:
    return pathlib.Path("/dev", disk).exists() and pathlib.Path("/sys/class/block", disk).exists()
