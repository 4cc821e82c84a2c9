"""A network block device whose data are on the host, which sees every request.

The server in this program gets the requests that the scheduler dispatched, in that order, and
passes each on to the host (`host_disk`). The disk's cache is volatile: data that was not flushed is
lost in a power cut.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from .disks import SECTOR_BYTES, Disk
from .mailbox import FILL, NEW_DISK, Mailbox

# linux/nbd.h
SET_SOCK, SET_BLOCK_SIZE, DO_IT, CLEAR_SOCK = 0xAB00, 0xAB01, 0xAB03, 0xAB04
SET_SIZE_BLOCKS, DISCONNECT, SET_FLAGS = 0xAB07, 0xAB08, 0xAB0A
HAS_FLAGS, SENDS_FLUSH, SENDS_FUA, SEVERAL_CONNECTIONS = 1, 4, 8, 256
READ, WRITE, DISCONNECTED, FLUSH = 0, 1, 2, 3
FUA = 1 << 16

SIZE_BYTES = 2 << 20
REQUEST, REPLY = struct.Struct(">II8sQI"), struct.Struct(">II8s")
REQUEST_MAGIC, REPLY_MAGIC = 0x25609513, 0x67446698

#: A slow disk's time for each request, and its connection's buffer: the kernel's least.
SLOW_S, SMALLEST_BUFFER = 0.0003, 1


def page(length: int) -> mmap.mmap:
    """Return memory that O_DIRECT takes: whole pages."""
    return mmap.mmap(-1, length)


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
        takes_fua: bool = True,
        connections: int = 1,
        lasts: int | None = None,
        slow: bool = False,
    ) -> None:
        self._slow = slow
        self._mailbox = Mailbox()
        self._mailbox.ask(NEW_DISK, int(takes_fua), SIZE_BYTES)
        self._device = open("/dev/nbd0", "r+b", buffering=0)  # noqa: SIM115 (closed on exit)
        self._sockets = [socket.socketpair() for _ in range(connections)]
        self._tell(CLEAR_SOCK)
        self._tell(SET_BLOCK_SIZE, SECTOR_BYTES)
        self._tell(SET_SIZE_BLOCKS, SIZE_BYTES // SECTOR_BYTES)
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
        os.close(os.open(self.device, os.O_RDONLY))  # the kernel looks for partitions
        self._mailbox.ask(FILL, 0, 0)

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
        self._mailbox.close()

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
            read = self._mailbox.ask(kind, at, length, data)
            answer = REPLY.pack(REPLY_MAGIC, 0, handle) + read
            if lasts is not None:
                lasts -= 1
                if not lasts:  # before the answer, after which the kernel may send the next one
                    connection.shutdown(socket.SHUT_RD)
            connection.sendall(answer)
