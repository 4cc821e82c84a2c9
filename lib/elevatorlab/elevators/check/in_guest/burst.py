"""Many requests at the same moment, from one program (Linux's own asynchronous I/O).

Programs that are threads start one after the other, and a disk has served the first ones before
the last one has begun. So hundreds of requests wait together only if one call submits them.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from typing import TYPE_CHECKING

from .failure import require
from .load import content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .disks import Disk

#: Numbers of system calls (x86-64), and operations of linux/aio_abi.h.
SETUP, DESTROY, GET_EVENTS, SUBMIT = 206, 207, 208, 209
READ, WRITE = 0, 1

#: struct iocb: data, key, flags, operation, priority, file, buffer, length, place, and the rest.
REQUEST = struct.Struct("<QIIHhIQQq16x")
EVENT = struct.Struct("<QQqq")

BLOCK_BYTES = 4096

#: Blocks of which only the first is used, so that neighbours are not merged.
STRIDE = 3


def write_and_read_back(disk: Disk, requests: int) -> None:
    """Write so many blocks at the same moment; then read them, and compare."""
    places = [number * STRIDE * BLOCK_BYTES for number in range(requests)]
    memory = mmap.mmap(-1, requests * BLOCK_BYTES)
    written = b"".join(content(number, requests) * 8 for number in range(requests))
    memory[:] = written
    _at_once(disk, memory, WRITE, places)
    memory[:] = bytes(len(memory))
    _at_once(disk, memory, READ, places)
    for number in range(requests):
        found = memory[number * BLOCK_BYTES :][:BLOCK_BYTES]
        require(
            found == content(number, requests) * 8,
            f"{disk.name}: sector {8 * STRIDE * number} does not read back what was written there.",
        )


def copy(disk: Disk) -> None:
    """Copy a disk's first half to its second half: the even blocks at once, then the odd ones."""
    half = disk.size_bytes // 2
    for begin in 0, BLOCK_BYTES:
        places = range(begin, half, 2 * BLOCK_BYTES)
        memory = mmap.mmap(-1, len(places) * BLOCK_BYTES)
        _at_once(disk, memory, READ, places)
        _at_once(disk, memory, WRITE, [half + at for at in places])


def _at_once(disk: Disk, memory: mmap.mmap, operation: int, places: Sequence[int]) -> None:
    """Read, or write, blocks of the memory at these places of the disk, in bytes."""
    requests = len(places)
    file = os.open(disk.device, os.O_RDWR | os.O_DIRECT)
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    made = b"".join(
        REQUEST.pack(
            *(number, 0, 0, operation, 0, file, at + number * BLOCK_BYTES),
            *(BLOCK_BYTES, place),
        )
        for number, place in enumerate(places)
    )
    blocks = ctypes.create_string_buffer(made)
    first = ctypes.addressof(blocks)
    pointers = (ctypes.c_void_p * requests)(*(first + REQUEST.size * n for n in range(requests)))
    events = ctypes.create_string_buffer(EVENT.size * requests)
    context = ctypes.c_ulong(0)
    _call(SETUP, requests, ctypes.byref(context))
    _call(SUBMIT, context, ctypes.c_long(requests), pointers)
    wanted = ctypes.c_long(requests)
    _call(GET_EVENTS, context, wanted, wanted, events, None)
    _call(DESTROY, context)
    os.close(file)
    for _, _, result, _ in EVENT.iter_unpack(events.raw):
        require(result == BLOCK_BYTES, f"{disk.name} gave an error that no disk made: {-result}.")


def _call(number: int, *arguments: object) -> None:
    if LIBC.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
