"""Requests at given times: an open load whose every arrival is known.

It runs inside the group, in the worker's process: a thread for each request, which sleeps until
its request is due. Times are taken around the system call.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import time
from typing import TYPE_CHECKING

from .paced_writer import PR_SET_TIMERSLACK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

SECTOR_BYTES = 512

#: All threads are there and asleep by then.
START_S = 0.05


def replay(device: str, requests: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Send each request when it is due, around the page cache; return what became of each.

    A request is an `elevatorlab.trial.workloads.Request`. Of each, in their order: ``late_us``
    (sent so long after it was due) and ``latency_us``.
    """
    replayed = Replayed(device)
    start_s = time.monotonic() + START_S
    threads = [
        threading.Thread(target=replayed.send, args=(number, request, start_s), daemon=True)
        for number, request in enumerate(requests)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(replayed.file)
    if replayed.failure:
        raise replayed.failure
    return [replayed.ended[number] for number in range(len(requests))]


def replay_serially(device: str, requests: Sequence[Sequence[int]]) -> list[float]:
    """Send requests one after the other, around the page cache; return what each took, in us.

    A request is an `elevatorlab.trial.workloads.SerialRequest`.
    """
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    file = os.open(device, os.O_RDWR | os.O_DIRECT)
    largest_bytes = max(sectors for *_, sectors in requests) * SECTOR_BYTES
    buffer = memoryview(mmap.mmap(-1, largest_bytes))
    latencies_us = []
    for after_us, write, sector, sectors in requests:
        time.sleep(after_us / 1e6)
        part = buffer[: sectors * SECTOR_BYTES]
        send = os.pwritev if write else os.preadv
        sent_ns = time.monotonic_ns()
        done_bytes = send(file, [part], sector * SECTOR_BYTES)
        latencies_us.append((time.monotonic_ns() - sent_ns) / 1000)
        if done_bytes != len(part):
            raise OSError(f"{device} ends before sector {sector + sectors}; name one that it has")
    os.close(file)
    return latencies_us


class Replayed:
    """What became of each request of a device."""

    def __init__(self, device: str) -> None:
        self.file = os.open(device, os.O_RDWR | os.O_DIRECT)
        self.ended: dict[int, dict[str, float]] = {}
        self.failure: OSError | None = None

    def send(self, number: int, request: Mapping[str, Any], start_s: float) -> None:
        """Wait until a request is due, send it, and wait for its end."""
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)  # its own for each thread
        size_bytes, offset = request["size_bytes"], request["offset_bytes"]
        buffer = memoryview(mmap.mmap(-1, size_bytes))
        due_s = start_s + request["at_us"] / 1e6
        time.sleep(max(0.0, due_s - time.monotonic()))
        sent_s = time.monotonic()
        try:
            (os.pwritev if request["write"] else os.preadv)(self.file, [buffer], offset)
        except OSError as problem:
            self.failure = problem
        latency_s = time.monotonic() - sent_s
        self.ended[number] = {
            "late_us": round((sent_s - due_s) * 1e6, 3),
            "latency_us": round(latency_s * 1e6, 3),
        }
