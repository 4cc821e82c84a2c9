"""Wait for a machine with a limit of wall time that grows on a busy computer."""

import contextlib
import subprocess
import time
from pathlib import Path

#: When less than this is left of a limit, the wait is over.
LEAST_S = 0.05


def run_queue_wait_s(pid: int) -> float:
    """Return how long a process was ready to run while other processes had the processor.

    This is the time of the thread that waited longest; 0 if the kernel does not count it.
    """
    waited_ns = [0]
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError):  # a thread ended
            waited_ns.append(int(file.read_text().split()[1]))
    return max(waited_ns) / 1e9


def wait(machine: subprocess.Popen[str], limit_s: float) -> int:
    """Wait until a process has ended, and return its status.

    `limit_s`: Limit of wall time. Time in which other processes had the processor does not count.
    """
    began_s = time.monotonic()
    left_s = limit_s
    while True:
        try:
            return machine.wait(left_s)
        except subprocess.TimeoutExpired:
            left_s = limit_s + run_queue_wait_s(machine.pid) - (time.monotonic() - began_s)
            if left_s < LEAST_S:
                raise
