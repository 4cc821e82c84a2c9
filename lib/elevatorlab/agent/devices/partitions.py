"""One disk divided among groups: each has a partition, and with it counters of its own.

The kernel is told of the partitions directly (BLKPG), so nothing is written to the disk.
A partition has its own line in ``/proc/diskstats``; limits are for whole disks.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import pathlib
import stat
import struct
from typing import TYPE_CHECKING

from ..errors import AgentError
from ..lifecycle.journal import undoes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..lifecycle.context import Context

BLOCK = pathlib.Path("/sys/class/block")
BLKPG, ADD, DELETE = 0x1269, 1, 2
ALIGNMENT_BYTES = 1 << 20


def divide(device: str, names: Sequence[str], context: Context) -> dict[str, str]:
    """Divide `device` into equal parts and return their kernel names by group."""
    size_bytes = int((BLOCK / device / "size").read_text()) * 512
    each_bytes = size_bytes // len(names) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
    if not each_bytes:
        raise AgentError(
            f"{device} has {size_bytes >> 20} MiB; expected at least 1 MiB for each of "
            f"{len(names)} groups. Make it larger"
        )
    parts = {}
    for index, name in enumerate(names):
        number = index + 1
        context.journal.will("remove_part", device, number)
        _tell(device, ADD, number, index * each_bytes, each_bytes)
        part = _named(device, number)
        assert part  # the kernel has taken it
        _make_node(part, context)
        read = int((BLOCK / part / "size").read_text()) * 512
        context.proofs.compare(f"size of {part}, the part of group {name}", each_bytes, str(read))
        parts[name] = part
    return parts


@undoes("remove_part")
def remove(device: str, number: str) -> None:
    """Take a partition away again, if it is there."""
    if (BLOCK / device).exists() and _named(device, int(number)):
        _tell(device, DELETE, int(number), 0, 0)


def _tell(device: str, operation: int, number: int, start_bytes: int, size_bytes: int) -> None:
    # struct blkpg_partition and struct blkpg_ioctl_arg of linux/blkpg.h
    partition = struct.pack("<qqi64s64s4x", start_bytes, size_bytes, number, b"", b"")
    kept = ctypes.create_string_buffer(partition, len(partition))
    argument = struct.pack("<4iQ", operation, 0, len(partition), 0, ctypes.addressof(kept))
    disk = os.open(f"/dev/{device}", os.O_RDONLY)
    try:
        fcntl.ioctl(disk, BLKPG, argument)
    except OSError as problem:
        raise AgentError(
            f"the kernel did not take partition {number} of {device} ({problem.strerror}); "
            "expected a disk that can have partitions"
        ) from None
    finally:
        os.close(disk)


def _named(device: str, number: int) -> str | None:
    """Return the kernel name of a partition, or None."""
    for file in (BLOCK / device).resolve().glob("*/partition"):
        if file.read_text().strip() == str(number):
            return file.parent.name
    return None


def _make_node(part: str, context: Context) -> None:
    """Make the device's node where no udev or devtmpfs does."""
    node = pathlib.Path("/dev", part)
    if node.exists():
        return
    context.journal.will("remove_file", node)
    major, minor = map(int, (BLOCK / part / "dev").read_text().split(":"))
    os.mknod(node, 0o600 | stat.S_IFBLK, os.makedev(major, minor))
