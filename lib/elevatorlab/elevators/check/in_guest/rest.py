"""Measure how long the processors work while no disk has anything to do."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

RESTS_S = 2.0

#: Time before that for what is still to be done after work, such as memory that is freed late.
SETTLES_S = 0.5


def busy_ms() -> float:
    """Let the machine rest; return how long its processors have worked meanwhile, together."""
    time.sleep(SETTLES_S)
    began_ns, idle_ns = time.monotonic_ns(), _idle_ns()
    time.sleep(RESTS_S)
    took_ns = time.monotonic_ns() - began_ns
    return sum(took_ns - (now - then) for now, then in zip(_idle_ns(), idle_ns, strict=True)) / 1e6


def _idle_ns() -> list[int]:
    """Return how long each processor has slept since the machine began.

    The kernel counts a sleep at its end. So each processor is asked by a program that runs on it.
    """
    processors = os.sched_getaffinity(0)
    slept = []
    for number in sorted(processors):
        os.sched_setaffinity(0, {number})
        timers = Path("/proc/timer_list").read_text()
        slept.append(int(re.findall(r"\.idle_sleeptime +: (\d+)", timers)[number]))
    os.sched_setaffinity(0, processors)
    return slept
