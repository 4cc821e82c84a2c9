"""A disk whose service takes a known time: the file of a small FUSE file system.

A loop device over the file is a block device like any other, on any kernel, and its times are
the model's and not those of this machine's storage. What is written is thrown away; what is
read is zeros.

    python3 agent.pyz paced-disk MOUNT-POINT MODEL.json

One server takes `service_us` and the time of the bytes for each request, in the order in which
they come. With `accept_us` a write is answered as soon as it is in the disk's own small memory,
which holds one: `accept_us` after it came, or when the server is done with the one before,
whichever is later. (Protocol: linux/fuse.h, version 7.31.)

A second file, ``served``, tells how long the server has been busy, and with how many requests:
what no counter of the kernel knows, since the kernel sees requests wait and end, not the server.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pathlib
import random
import select
import stat
import struct
import time

TYPE_CHECKING = False  # typing itself takes longer to load than all else here
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILE, ACCOUNT = "disk", "served"
FOLDER_NODE, FILE_NODE, ACCOUNT_NODE = 1, 2, 3
NODES = {FILE.encode(): FILE_NODE, ACCOUNT.encode(): ACCOUNT_NODE}
MAX_BYTES = 1 << 20
FOREVER_S = 1 << 30

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE = 1, 2, 3, 4, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, RELEASEDIR = 17, 18, 20, 25, 26, 27, 29
ACCESS, INTERRUPT, DESTROY, BATCH_FORGET = 34, 36, 38, 42
SILENT = (FORGET, BATCH_FORGET, INTERRUPT)
NOTHING_TO_SAY = (RELEASE, FSYNC, FLUSH, RELEASEDIR, ACCESS, DESTROY)
ENOENT, ENOSYS = 2, 38
ASYNC_READ, BIG_WRITES, ASYNC_DIO, MAX_PAGES = 1 << 0, 1 << 5, 1 << 15, 1 << 22
PAST_THE_CACHE = 1 << 0

PR_SET_TIMERSLACK = 29


class Pace:
    """When requests are answered: the model of the disk, without the disk.

    The model is the trial's paced disk: ``service_us``, ``service`` ("constant" or "exponential"),
    ``bandwidth_kib_s`` (0: bytes take no time), ``accept_us`` or None, ``seed``.
    """

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.service_s: float = model["service_us"] / 1e6
        self.accept_s: float | None = (
            None if model["accept_us"] is None else model["accept_us"] / 1e6
        )
        self.byte_s = 1 / (model["bandwidth_kib_s"] * 1024) if model["bandwidth_kib_s"] else 0.0
        self.exponential = model["service"] == "exponential"
        self.random = random.Random(model["seed"])
        self.free_s = 0.0
        self.busy_s = 0.0
        self.requests = 0

    def answered_at(self, now_s: float, size_bytes: int, is_write: bool) -> float:
        """Return when a request that comes now is answered, and take its service time."""
        service_s = self.service_s + size_bytes * self.byte_s
        if self.exponential:
            service_s = self.random.expovariate(1 / service_s)
        self.busy_s += service_s
        self.requests += 1
        if is_write and self.accept_s is not None:
            accepted_s = max(now_s + self.accept_s, self.free_s)
            self.free_s = accepted_s + service_s
            return accepted_s
        self.free_s = max(now_s, self.free_s) + service_s
        return self.free_s

    def account(self, now_s: float) -> dict[str, float]:
        """Return what the server has done until now, without what it has only accepted."""
        return {
            "time_s": now_s,
            "busy_s": self.busy_s - max(0.0, self.free_s - now_s),
            "requests": self.requests,
        }


class Server:
    """Answers the kernel's requests, one after the other."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self.size_bytes = model["size_mib"] << 20
        self.pace = Pace(model)
        self.answered_s = 0.0
        self.was_waiting = False

    def attributes(self, node: int) -> bytes:
        """Return `struct fuse_attr`."""
        folder = node == FOLDER_NODE
        mode = stat.S_IFDIR | 0o755 if folder else stat.S_IFREG | 0o600
        size = self.size_bytes if node == FILE_NODE else 0
        return struct.pack(
            "<6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
        )

    def serve(self, size_bytes: int, is_write: bool) -> None:
        """Take the time that a request takes.

        One that was waiting when the one before was answered counts from then, so that the time
        of this program's own work is not added to each service.
        """
        came_s = self.answered_s if self.was_waiting else time.monotonic()
        self.answered_s = self.pace.answered_at(came_s, size_bytes, is_write)
        time.sleep(max(0.0, self.answered_s - time.monotonic()))

    def answer(self, opcode: int, node: int, body: bytes) -> tuple[int, bytes]:
        """Return (error, content) for one request."""
        if opcode == INIT:
            flags = ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES
            sizes = (256, 192, MAX_BYTES, 1, MAX_BYTES // 4096)
            return 0, struct.pack("<4I2H2IH34x", 7, 31, MAX_BYTES, flags, *sizes)
        if opcode == LOOKUP:
            found = NODES.get(body.rstrip(b"\0"))
            if found is None:
                return ENOENT, b""
            entry = struct.pack("<4Q2I", found, 0, FOREVER_S, FOREVER_S, 0, 0)
            return 0, entry + self.attributes(found)
        if opcode in (GETATTR, SETATTR):
            return 0, struct.pack("<Q2I", FOREVER_S, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            flags = PAST_THE_CACHE if node == ACCOUNT_NODE else 0
            return 0, struct.pack("<Q2I", 0, flags, 0)
        if opcode == READ and node == ACCOUNT_NODE:
            (start,) = struct.unpack_from("<Q", body, 8)
            account = json.dumps(self.pace.account(time.monotonic()))
            return 0, b"" if start else account.encode()
        if opcode in (READ, WRITE):
            (size,) = struct.unpack_from("<I", body, 16)
            self.serve(size, opcode == WRITE)
            return 0, bytes(size) if opcode == READ else struct.pack("<2I", size, 0)
        if opcode == STATFS:
            return 0, struct.pack("<5Q4I24x", 1 << 20, 1 << 20, 1 << 20, 99, 99, 4096, 255, 4096, 0)
        return (0, b"") if opcode in NOTHING_TO_SAY else (ENOSYS, b"")

    def run(self, connection: int) -> None:
        """Serve until the file system is unmounted."""
        while True:
            try:
                request = os.read(connection, MAX_BYTES + 8192)
            except OSError:  # unmounted
                return
            _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
            error, content = self.answer(opcode, node, request[40:])
            self.was_waiting = bool(select.select([connection], [], [], 0)[0])
            if opcode not in SILENT:
                header = struct.pack("<IiQ", 16 + len(content), -error, unique)
                with contextlib.suppress(FileNotFoundError):  # who asked is gone
                    os.write(connection, header + content)


def main(mount_point: str, model_file: str) -> None:
    """Mount and serve; a line on standard output says when it is mounted."""
    model = json.loads(pathlib.Path(model_file).read_text())
    connection = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)  # the kernel's 50 us are too coarse here
    options = (
        f"fd={connection},rootmode=40000,user_id=0,group_id=0,allow_other,max_read={MAX_BYTES}"
    )
    if libc.mount(b"paced-disk", mount_point.encode(), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), f"cannot mount on {mount_point}")
    os.write(1, b"ready\n")
    Server(model).run(connection)
