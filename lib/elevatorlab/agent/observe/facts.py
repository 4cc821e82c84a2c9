"""What a machine is and has, as far as trials care."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from ..devices import block_device
from ..errors import AgentError
from ..groups import cgroups

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

PROGRAMS = (
    *("cat", "crun", "dd", "find", "fio", "iostat", "iozone", "ip", "losetup", "mariadbd"),
    *("mkfs.ext4", "sysbench"),
)

#: What a disk over NVMe/TCP needs: of its host, of its target, and of both on one machine, without
#: a link and with one.
NVME_TCP_MODULES = ("nvme-tcp", "nvme-tcp-one-send", "nvmet-tcp", "veth", "sch_netem")

MACHINE_ID_FILES = (
    "/proc/1/root/etc/machine-id",
    "/etc/machine-id",
    "/sys/class/dmi/id/product_uuid",
)


def show(scratch: str, *modules: str) -> None:
    """Print the facts as JSON."""
    print(json.dumps(facts(pathlib.Path(scratch), modules), sort_keys=True))


def facts(scratch: pathlib.Path, modules: Iterable[str] = ()) -> dict[str, Any]:
    """Return what this machine is and has.

    In `scratch`, the files of file-backed devices would go. `modules` are kernel modules of
    schedulers: whether the kernel has them, beside those of NVMe/TCP.
    """
    return {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "machine_id": machine_id(),
        "boot_id": hashed(pathlib.Path("/proc/sys/kernel/random/boot_id").read_text()),
        "virtualization": virtualization(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "time_s": time.time(),
        "root": os.geteuid() == 0,
        "schedulers": schedulers(),
        "cgroup": cgroup_version(),
        "drop_caches": os.access("/proc/sys/vm/drop_caches", os.W_OK),
        "tracefs": pathlib.Path("/sys/kernel/tracing/events/block").exists(),
        "null_blk": has_module("null_blk"),
        "fuse": pathlib.Path("/dev/fuse").exists(),
        "io_cost": (cgroups.TOP / "io.cost.qos").exists(),
        "modules": {name: has_module(name) for name in (*NVME_TCP_MODULES, *modules)},
        "loop": pathlib.Path("/dev/loop-control").exists(),
        "programs": {name: shutil.which(name) is not None for name in PROGRAMS},
        "packages": packages(),
        "scratch": place(scratch),
    }


def machine_id() -> str:
    """Return what tells this machine from others, without telling which one it is.

    A container that sees the machine's processes (Docker's ``--pid=host``) gets the machine's.
    """
    for file in MACHINE_ID_FILES:
        try:
            text = pathlib.Path(file).read_text().strip()
        except OSError:
            continue
        if text:
            return hashed(text)
    return "unknown"


def hashed(secret: str) -> str:
    """Return what tells one text from another without telling the text."""
    return hashlib.sha256(f"elevatorlab {secret.strip()}".encode()).hexdigest()[:16]


def virtualization() -> str:
    """Return the hypervisor below this machine, as systemd names it; ``none`` on bare metal."""
    if shutil.which("systemd-detect-virt"):
        run = subprocess.run(["systemd-detect-virt", "--vm"], capture_output=True, text=True)
        return run.stdout.strip() or "none"
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return "unnamed" if " hypervisor" in flags else "none"


def cpu_model() -> str:
    """Return the processor's name."""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def schedulers() -> list[str]:
    """Return the schedulers that some disk of this machine offers now; modules may add more."""
    found = set()
    for file in pathlib.Path("/sys/class/block").glob("*/queue/scheduler"):
        found |= set(file.read_text().replace("[", "").replace("]", "").split())
    return sorted(found)


def has_module(name: str) -> bool:
    """Tell whether the kernel has a module, loaded or not."""
    if pathlib.Path("/sys/module", name.replace("-", "_")).exists():
        return True
    try:
        run = subprocess.run(["modprobe", "--dry-run", "--quiet", name], capture_output=True)
    except FileNotFoundError:
        return False
    return run.returncode == 0


def cgroup_version() -> int | None:
    """Return 2, 1, or None where neither has I/O in it."""
    try:
        return cgroups.find().number
    except AgentError:
        return None


def packages() -> dict[str, str]:
    """Return the version of every Debian package."""
    if not shutil.which("dpkg-query"):
        return {}
    run = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${db:Status-Status} ${Package} ${Version}\\n"],
        capture_output=True,
        text=True,
    )
    rows = (line.split() for line in run.stdout.splitlines())
    return {name: version for status, name, version in rows if status == "installed"}


def place(scratch: pathlib.Path) -> dict[str, Any]:
    """Return what lies below the folder for file-backed devices."""
    existing = scratch
    while not existing.exists():
        existing = existing.parent
    space = os.statvfs(existing)
    try:
        disks = block_device.disks_below(existing)
    except AgentError:
        disks = []
    return {"free_mib": space.f_bavail * space.f_frsize >> 20, "disks": disks}
