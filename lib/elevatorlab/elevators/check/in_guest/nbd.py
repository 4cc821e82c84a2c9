"""A disk whose every request is seen: the network block device, with its server in this program.

What the server is asked for is what the scheduler handed out, in that order. Its cache is
volatile: what was not flushed is lost in a power cut.
"""

from __future__ import annotations

import fcntl
import mmap
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .disks import SECTOR_BYTES, Disk

# linux/nbd.h
SET_SOCK, SET_BLOCK_SIZE, DO_IT, CLEAR_SOCK = 0xAB00, 0xAB01, 0xAB03, 0xAB04
SET_SIZE_BLOCKS, DISCONNECT, SET_FLAGS = 0xAB07, 0xAB08, 0xAB0A
HAS_FLAGS, SENDS_FLUSH, SENDS_FUA = 1, 4, 8
READ, WRITE, DISCONNECTED, FLUSH = 0, 1, 2, 3
FUA = 1 << 16
REQUEST, REPLY = struct.Struct(">II8sQI"), struct.Struct(">II8s")
REQUEST_MAGIC, REPLY_MAGIC = 0x25609513, 0x67446698


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
    """The disk, for the length of a with block.

    Parameters
    ----------
    size_mib : int
    takes_fua : bool
        Whether a write may ask to be durable by itself. The kernel must flush after it if not.
    """

    def __init__(self, size_mib: int = 2, takes_fua: bool = True) -> None:
        self._takes_fua = takes_fua
        self.seen: list[Seen] = []
        self.cached = bytearray(size_mib << 20)
        self.durable = bytearray(size_mib << 20)
        self._dirty: list[tuple[int, int]] = []
        self._device = open("/dev/nbd0", "r+b", buffering=0)  # noqa: SIM115 (closed on exit)
        self._kernel_end, self._server_end = socket.socketpair()
        self._tell(CLEAR_SOCK)
        self._tell(SET_BLOCK_SIZE, SECTOR_BYTES)
        self._tell(SET_SIZE_BLOCKS, (size_mib << 20) // SECTOR_BYTES)
        self._tell(SET_FLAGS, HAS_FLAGS | SENDS_FLUSH | (SENDS_FUA if takes_fua else 0))
        self._tell(SET_SOCK, self._kernel_end.fileno())
        self._threads = [self._start(self._serve), self._start(lambda: self._tell(DO_IT))]
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
        self._kernel_end.close()
        self._server_end.close()

    def _tell(self, command: int, value: int = 0) -> None:
        fcntl.ioctl(self._device, command, value)

    def _receive(self, length: int) -> bytes:
        return self._server_end.recv(length, socket.MSG_WAITALL)

    def _serve(self) -> None:
        while header := self._receive(REQUEST.size):
            _, kind, handle, at, length = REQUEST.unpack(header)
            operation = kind & 0xFFFF
            if operation == DISCONNECTED:
                break
            self.seen.append(
                Seen(operation, at // SECTOR_BYTES, length // SECTOR_BYTES, bool(kind & FUA))
            )
            answer = REPLY.pack(REPLY_MAGIC, 0, handle)
            if operation == READ:
                answer += self.cached[at : at + length]
            elif operation == WRITE:
                self.cached[at : at + length] = self._receive(length)
                self._dirty.append((at, length))
                if kind & FUA and self._takes_fua:
                    self.durable[at : at + length] = self.cached[at : at + length]
            elif operation == FLUSH:
                self._flush()
            self._server_end.sendall(answer)
        self._server_end.shutdown(socket.SHUT_RDWR)

    def _flush(self) -> None:
        for at, length in self._dirty:
            self.durable[at : at + length] = self.cached[at : at + length]
        self._dirty.clear()
