"""A file system on the device under test, and the page cache above it."""

from __future__ import annotations

import os
import pathlib
import subprocess
from typing import TYPE_CHECKING

from ..errors import AgentError

if TYPE_CHECKING:
    from ..lifecycle.context import Context
    from ..lifecycle.journal import Journal

MOUNT_POINT = pathlib.Path("/run/elevatorlab/disk")

VM = pathlib.Path("/proc/sys/vm")

# Fixed, so that the same trial writes the same blocks.
UUID = "e1e7a70e-0000-4000-8000-000000000001"


def make(kind: str, device: str) -> None:
    """Make a file system on ``/dev/DEVICE``."""
    make_it = [f"mkfs.{kind}", "-q", "-U", UUID]
    if kind == "ext4":
        # Initialised now, not by a kernel thread in the middle of the measurement; and the
        # blocks of a file-backed device stay allocated.
        options = f"hash_seed={UUID},lazy_itable_init=0,lazy_journal_init=0,nodiscard"
        make_it += ["-F", "-E", options]
    _run([*make_it, f"/dev/{device}"], f"making {kind} on {device}")


def mount(kind: str, device: str, journal: Journal) -> pathlib.Path:
    """Mount the file system of ``/dev/DEVICE``, and return the mount point."""
    journal.will("remove_folder", MOUNT_POINT)
    MOUNT_POINT.mkdir(parents=True, exist_ok=True)
    journal.will("unmount", MOUNT_POINT)
    _run(["mount", "-t", kind, f"/dev/{device}", str(MOUNT_POINT)], f"mounting {device}")
    return MOUNT_POINT


def _run(argv: list[str], purpose: str) -> None:
    run = subprocess.run(argv, capture_output=True, text=True)
    if run.returncode:
        raise AgentError(f"{purpose} failed: {run.stderr.strip() or run.returncode}")


def drop_caches() -> None:
    """Forget what the page cache holds clean, and the directory entries and inodes."""
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def limit_dirty(limit_mib: int, context: Context) -> None:
    """Let at most `limit_mib` of written pages wait in memory, and write from half of it on.

    Setting a limit in bytes sets the one in percent to 0, and the other way round; so whichever
    was in force is what the journal restores.
    """
    for name, mib in (("dirty", limit_mib), ("dirty_background", limit_mib / 2)):
        files = [VM / f"{name}_{unit}" for unit in ("ratio", "bytes")]
        for file in files:
            if (before := file.read_text().strip()) != "0":
                context.journal.will_write(file, before)
        context.proofs.set(files[1], int(mib * (1 << 20)))


def sync() -> None:
    """Wait until everything written has reached the device."""
    os.sync()
