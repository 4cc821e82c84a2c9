"""Counters of the device and of each group, read at a fixed interval.

From two readings, `dt` apart (fields of ``/proc/diskstats``, Documentation/admin-guide/
iostats.rst of the kernel), with the formulas that ``iostat -x`` (sysstat, rd_stats.c and
iostat.c) uses:

========================  =========================================================
IOPS                      d(ios) / dt
throughput                d(sectors) * 512 / dt
mean wait (await)         d(milliseconds spent by requests) / d(ios)
mean queue length         d(weighted milliseconds) / dt        (iostat's ``aqu-sz``)
utilisation               d(milliseconds with any request) / dt        (``%util``)
========================  =========================================================

Utilisation counts the time during which *anything* was in flight: for a device that
serves requests in parallel 1 does not mean saturated. A group's ``io.stat`` has bytes and
requests but no times, so a group has no wait, queue length or utilisation here, unless it
has a partition of its own, whose counters these are then. The kernel's count of the time
with anything in flight is good to a timer tick, which is wrong for a partition with one writer;
its utilisation is d(milliseconds spent by requests) / dt, at most 1. Of a disk that keeps an
account of its own work (a paced one) the server's utilisation and mean service time are known, too.
"""

from __future__ import annotations

import contextlib
import csv
import pathlib
import threading
import time
from typing import TYPE_CHECKING

from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    #: By name; None where there is nothing to take a mean of, or to read.
    Rates = dict[str, float | None]
    #: By the name of a device or a group.
    Counters = dict[str, dict[str, int]]
    #: When it was taken, in s, and what the devices and the groups had done until then.
    Reading = tuple[float, Counters, Counters]

    from ..groups.cgroups import Tree
    from ..groups.isolation import Group

SECTOR_BYTES = 512
#: Fields of `read_cpu`: a processor that waits for the disk is idle, too.
IDLE, IO_WAIT = 3, 4

#: Fields of a diskstats line after the device's name, in the kernel's order.
DISKSTATS = (
    "reads",
    "reads_merged",
    "read_sectors",
    "read_ms",
    "writes",
    "writes_merged",
    "write_sectors",
    "write_ms",
    "in_flight",
    "busy_ms",
    "weighted_ms",
)

COLUMNS = (
    "time_s",
    "target",
    "read_iops",
    "write_iops",
    "read_kib_s",
    "write_kib_s",
    "read_await_ms",
    "write_await_ms",
    "queue_length",
    "utilization_ratio",
)


def read_diskstats(device: str, text: str | None = None) -> dict[str, int]:
    """Return the counters of `device` by name (see `DISKSTATS`)."""
    text = pathlib.Path("/proc/diskstats").read_text() if text is None else text
    for line in text.splitlines():
        fields = line.split()
        if fields[2] == device:
            return dict(zip(DISKSTATS, map(int, fields[3:])))
    raise AgentError(
        f"/proc/diskstats has no device {device}; expected it to stay while it is measured"
    )


def read_cpu() -> list[int]:
    """Return the processors' times by kind, in ticks (first line of ``/proc/stat``)."""
    with open("/proc/stat") as file:
        return [int(field) for field in file.readline().split()[1:9]]


def device_rates(before: Mapping[str, int], after: Mapping[str, int], dt_s: float) -> Rates:
    """Return a device's rates between two readings of `read_diskstats`, `dt_s` apart.

    A wait is None where no request ended, since its mean does not exist.
    """
    d = {name: after[name] - before[name] for name in DISKSTATS if name != "in_flight"}
    return {
        "read_iops": d["reads"] / dt_s,
        "write_iops": d["writes"] / dt_s,
        "read_kib_s": d["read_sectors"] * SECTOR_BYTES / 1024 / dt_s,
        "write_kib_s": d["write_sectors"] * SECTOR_BYTES / 1024 / dt_s,
        "read_await_ms": d["read_ms"] / d["reads"] if d["reads"] else None,
        "write_await_ms": d["write_ms"] / d["writes"] if d["writes"] else None,
        "queue_length": d["weighted_ms"] / 1000 / dt_s,
        "utilization_ratio": d["busy_ms"] / 1000 / dt_s,
    }


def group_rates(before: Mapping[str, int], after: Mapping[str, int], dt_s: float) -> Rates:
    """Return a group's rates between two readings of its counters, `dt_s` apart."""
    d = {name: after[name] - before[name] for name in before}
    return {
        "read_iops": d["rios"] / dt_s,
        "write_iops": d["wios"] / dt_s,
        "read_kib_s": d["rbytes"] / 1024 / dt_s,
        "write_kib_s": d["wbytes"] / 1024 / dt_s,
    }


def partition_rates(before: Mapping[str, int], after: Mapping[str, int], dt_s: float) -> Rates:
    """Return the rates of a partition that one group has to itself, `dt_s` apart."""
    rates = device_rates(before, after, dt_s)
    spent_ms = sum(after[name] - before[name] for name in ("read_ms", "write_ms"))
    return {**rates, "utilization_ratio": min(1.0, spent_ms / 1000 / dt_s)}


