"""Synchronous writes at a pace: the load of the isolation study.

It runs inside the group, in the worker's process: one thread a writer, each with one write in
flight. Times are taken around the system call.
"""

from __future__ import annotations

import ctypes
import errno
import math
import mmap
import os
import queue
import random
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    #: When writes are due; None ends a writer.
    Arrivals = queue.SimpleQueue[float | None]

PR_SET_TIMERSLACK = 29
#: ioprio_set(2) has no function in the C library: its number on each kind of machine, what says
#: that it is about a thread, and the classes, which stand above 13 bits of a level.
IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
IOPRIO_WHO_PROCESS, IOPRIO_CLASS_SHIFT = 1, 13
IO_CLASSES = {"best-effort": 2, "idle": 3}
#: Bins of the histogram for each factor of two.
BINS_PER_OCTAVE = 8
PERCENTILES = (50, 90, 95, 99, 99.9)


#: Loads that were prepared, by name.
LOADS: dict[str, Load] = {}


def prepare_writes(
    name: str,
    device: str,
    request_bytes: int,
    spread: str,
    seed: str,
    io_class: str | None = None,
) -> None:
    """Open a device for `paced_writes`, and write once, so that the first write costs no more.

    `device` is a path, `spread` is ``constant`` or ``exponential``, `io_class` one of `IO_CLASSES`.
    """
    LOADS[name] = load = Load(device, request_bytes, spread, seed, io_class)
    load.run({"writers": 1, "think_us": 0, "arrivals_per_s": None}, time.monotonic() + 1e-6)
    load.ended.clear()


def paced_writes(name: str, phases: list[dict[str, Any]], report_ms: int) -> dict[str, Any]:
    """Write as the phases (`elevatorlab.trial.workloads.Phase`) say; return what it took.

    That is: ``requests``, ``bytes``, ``latency_mean_us``, ``latency_percentile_us``, ``busy_s``
    (all waits together), ``histogram`` (pairs of a bin's upper end in us and its count) and
    ``series`` (for each interval: ``time_s``, ``requests``, ``latency_mean_us``,
    ``latency_p99_us``).
    """
    load = LOADS.pop(name)
    start_s = end_s = time.monotonic()
    for phase in phases:
        end_s += phase["duration_s"]
        load.run(phase, end_s)
    load.close()
    return summary(load.ended, start_s, load.request_bytes, report_ms / 1000, end_s - start_s)


