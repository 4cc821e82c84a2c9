"""A limit of wall time for a machine, which a busy computer does not shorten."""

import contextlib
import subprocess
import time
from pathlib import Path

#: Of what is left of a limit, so little is not waited for.
LEAST_S = 0.05


def kept_waiting_s(pid: int) -> float:
    """Return for how long a process could have run, but other processes had the processor.

    That of its thread which waited longest; 0 where the kernel does not count it.
    """
    waited_ns = [0]
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError):  # a thread ended
            waited_ns.append(int(file.read_text().split()[1]))
    return max(waited_ns) / 1e9


def wait(machine: subprocess.Popen[str], limit_s: float) -> int:
    """Wait until a process has ended, and return its status.

    Parameters
    ----------
    machine : subprocess.Popen
    limit_s : float
        Of wall time, without the time in which it was kept waiting.

    Raises
    ------
    subprocess.TimeoutExpired
        When it has not ended by then.
    """
    began_s = time.monotonic()
    left_s = limit_s
    while True:
        try:
            return machine.wait(left_s)
        except subprocess.TimeoutExpired:
            left_s = limit_s + kept_waiting_s(machine.pid) - (time.monotonic() - began_s)
            if left_s < LEAST_S:
                raise