def server_rates(before: Mapping[str, float] | None, after: Mapping[str, float] | None) -> Rates:
    """Return how busy a disk's server was between two of its accounts, and with what.

    Nothing is known of a disk that keeps none (None).
    """
    if before is None or after is None:
        return {"busy_ratio": None, "service_ms": None}
    d = {name: after[name] - before[name] for name in before}
    return {
        "busy_ratio": d["busy_s"] / d["time_s"],
        "service_ms": d["busy_s"] * 1000 / d["requests"] if d["requests"] else None,
    }


class Sampler(threading.Thread):
    """Reads the counters every `interval_s` until stopped.

    Sample times are multiples of the interval after the start: a late sample does not
    delay the ones after it. `account` is called at both ends of the overall rates' span.
    """

    def __init__(
        self,
        device: str,
        groups: Iterable[Group],
        tree: Tree,
        interval_s: float,
        account: Callable[[], Mapping[str, float] | None],
    ) -> None:
        super().__init__(name="sampler", daemon=True)
        self.device = device
        self.groups = list(groups)
        self.partitions = [group.device for group in self.groups if group.device != device]
        self.tree = tree
        self.interval_s = interval_s
        self.number = pathlib.Path("/sys/class/block", device, "dev").read_text().strip()
        self.readings: list[Reading] = []
        self.account = account
        self.span: list[Reading] = []
        self.cpu: list[list[int]] = []
        self.accounts: list[Mapping[str, float] | None] = []
        self._ended = threading.Event()

    def _read(self) -> Reading:
        now_s = time.monotonic()
        groups = {group.name: self.tree.counters(group.path, self.number) for group in self.groups}
        text = pathlib.Path("/proc/diskstats").read_text()
        devices = {name: read_diskstats(name, text) for name in (self.device, *self.partitions)}
        return now_s, devices, groups

    def cpu_busy_ratio(self) -> float | None:
        """Return the processors' busy time, of all their time, from `begin` to the end."""
        spent = [after - before for before, after in zip(*self.cpu)]
        return 1 - (spent[IDLE] + spent[IO_WAIT]) / sum(spent) if any(spent) else None

    def run(self) -> None:
        """Read until stopped (the thread's body); of a device that is gone `stop` tells."""
        with contextlib.suppress(AgentError):
            self._read_on()

    def _read_on(self) -> None:
        start_s = time.monotonic()
        self.readings.append(self._read())
        while True:
            next_s = start_s + len(self.readings) * self.interval_s
            if self._ended.wait(max(0.0, next_s - time.monotonic())):
                break
            self.readings.append(self._read())

    def begin(self, after_s: float) -> None:
        """Let the span of the overall rates begin `after_s` from now."""
        time.sleep(after_s)
        self.span = [self._read()]
        self.cpu = [read_cpu()]
        self.accounts = [self.account()]

    @property
    def start_s(self) -> float:
        """When the first reading was taken, from which the times of all rows count."""
        return self.readings[0][0]

    def stop(self) -> None:
        """Take a last reading and end."""
        try:
            last = self._read()
        finally:
            self._ended.set()
            self.join()
        self.readings.append(last)
        self.span.append(last)
        self.cpu.append(read_cpu())
        self.accounts.append(self.account())

    def server(self) -> Rates:
        """Return how busy the disk's server was, from `begin` to the end."""
        return server_rates(*self.accounts)

    def rows(self) -> Iterator[dict[str, float | str | None]]:
        """Return one row for each interval and target, as `COLUMNS` names them."""
        for (t0, devices0, groups0), (t1, devices1, groups1) in zip(
            self.readings, self.readings[1:]
        ):
            if t1 <= t0:
                continue
            common = {"time_s": t1 - self.start_s}
            rates = device_rates(devices0[self.device], devices1[self.device], t1 - t0)
            yield {**common, "target": "device", **rates}
            for group in self.groups:
                rates = group_rates(groups0[group.name], groups1[group.name], t1 - t0)
                if (name := group.device) in self.partitions:
                    rates |= partition_rates(devices0[name], devices1[name], t1 - t0)
                yield {**common, "target": group.name, **rates}

    def overall(self, device: str | None = None) -> Rates:
        """Return the rates of the device, or of a partition, from `begin` to the end."""
        (t0, before, _), (t1, after, _) = self.span
        name = device or self.device
        rates = partition_rates if name in self.partitions else device_rates
        return {"duration_s": t1 - t0, **rates(before[name], after[name], t1 - t0)}

    def write(self, file: pathlib.Path) -> None:
        """Write `rows` as CSV."""
        with open(file, "w", newline="") as out:
            writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
            writer.writeheader()
            for row in self.rows():
                shown = {
                    key: round(value, 6) if isinstance(value, float) else value
                    for key, value in row.items()
                }
                writer.writerow(shown)
