"""A closed single-server disk in discrete events, to close the regulator's loop in tests.

Each container has one or more writers: think, ask for a request, wait until the disk has
served it. The disk serves one request at a time in order of arrival. A limit holds a
request back, outside of the disk, until its bytes are paid for (as blk-throttle does).
"""

import heapq
import itertools
import random
from dataclasses import dataclass, field

from elevatorlab.agent.regulator.observation import Disk, Observation, Usage

#: How long an unused limit is kept (blk-throttle's slice).
THROTTLE_SLICE_S = 0.1


@dataclass
class Container:
    """A load: `depth` writers with think time, active between times of `active` (seconds)."""

    name: str
    think_ms: float = 2.23
    request_bytes: int = 4096
    depth: int = 1
    active: tuple = ((0.0, float("inf")),)
    sla_class: str = ""
    limit_bytes_s: float = None
    #: Before this time there is no such container: nobody sees it, nobody limits it.
    born_s: float = 0.0
    paid_until_s: float = 0.0
    counts: dict = field(default_factory=lambda: {"ios": 0, "bytes": 0, "wait_s": 0.0})

    def is_active(self, now_s):
        return any(start <= now_s < end for start, end in self.active)


class SingleServerDisk:
    """The disk: a request takes `seek_ms` and its bytes at `mib_s`; exponential by default."""

    def __init__(self, containers, seek_ms=0.8, mib_s=100.0, seed=1, exponential=True):
        self.containers = containers
        self.seek_s = seek_ms / 1000
        self.byte_s = 1 / (mib_s * (1 << 20))
        self.random = random.Random(seed)
        self.exponential = exponential
        self.now_s = 0.0
        self.busy_s = 0.0
        self.order = itertools.count()
        self.events = []
        self.waiting = []
        self.serving = False
        for container in containers:
            for _ in range(container.depth):
                self._think(container, 0.0)

    def _draw(self, mean_s):
        return self.random.expovariate(1 / mean_s) if self.exponential and mean_s else mean_s

    def _at(self, time_s, action, *arguments):
        heapq.heappush(self.events, (time_s, next(self.order), action, arguments))

    def _think(self, container, now_s):
        self._at(now_s + self._draw(container.think_ms / 1000), self._ask, container)

    def _ask(self, container):
        if not container.is_active(self.now_s):
            return self._at(self.now_s + 0.01, self._ask, container)
        if container.limit_bytes_s:
            saved_s = max(self.now_s - THROTTLE_SLICE_S, container.paid_until_s)
            container.paid_until_s = saved_s + container.request_bytes / container.limit_bytes_s
            return self._at(max(self.now_s, container.paid_until_s), self._arrive, container)
        self._arrive(container)

    def _arrive(self, container):
        self.waiting.append((self.now_s, container))
        self._serve()

    def _serve(self):
        if self.waiting and not self.serving:
            arrived_s, container = self.waiting.pop(0)
            service_s = self._draw(self.seek_s) + container.request_bytes * self.byte_s
            self.busy_s += service_s
            self.serving = True
            self._at(self.now_s + service_s, self._done, arrived_s, container)

    def _done(self, arrived_s, container):
        self.serving = False
        container.counts["ios"] += 1
        container.counts["bytes"] += container.request_bytes
        container.counts["wait_s"] += self.now_s - arrived_s
        self._think(container, self.now_s)
        self._serve()

    def run_until(self, end_s):
        while self.events and self.events[0][0] <= end_s:
            self.now_s, _, action, arguments = heapq.heappop(self.events)
            action(*arguments)
        self.now_s = end_s

    def observe(self, period_s):
        """Run for one period and return what the monitor would have seen."""
        for container in self.containers:
            container.counts.update(ios=0, bytes=0, wait_s=0.0)
        busy_s = self.busy_s
        present = [container for container in self.containers if container.born_s <= self.now_s]
        self.run_until(self.now_s + period_s)
        utilization = min(1.0, (self.busy_s - busy_s) / period_s)
        usages = tuple(_usage(container, period_s) for container in present)
        queue_length = sum(usage.queue_length for usage in usages)
        bytes_s = sum(usage.bytes_s for usage in usages)
        iops = sum(usage.iops for usage in usages)
        disk = Disk("sim", utilization, queue_length, bytes_s, iops, True)
        return Observation(self.now_s, period_s, usages, {"sim": disk})


class RecordedDisk(SingleServerDisk):
    """A disk with constant service times; `ended` has (when, wait) of each request.

    A request goes to the server that is free first. With `accept_s` a write is answered so long
    after it has a server, and not when it was served: the disk has a memory for one write a server.
    """

    servers = 1
    accept_s = None

    def __init__(self, containers, seek_ms, mib_s, seed=1):
        self.free_s = [0.0] * self.servers
        self.ended = {container.name: [] for container in containers}
        super().__init__(containers, seek_ms=seek_ms, mib_s=mib_s, seed=seed)

    def _arrive(self, container):
        service_s = self.seek_s + container.request_bytes * self.byte_s
        self.busy_s += service_s / self.servers
        first = min(range(self.servers), key=self.free_s.__getitem__)
        answered_s = max(self.now_s + (self.accept_s or 0.0), self.free_s[first])
        self.free_s[first] = answered_s + service_s
        if self.accept_s is None:
            answered_s += service_s
        self._at(answered_s, self._answered, self.now_s, container)

    def _answered(self, arrived_s, container):
        self.ended[container.name].append((self.now_s, self.now_s - arrived_s))
        container.counts["ios"] += 1
        container.counts["bytes"] += container.request_bytes
        container.counts["wait_s"] += self.now_s - arrived_s
        self._think(container, self.now_s)


class WriteBehindDisk(RecordedDisk):
    """The disk of study 3: it answers a write when it is in its memory, which holds one."""

    accept_s = 400e-6

    def __init__(self, containers, seed=1):
        super().__init__(containers, seek_ms=1.32, mib_s=9415 / 1024, seed=seed)


class ParallelDisk(RecordedDisk):
    """A disk that serves 32 requests at a time: nobody waits for another until it is full."""

    servers = 32

    def __init__(self, containers, seed=1):
        super().__init__(containers, seek_ms=20.0, mib_s=200.0, seed=seed)


def _usage(container, period_s):
    ios, size, wait_s = (container.counts[name] for name in ("ios", "bytes", "wait_s"))
    queue_length = wait_s / period_s
    return Usage(
        container.name, container.name, container.sla_class, "sim",
        0.0, ios / period_s, 0.0, size / period_s,
        wait_s / ios * 1000 if ios else None, queue_length, min(1.0, queue_length), ios, True,
    )  # fmt: skip


def closed_loop(disk, decide, periods, period_s=1.0):
    """Regulate with `decide`: (state, observation) -> (state, decisions); return each period's."""
    state, history = {}, []
    by_name = {container.name: container for container in disk.containers}
    for _ in range(periods):
        observation = disk.observe(period_s)
        state, decisions = decide(state, observation)
        for decision in decisions:
            if decision.key:
                by_name[decision.key].limit_bytes_s = decision.limit_bytes_s
        history.append((observation, decisions))
    return history
