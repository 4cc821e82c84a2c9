"""Whose work the processor does, when an NVMe/TCP host and its target share it.

The kernel says when it switches tasks, runs a work item of a driver or a softirq, takes in a
packet, or ends a request; the time from one such event to the next belongs to whatever it began.
An interrupt's own time, before it raises a softirq, counts with what it interrupts. What a link's
queues cost (`devices.link`) is nobody's: a network card does it between two machines.

=============  ====================================================================================
``submit``     fio, with its system calls
``dispatch``   the block layer's queue, which hands requests to the driver
``driver``     NVMe/TCP: building, sending and reading what goes over the network
``receive``    the network's softirq, up to TCP
``complete``   the block layer's softirq
=============  ====================================================================================
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ..devices import cable
from . import tracefs

if TYPE_CHECKING:
    from typing import Any

    #: Host or target, and which of its work.
    Owner = tuple[str, str]
    #: Time in ns, and events, by owner.
    Spent = dict[Owner, tuple[int, int]]

    from ..lifecycle.context import Context

EVENTS = (
    *("sched/sched_switch", "workqueue/workqueue_execute_start", "workqueue/workqueue_execute_end"),
    *("irq/softirq_entry", "irq/softirq_exit", "net/netif_receive_skb", "block/block_rq_complete"),
)

HOST, TARGET = "host", "target"
OTHER, IDLE = ("other", "other"), ("idle", "idle")

#: Whose work a function is that the kernel runs for somebody, by how its name begins.
WORK = {
    "nvmet": (TARGET, "driver"),
    "nvme_": (HOST, "driver"),
    "blk_mq": (HOST, "dispatch"),
}
SOFTIRQ = {"NET_RX": "receive", "BLOCK": "complete"}

#: "  kworker/0:1H-60 [000] d.s2. 12.345678: softirq_entry: vec=3 [action=NET_RX]"
LINE = re.compile(
    r"^\s*(?P<task>.+)-(?P<pid>\d+)\s+\[(?P<processor>\d+)\]\s+\S+\s+(?P<time>\d+\.\d+): "
    r"(?P<event>\w+): (?P<said>.*)$"
)


class ProcessorTime:
    """Records what the processor does for the host's disk between `start` and `pause`."""

    def __init__(self, device: str, context: Context) -> None:
        number = os.stat(f"/dev/{device}").st_rdev
        self.device = f"{os.major(number)},{os.minor(number)}"
        self.buffer = tracefs.Buffer("elevatorlab-processor-time", EVENTS, context.journal)
        self.start, self.pause = self.buffer.start, self.buffer.pause

    def divided(self) -> dict[str, Any] | None:
        """Return `divide` of what was recorded; None where it did not fit into the buffer."""
        text, lost = self.buffer.stop()
        return None if lost else divide(text, self.device)


def divide(text: str, device: str) -> dict[str, Any]:
    """Divide the time of a trace among host and target.

    The text is tracefs' ``trace`` file, with `EVENTS`; the device is the host's disk,
    ``MAJOR,MINOR``. Returns ``requests`` that the host's disk ended; ``time_ns``, by host or target
    and its work, where ``other`` is the agent, timers and what else there is; and ``events``, as
    many as were recorded in that time: each of them cost some of it.
    """
    processors: dict[str, _Processor] = {}
    requests = 0
    for line in text.splitlines():
        if not (found := LINE.match(line)):
            continue
        processor = processors.setdefault(found["processor"], _Processor(device))
        processor.see(found)
        requests += found["event"] == "block_rq_complete" and _number(found["said"]) == device
    all_ns: dict[str, int] = {}
    all_events: dict[str, int] = {}
    for processor in processors.values():
        for owner, (time_ns, events) in processor.spent.items():
            name = " ".join(dict.fromkeys(owner))
            all_ns[name] = all_ns.get(name, 0) + time_ns
            all_events[name] = all_events.get(name, 0) + events
    return {"requests": requests, "time_ns": all_ns, "events": all_events}


