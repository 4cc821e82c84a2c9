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
requests but no times, so a group has no wait, queue length or utilisation here.
"""

import csv
import pathlib
import threading
import time

SECTOR_BYTES = 512

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


def read_diskstats(device, text=None):
    """Return the counters of `device` by name (see `DISKSTATS`)."""
    text = pathlib.Path("/proc/diskstats").read_text() if text is None else text
    for line in text.splitlines():
        fields = line.split()
        if fields[2] == device:
            return dict(zip(DISKSTATS, map(int, fields[3:])))
    raise KeyError(f"/proc/diskstats has no device {device}")


def device_rates(before, after, dt_s):
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


def group_rates(before, after, dt_s):
    """Return a group's rates between two readings of its counters, `dt_s` apart."""
    d = {name: after[name] - before[name] for name in before}
    return {
        "read_iops": d["rios"] / dt_s,
        "write_iops": d["wios"] / dt_s,
        "read_kib_s": d["rbytes"] / 1024 / dt_s,
        "write_kib_s": d["wbytes"] / 1024 / dt_s,
    }


class Sampler(threading.Thread):
    """Reads the counters every `interval_s` until stopped.

    Sample times are multiples of the interval after the start: a late sample does not
    delay the ones after it.
    """

    def __init__(self, device, groups, tree, interval_s):
        super().__init__(name="sampler", daemon=True)
        self.device = device
        self.groups = groups
        self.tree = tree
        self.interval_s = interval_s
        self.number = pathlib.Path("/sys/class/block", device, "dev").read_text().strip()
        self.readings = []
        self._ended = threading.Event()

    def _read(self):
        now_s = time.monotonic()
        groups = {group.name: self.tree.counters(group.path, self.number) for group in self.groups}
        self.readings.append((now_s, read_diskstats(self.device), groups))

    def run(self):
        """Read until stopped (the thread's body)."""
        start_s = time.monotonic()
        self._read()
        while True:
            next_s = start_s + len(self.readings) * self.interval_s
            if self._ended.wait(max(0.0, next_s - time.monotonic())):
                break
            self._read()
        self._read()

    def stop(self):
        """Take a last reading and end."""
        self._ended.set()
        self.join()

    def rows(self):
        """Return one row for each interval and target, as `COLUMNS` names them."""
        start_s = self.readings[0][0]
        for (t0, device0, groups0), (t1, device1, groups1) in zip(self.readings, self.readings[1:]):
            if t1 <= t0:
                continue
            common = {"time_s": t1 - start_s}
            yield {**common, "target": "device", **device_rates(device0, device1, t1 - t0)}
            for name in groups0:
                rates = group_rates(groups0[name], groups1[name], t1 - t0)
                yield {**common, "target": name, **rates}

    def overall(self):
        """Return the device's rates over all of the sampled time."""
        (t0, before, _), (t1, after, _) = self.readings[0], self.readings[-1]
        return {"duration_s": t1 - t0, **device_rates(before, after, t1 - t0)}

    def write(self, file):
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
