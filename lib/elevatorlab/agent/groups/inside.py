"""What a worker does in a virtual machine on behalf of the agent outside."""

from __future__ import annotations

import os
import pathlib
import subprocess
import time
from typing import TYPE_CHECKING

from ..devices import filesystems, schedulers
from ..errors import AgentError
from ..lifecycle.proofs import Proofs

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BLOCK = pathlib.Path("/sys/class/block")
MOUNT_POINT = pathlib.Path("/run/disk")


def virtio_disk(patience_s: float) -> str:
    """Wait until the machine has a virtio disk, and return its kernel name."""
    until_s = time.monotonic() + patience_s
    while time.monotonic() < until_s:
        if found := sorted(path.name for path in BLOCK.glob("vd?")):
            return found[0]
        time.sleep(0.01)
    raise AgentError(
        f"the virtual machine saw no disk within {patience_s:g} s of its time; expected the one "
        "that QEMU was given"
    )


def disk_facts(device: str) -> dict[str, Any]:
    """Return what the machine's kernel says of itself and of its disk."""
    queue = BLOCK / device / "queue"
    memory = pathlib.Path("/proc/meminfo").read_text().split(maxsplit=2)[1]
    return {
        "memory_mib": int(memory) >> 10,
        "processors": os.cpu_count(),
        "queues": len(list((BLOCK / device / "mq").iterdir())),
        "write_cache": (queue / "write_cache").read_text().strip(),
        "scheduler": schedulers.selected((queue / "scheduler").read_text()),
        "kernel": pathlib.Path("/proc/sys/kernel/osrelease").read_text().strip(),
    }


def select_scheduler(device: str, scheduler: dict[str, Any]) -> list[dict[str, str | None]]:
    """Select the scheduler of the machine's disk; return the proofs."""
    proofs = Proofs()
    schedulers.select(device, scheduler, None, proofs)
    return proofs.records


def mount_disk(kind: str, device: str, name: str) -> str:
    """Mount the machine's disk, and return a new folder on it."""
    MOUNT_POINT.mkdir(exist_ok=True)
    run = subprocess.run(
        ["mount", "-t", kind, f"/dev/{device}", str(MOUNT_POINT)], capture_output=True, text=True
    )
    if run.returncode:
        raise AgentError(f"mounting {device} failed: {run.stderr.strip()}")
    (MOUNT_POINT / name).mkdir()
    return str(MOUNT_POINT / name)


def write_out() -> None:
    """Write what waits in the machine's memory to its disk."""
    filesystems.sync()


def forget() -> None:
    """Forget what the machine's page cache holds."""
    filesystems.drop_caches()


#: What only the agent itself asks for, and only of a virtual machine.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (disk_facts, forget, mount_disk, select_scheduler, virtio_disk, write_out)
}