class _Processor:
    """What one processor does: its task, the work item of that task, and a softirq on top."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.spent: Spent = {}
        self.before_ns: int | None = None
        self.task = _Owner(self.spent, OTHER)
        self.softirq = _Owner(self.spent, None)
        self.kind = ""  # of softirq, while one runs
        self.work: dict[
            str, Owner
        ] = {}  # by process: a work item may be interrupted by another task

    def see(self, found: re.Match[str]) -> None:
        """Take in the next event, whose time ends that of the one before."""
        now_ns = round(float(found["time"]) * 1e6) * 1000
        if self.before_ns is not None:
            (self.softirq if self.kind else self.task).spend(now_ns - self.before_ns, 1)
        self.before_ns = now_ns
        known = getattr(self, f"_{found['event']}", None)
        if known:
            known(found)

    def _sched_switch(self, found: re.Match[str]) -> None:
        """A worker that is not at work already begins for the work item that comes next."""
        name, pid = re.findall(r"next_comm=(.*) next_pid=(\d+)", found["said"])[0]
        self.task.change(self.work.get(pid) or _task(name, pid))

    def _workqueue_execute_start(self, found: re.Match[str]) -> None:
        function = found["said"].partition("function ")[2]
        owners = [owner for name, owner in WORK.items() if function.startswith(name)]
        self.work[found["pid"]] = (owners or [OTHER])[0]
        self.task.settle(self.work[found["pid"]])

    def _workqueue_execute_end(self, found: re.Match[str]) -> None:
        """What the worker does until it sleeps counts with the work item."""
        self.work.pop(found["pid"], None)

    def _softirq_entry(self, found: re.Match[str]) -> None:
        self.kind = found["said"].partition("action=")[2].rstrip("]")
        self.softirq.change(None if self.kind in SOFTIRQ else OTHER)

    def _softirq_exit(self, _: re.Match[str]) -> None:
        self.softirq.change(None)
        self.kind = ""

    def _netif_receive_skb(self, found: re.Match[str]) -> None:
        if self.kind == "NET_RX":
            to_target = f"dev={cable.TARGET.name} " in found["said"]
            self.softirq.settle((TARGET if to_target else HOST, SOFTIRQ[self.kind]))

    def _block_rq_complete(self, found: re.Match[str]) -> None:
        if self.kind == "BLOCK":
            of_host = _number(found["said"]) == self.device
            self.softirq.settle((HOST if of_host else TARGET, SOFTIRQ[self.kind]))


class _Owner:
    """Whose time it is, or None as long as only what comes next can tell."""

    def __init__(self, spent: Spent, owner: Owner | None) -> None:
        self.spent, self.owner = spent, owner
        self.unowned: list[tuple[int, int]] = []

    def spend(self, time_ns: int, events: int) -> None:
        """Add time, and the events at whose beginning it was recorded, to what was spent."""
        if self.owner is None:
            self.unowned.append((time_ns, events))
        else:
            before_ns, so_many = self.spent.get(self.owner, (0, 0))
            self.spent[self.owner] = before_ns + time_ns, so_many + events

    def settle(self, owner: Owner | None) -> None:
        """From now on the time is `owner`'s, and what nobody had until now is, too."""
        self.owner = owner
        while self.unowned:
            self.spend(*self.unowned.pop())

    def change(self, owner: Owner | None) -> None:
        """From now on the time is `owner`'s; what nobody had until now stays nobody's."""
        self.settle(OTHER)
        self.owner = owner


def _task(name: str, pid: str) -> Owner | None:
    """Return whose time a task's is; None for a worker, which works for anybody."""
    if pid == "0":
        return IDLE
    if name.startswith("kworker/"):
        return None
    return (HOST, "submit") if name == "fio" else OTHER


def _number(said: str) -> str:
    return said.split()[0]
