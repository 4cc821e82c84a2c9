"""Folders for what is needed only while a process runs, such as QEMU's sockets and recordings.

They are in the system's folder for temporary files because a socket's path must be short. What a
killed process leaves, `sweep` removes before the next trials.
"""

import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "elevatorlab-"


def folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder, as a context manager, that is named after this process."""
    return tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")


def sweep() -> None:
    """Remove the folders of processes that were killed."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        pid = left.name.removeprefix(PREFIX).split("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists() and _is_mine(left):
            shutil.rmtree(left, ignore_errors=True)


def _is_mine(folder: Path) -> bool:
    try:
        return folder.owner() == Path("/proc/self").owner()
    except FileNotFoundError:  # its process has removed it since, or somebody else's sweep
        return False