class Load:
    """Threads that write to one device."""

    def __init__(
        self, device: str, request_bytes: int, spread: str, seed: str, io_class: str | None = None
    ) -> None:
        self.file = os.open(device, os.O_WRONLY | os.O_DIRECT | os.O_SYNC)
        self.size_bytes = os.lseek(self.file, 0, os.SEEK_END)
        self.request_bytes = request_bytes
        self.buffer = mmap.mmap(-1, -(-request_bytes // mmap.PAGESIZE) * mmap.PAGESIZE)
        self.buffer.write(random.Random(seed).randbytes(request_bytes))
        self.exponential = spread == "exponential"
        self.seed = seed
        self.io_class = io_class
        self.next_offset = 0
        self.ended: list[tuple[float, float]] = []  # (when, how long), in seconds
        self.failure: OSError | None = None

    def run(self, phase: Mapping[str, Any], end_s: float) -> None:
        """Do one phase."""
        arrivals = phase["arrivals_per_s"]
        due: Arrivals | None = queue.SimpleQueue() if arrivals else None
        threads = [
            threading.Thread(target=self._guarded, args=(index, phase, end_s, due), daemon=True)
            for index in range(phase["writers"])
        ]
        for thread in threads:
            thread.start()
        if due is not None:
            self._arrive(arrivals, end_s, due, len(threads))
        for thread in threads:
            thread.join()
        if self.failure:
            raise self.failure
        time.sleep(max(0.0, end_s - time.monotonic()))

    def _guarded(
        self, index: int, phase: Mapping[str, Any], end_s: float, due: Arrivals | None
    ) -> None:
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)  # its own for each thread
        try:
            if self.io_class:
                _set_io_class(self.io_class)
            if due is None:
                self._write_and_think(index, phase["think_us"] / 1e6, end_s)
            else:
                self._write_when_due(due)
        except OSError as problem:
            self.failure = problem

    def _write_and_think(self, index: int, think_s: float, end_s: float) -> None:
        chance = random.Random(f"{self.seed}/{index}")
        while time.monotonic() < end_s:
            self._write(time.monotonic())
            if think_s:
                time.sleep(chance.expovariate(1 / think_s) if self.exponential else think_s)

    def _arrive(self, rate_per_s: float, end_s: float, due: Arrivals, writers: int) -> None:
        """Ask for a write at each arrival, until the end of the phase."""
        chance = random.Random(f"{self.seed}/arrivals")
        at_s = time.monotonic()
        while True:
            at_s += chance.expovariate(rate_per_s) if self.exponential else 1 / rate_per_s
            if at_s >= end_s:
                break
            time.sleep(max(0.0, at_s - time.monotonic()))
            due.put(at_s)
        for _ in range(writers):
            due.put(None)

    def _write_when_due(self, due: Arrivals) -> None:
        while (at_s := due.get()) is not None:
            self._write(at_s)

    def _write(self, since_s: float) -> None:
        """Write the next block; its latency counts from `since_s`."""
        offset = self.next_offset
        following = offset + self.request_bytes
        self.next_offset = following if following + self.request_bytes <= self.size_bytes else 0
        os.pwritev(self.file, [memoryview(self.buffer)[: self.request_bytes]], offset)
        now_s = time.monotonic()
        self.ended.append((now_s, now_s - since_s))

    def close(self) -> None:
        """Close the device."""
        os.close(self.file)


def _set_io_class(name: str) -> None:
    """Give the writes of this thread a class; the lowest level, as the kernel's idle class has."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = IOPRIO_SET.get(os.uname().machine)
    value = IO_CLASSES[name] << IOPRIO_CLASS_SHIFT
    if number is None or libc.syscall(number, IOPRIO_WHO_PROCESS, 0, value):
        problem = ctypes.get_errno() if number else errno.ENOSYS
        raise OSError(problem, f"the I/O class {name!r} could not be set: {os.strerror(problem)}")


def summary(
    ended: list[tuple[float, float]],
    start_s: float,
    request_bytes: int,
    interval_s: float,
    duration_s: float,
) -> dict[str, Any]:
    """Reduce (when, latency) pairs to the figures that `paced_writes` returns."""
    latencies_us = sorted(latency_s * 1e6 for _, latency_s in ended)
    count = len(latencies_us)
    # Rounded, or a duration that is a sum of phases would make a bin of no length.
    bins: list[list[float]] = [[] for _ in range(math.ceil(round(duration_s / interval_s, 6)))]
    for when_s, latency_s in ended:
        bins[min(int((when_s - start_s) / interval_s), len(bins) - 1)].append(latency_s * 1e6)
    return {
        "requests": count,
        "bytes": count * request_bytes,
        "duration_s": duration_s,
        "busy_s": sum(latencies_us) / 1e6,
        "latency_mean_us": sum(latencies_us) / count if count else None,
        "latency_percentile_us": {
            str(percent): percentile(latencies_us, percent) for percent in PERCENTILES if count
        },
        "histogram": histogram(latencies_us),
        "series": [
            {
                "time_s": round((index + 1) * interval_s, 6),
                "requests": len(some),
                "latency_mean_us": sum(some) / len(some) if some else None,
                "latency_p99_us": percentile(sorted(some), 99) if some else None,
            }
            for index, some in enumerate(bins)
        ],
    }


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return a percentile of values in order; one of them.

    >>> percentile(range(200), 99)
    198
    """
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def histogram(latencies_us: Iterable[float]) -> list[list[float]]:
    """Return [upper end of the bin in us, count] of each bin that is not empty.

    >>> histogram([1.5, 3.0, 3.0])
    [[1.5422108254079407, 1], [3.0844216508158815, 2]]
    """
    counts: dict[int, int] = {}
    for latency_us in latencies_us:
        step = max(0, math.ceil(BINS_PER_OCTAVE * math.log2(latency_us))) if latency_us > 1 else 0
        counts[step] = counts.get(step, 0) + 1
    return [[2 ** (step / BINS_PER_OCTAVE), count] for step, count in sorted(counts.items())]
