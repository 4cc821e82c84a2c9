"""A network block device whose server is in this program, so that every request is seen.

The server gets the requests that the scheduler dispatched, in that order. The server's cache is
volatile: data that was not flushed is lost in a power cut.
"""

from __future__ import annotations

import fcntl
import mmap
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .disks import SECTOR_BYTES, Disk

# linux/nbd.h
SET_SOCK, SET_BLOCK_SIZE, DO_IT, CLEAR_SOCK = 0xAB00, 0xAB01, 0xAB03, 0xAB04
SET_SIZE_BLOCKS, DISCONNECT, SET_FLAGS = 0xAB07, 0xAB08, 0xAB0A
HAS_FLAGS, SENDS_FLUSH, SENDS_FUA, SEVERAL_CONNECTIONS = 1, 4, 8, 256
READ, WRITE, DISCONNECTED, FLUSH = 0, 1, 2, 3
FUA = 1 << 16
REQUEST, REPLY = struct.Struct(">II8sQI"), struct.Struct(">II8s")
REQUEST_MAGIC, REPLY_MAGIC = 0x25609513, 0x67446698

#: A slow disk's time for each request, and its connection's buffer: the kernel's least.
SLOW_S, SMALLEST_BUFFER = 0.0003, 1


def page(length: int) -> mmap.mmap:
    """Return memory that O_DIRECT takes: whole pages."""
    return mmap.mmap(-1, length)


@dataclass(frozen=True)
class Seen:
    """A request that came to the disk."""

    operation: int
    sector: int
    sectors: int
    fua: bool


class NetworkBlockDevice(Disk):
    """The disk, which exists for the length of a with block.

    A disk that takes FUA lets a write ask to be durable by itself. If it does not, the kernel must
    flush after such a write. Of the connections, the kernel uses the first until it breaks, then
    the second, and so on. A connection breaks after it `lasts` so many requests; the last one never
    breaks. The kernel requeues the request that it then cannot send. A slow disk takes a while for
    each request, and few at once, so that others wait in the scheduler.
    """

    def __init__(
        self,
        size_mib: int = 2,
        takes_fua: bool = True,
        connections: int = 1,
        lasts: int | None = None,
        slow: bool = False,
    ) -> None:
        self._slow = slow
        self._takes_fua = takes_fua
        self.seen: list[Seen] = []
        self.cached = bytearray(size_mib << 20)
        self.durable = bytearray(size_mib << 20)
        self._dirty: list[tuple[int, int]] = []
        self._device = open("/dev/nbd0", "r+b", buffering=0)  # noqa: SIM115 (closed on exit)
        self._sockets = [socket.socketpair() for _ in range(connections)]
        self._tell(CLEAR_SOCK)
        self._tell(SET_BLOCK_SIZE, SECTOR_BYTES)
        self._tell(SET_SIZE_BLOCKS, (size_mib << 20) // SECTOR_BYTES)
        flags = HAS_FLAGS | SENDS_FLUSH | (SENDS_FUA if takes_fua else 0)
        self._tell(SET_FLAGS, flags | (SEVERAL_CONNECTIONS if connections > 1 else 0))
        self._threads = []
        for number, (kernel_end, server_end) in enumerate(self._sockets, 1):
            if slow:
                kernel_end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALLEST_BUFFER)
            self._tell(SET_SOCK, kernel_end.fileno())
            breaks = lasts if number < connections else None
            self._threads.append(self._start(partial(self._serve, server_end, breaks)))
        self._threads.append(self._start(partial(self._tell, DO_IT)))
        super().__init__("nbd0")
        while not self.size_bytes:
            pass

    @staticmethod
    def _start(work: Callable[[], Any]) -> threading.Thread:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def __enter__(self) -> NetworkBlockDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self.select("none")  # the kernel keeps the disk, and with it its scheduler
        self._tell(DISCONNECT)
        for thread in self._threads:
            thread.join()
        self._tell(CLEAR_SOCK)
        self._device.close()
        for both in self._sockets:
            for end in both:
                end.close()

    def _tell(self, command: int, value: int = 0) -> None:
        fcntl.ioctl(self._device, command, value)

    def _serve(self, connection: socket.socket, lasts: int | None) -> None:
        """Serve a connection; let the kernel send no more on it after `lasts` requests."""
        while header := connection.recv(REQUEST.size, socket.MSG_WAITALL):
            _, kind, handle, at, length = REQUEST.unpack(header)
            if kind & 0xFFFF == DISCONNECTED:
                connection.shutdown(socket.SHUT_RDWR)
                return
            if self._slow:
                time.sleep(SLOW_S)
            data = connection.recv(length, socket.MSG_WAITALL) if kind & 0xFFFF == WRITE else b""
            answer = REPLY.pack(REPLY_MAGIC, 0, handle) + self._do(kind, at, length, data)
            if lasts is not None:
                lasts -= 1
                if not lasts:  # before the answer, after which the kernel may send the next one
                    connection.shutdown(socket.SHUT_RD)
            connection.sendall(answer)

    def _do(self, kind: int, at: int, length: int, data: bytes) -> bytes:
        """Carry out a request; return the data of a read, or nothing."""
        operation, fua = kind & 0xFFFF, bool(kind & FUA)
        self.seen.append(Seen(operation, at // SECTOR_BYTES, length // SECTOR_BYTES, fua))
        if operation == READ:
            return bytes(self.cached[at : at + length])
        if operation == WRITE:
            self.cached[at : at + length] = data
            self._dirty.append((at, length))
            if fua and self._takes_fua:
                self.durable[at : at + length] = data
        elif operation == FLUSH:
            self._flush()
        return b""

    def _flush(self) -> None:
        for at, length in self._dirty:
            self.durable[at : at + length] = self.cached[at : at + length]
        self._dirty.clear()
