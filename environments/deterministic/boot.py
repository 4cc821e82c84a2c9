"""What the deterministic machine and a virtual machine inside it both do as they boot."""

import compileall
import ctypes
import os
import pathlib
import sys
import zipfile

AGENT = pathlib.Path("/run/agent")

MOUNTS = [
    ("proc", "/proc", "proc"),
    ("sysfs", "/sys", "sysfs"),
    ("tmpfs", "/run", "tmpfs"),
    ("tmpfs", "/tmp", "tmpfs"),
    ("cgroup2", "/sys/fs/cgroup", "cgroup2"),
    ("devpts", "/dev/pts", "devpts"),
    ("tmpfs", "/dev/shm", "tmpfs"),
]


def mount_kernel_file_systems(more=()):
    libc = ctypes.CDLL(None, use_errno=True)
    for source, target, kind in [*MOUNTS, *more]:
        os.makedirs(target, exist_ok=True)
        if libc.mount(source.encode(), target.encode(), kind.encode(), 0, None) != 0:
            raise OSError(ctypes.get_errno(), f"mounting {kind} on {target}")


def unpack_agent(archive):
    """Unpack and compile the agent, and let it be imported."""
    zipfile.ZipFile(archive).extractall(AGENT)
    compileall.compile_dir(AGENT, quiet=1)
    sys.path.insert(0, str(AGENT))
