"""Folders for what a running machine needs: its exchange, its recording, its socket.

They are in the system's folder for temporary files because a socket's path must be short.
"""

import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "elevatorlab-"


def folder():
    """Return a folder, as a context manager, that is named after this process."""
    return tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")


def sweep():
    """Remove the folders of processes that were killed."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        pid = left.name.removeprefix(PREFIX).split("-")[0]
        if pid.isdigit() and left.owner() == _me() and not Path("/proc", pid).exists():
            shutil.rmtree(left, ignore_errors=True)


def _me():
    return Path("/proc/self").owner()
