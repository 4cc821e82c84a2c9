"""What the kernel counts while requests are served, from one reading to another.

All of it is there anyway, so watching changes nothing but the moment of a reading.

``busy_ns``
    Processor time that was not idle, of all processors, from the idle task's own account
    (``/proc/timer_list``, in nanoseconds; interrupts that come while it runs are not idle).
    Where one nanosecond is one instruction, these are instructions.
``context_switches``, ``interrupts``
    ``/proc/stat``.
``host_sends``, ``target_sends``
    TCP segments that carried data (``TcpExtTCPOrigDataSent``), for the machine's first network
    namespace and that of an NVMe/TCP target; one send of up to 64 KiB is one segment per MTU.
``scheduler``
    Counters that a scheduler keeps in ``queue/iosched``, where its record names any.
"""

from __future__ import annotations

import functools
import pathlib
import re
import time
from typing import TYPE_CHECKING

from ..devices import cable, schedulers
from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

    #: When it was taken, in ns, and the text of each file.
    Reading = tuple[int, dict[str, str]]

IDLE = re.compile(r"\.(?:idle|iowait)_sleeptime\s*: (\d+) nsecs")


class KernelCounters:
    """Reads the counters of a device, its scheduler and its machine."""

    def __init__(self, device: str) -> None:
        queue = pathlib.Path("/sys/class/block", device)
        self.files: dict[str, TextIO] = {"requests": open(queue / "stat")}
        self.files["processor"] = open("/proc/stat")
        self.files["idle"] = open("/proc/timer_list")
        for name in schedulers.counters():
            if (queue / "queue/iosched" / name).exists():
                self.files[name] = open(queue / "queue/iosched" / name)
        self.files["host_sends"] = open("/proc/self/net/netstat")
        if (cable.NAMESPACES / cable.NAMESPACE).exists():
            of_target = functools.partial(open, "/proc/thread-self/net/netstat")
            self.files["target_sends"] = cable.inside(cable.NAMESPACE, of_target)

    def close(self) -> None:
        """Let go of the files."""
        for file in self.files.values():
            file.close()

    def requests(self) -> int:
        """Return how many requests the device has completed."""
        return _requests(self._text("requests"))

    def read(self) -> Reading:
        """Take a reading: the time, and the files as they are; `difference` makes sense of it."""
        return time.monotonic_ns(), {name: self._text(name) for name in self.files}

    def _text(self, name: str) -> str:
        self.files[name].seek(0)
        return self.files[name].read()


def difference(before: Reading, after: Reading) -> dict[str, Any]:
    """Return what was counted between two readings; the module says what each means."""
    (start_ns, first), (end_ns, last) = before, after

    def counted(number: Callable[[str], int], name: str) -> int:
        return number(last[name]) - number(first[name])

    found = {"duration_ns": end_ns - start_ns, "requests": counted(_requests, "requests")}
    processors = len(re.findall(r"^cpu\d", last["processor"], re.MULTILINE))
    found["busy_ns"] = processors * found["duration_ns"] - counted(_idle_ns, "idle")
    for name, word in (("context_switches", "ctxt"), ("interrupts", "intr")):
        found[name] = counted(functools.partial(_after, word), "processor")
    for name in ("host_sends", "target_sends"):
        if name in last:
            found[name] = counted(_data_segments, name)
    scheduler = {name: counted(int, name) for name in schedulers.counters() if name in last}
    return {**found, "scheduler": scheduler} if scheduler else found


def _requests(text: str) -> int:
    """Reads and writes completed: Documentation/block/stat.rst of the kernel."""
    fields = text.split()
    return int(fields[0]) + int(fields[4])


def _idle_ns(text: str) -> int:
    found = IDLE.findall(text)
    if not found:
        raise AgentError(
            "/proc/timer_list has no idle time; expected it of a kernel with CONFIG_NO_HZ_COMMON. "
            "Leave this workload out"
        )
    return sum(map(int, found))


def _after(word: str, text: str) -> int:
    return int(re.findall(rf"^{word} (\d+)", text, re.MULTILINE)[0])


def _data_segments(text: str) -> int:
    """TCPOrigDataSent of a ``netstat`` file: a line of names, then a line of numbers."""
    names, numbers = (line.split() for line in text.splitlines() if line.startswith("TcpExt:"))
    return int(dict(zip(names, numbers))["TCPOrigDataSent"])
