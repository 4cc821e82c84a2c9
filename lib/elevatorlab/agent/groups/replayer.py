"""Requests from a list: each at a given time, or one after the other.

It runs inside the group, in the worker's process. Times are taken around the system call.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import queue
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


def replay(
    device: str, requests: Sequence[Mapping[str, Any]], in_flight: int = 256
) -> list[dict[str, float]]:
    """Send each request when it is due, around the page cache; return what became of each.

    A request is an `elevatorlab.trial.workloads.Request`. Of each, in their order: ``late_us``
    (sent so long after it was due) and ``latency_us``. While `in_flight` requests wait for their
    answers, the next one is late: there is a thread for each.
    """
    file = _opened(device, max(one["offset_bytes"] + one["size_bytes"] for one in requests))
    start_s = time.monotonic() + START_S
    # All threads take from one iterator, in C: so each request goes to one of them.
    waiting = iter(enumerate(requests))
    ended: list[dict[str, float]] = [{}] * len(requests)
    left: queue.SimpleQueue[OSError | None] = queue.SimpleQueue()

    def send() -> None:
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)  # its own for each thread
        try:
            for number, request in waiting:
                ended[number] = _sent(file, request, start_s + request["at_us"] / 1e6)
        except OSError as problem:
            left.put(problem)
        else:
            left.put(None)

    threads = [
        threading.Thread(target=send, daemon=True) for _ in range(min(in_flight, len(requests)))
    ]
    for thread in threads:
        thread.start()
    for _ in threads:
        # Nobody waits for the others after a failure: they may sleep for hours.
        if failure := left.get():
            raise failure
    os.close(file)
    return ended


def replay_serially(device: str, requests: Sequence[Sequence[int]]) -> list[float]:
    """Send requests one after the other, around the page cache; return what each took, in us.

    A request is an `elevatorlab.trial.workloads.SerialRequest`.
    """
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
    file = _opened(device, max(sector + sectors for *_, sector, sectors in requests) * SECTOR_BYTES)
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
        _expect_all(done_bytes, len(part), sector * SECTOR_BYTES)
    os.close(file)
    return latencies_us


def _opened(device: str, needed_bytes: int) -> int:
    """Open a device around the page cache; refuse one that ends before the furthest request."""
    file = os.open(device, os.O_RDWR | os.O_DIRECT)
    size_bytes = os.lseek(file, 0, os.SEEK_END)
    if size_bytes < needed_bytes:
        os.close(file)
        raise OSError(
            f"{device}: expected at least the {needed_bytes} bytes that the requests reach to; "
            f"found {size_bytes}. Name a smaller size for the requests, or a larger disk"
        )
    return file


def _sent(file: int, request: Mapping[str, Any], due_s: float) -> dict[str, float]:
    """Wait until a request is due, send it, and wait for its end."""
    size_bytes, offset = request["size_bytes"], request["offset_bytes"]
    buffer = memoryview(mmap.mmap(-1, size_bytes))
    time.sleep(max(0.0, due_s - time.monotonic()))
    sent_s = time.monotonic()
    done_bytes = (os.pwritev if request["write"] else os.preadv)(file, [buffer], offset)
    latency_s = time.monotonic() - sent_s
    _expect_all(done_bytes, size_bytes, offset)
    return {
        "late_us": round((sent_s - due_s) * 1e6, 3),
        "latency_us": round(latency_s * 1e6, 3),
    }


def _expect_all(done_bytes: int, size_bytes: int, offset: int) -> None:
    if done_bytes != size_bytes:
        raise OSError(
            f"a request at byte {offset} moved {done_bytes} of its {size_bytes} bytes; expected "
            "all of them. Look for errors of the disk in the kernel's log"
        )
