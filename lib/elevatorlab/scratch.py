"""Folders for what is needed only while a process runs, such as QEMU's sockets and recordings.

These folders are in the system's folder for temporary files, because a socket's path must be short.
`sweep` removes the folders of killed processes before the next trials.
"""

import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "elevatorlab-"


def folder() -> tempfile.TemporaryDirectory[str]:
    """Return a context manager that makes a folder named after this process, and removes it."""
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
    except FileNotFoundError:  # its process, or another sweep, has removed it meanwhile
        return False
