"""fio at several points, one after the other, and what the kernel counted meanwhile."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from ..errors import AgentError
from ..groups.worker import ending
from ..observe import kernel_counters, processor_time, tracefs
from .base import Workload
from .fio import arguments, by_direction, mean_ns, percentile_ns, total

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

#: fio is at work when requests end in so many looks at the device in a row, so far apart: what
#: else reads a disk (udev, which looks for a signature) does so for a moment only.
LOOKS, LOOK_MS = 3, 5

#: Between fio's first request and its own window, beside ramp and counted time: time for these
#: looks, and for the readings.
APART_MS = 30

#: A trace of a part of the counted time has thousands of events: enough, and soon read.
TRACED_SHARE = 0.5

#: fio that has not sent a request by then has no device, or waits for one that hangs.
PATIENCE_S = 20


class FioPoints(Workload):
    """Run fio once a point on the device.

    A reading of the counters keeps the processor busy for a moment, which a tail of latencies
    would show. So the counters are read in fio's ramp time, and fio measures afterwards. Where a
    point is traced that comes between the two.
    """

    def prepare(self) -> None:
        self.measured: list[dict[str, Any]] = []
        self.processor_time: processor_time.ProcessorTime | None = None
        if self.specification["traced_points"] and tracefs.there():
            self.processor_time = processor_time.ProcessorTime(self.device, self.context)

    def run(self) -> None:
        for number, point in enumerate(self.specification["points"]):
            self.measured.append(self._measure(number, point))

    def _measure(self, number: int, point: Mapping[str, Any]) -> dict[str, Any]:
        counters = kernel_counters.KernelCounters(self.device)
        traced = self.processor_time if number in self.specification["traced_points"] else None
        times = Times.of(self.specification, number)
        watcher = _Watcher(counters, times, traced)
        watcher.start()
        try:
            run = self.worker.call("run", argv=self._command(point, times, traced))
        finally:
            watcher.stop()
            counters.close()
        (self.raw / f"{self.name}-{number}.fio.json").write_text(run["output"])
        if run["status"]:
            raise AgentError(f"{ending('fio', run['status'], run['errors'])}\nPoint: {point}")
        measured = {"point": point, **summarise(run["output"]), "counters": watcher.counted()}
        return {**measured, "processor_time": traced.divided()} if traced else measured

    def _command(
        self,
        point: Mapping[str, Any],
        times: Times,
        traced: processor_time.ProcessorTime | None,
    ) -> list[str]:
        ramp_ms = times.ramp_ms + (2 if traced else 1) * (times.counted_ms + APART_MS)
        options = {
            "filename": f"/dev/{self.device}",
            "time_based": 1,
            "ramp_time": f"{ramp_ms}ms",
            "runtime": f"{times.window_ms}ms",
            # Latency from submission on: a scheduler that holds requests back holds them there.
            "lat_percentiles": 1,
            "clat_percentiles": 0,
            "percentile_list": "50:99",
            **self.specification["options"],
            **point,
        }
        argv = ["fio", "--output-format=json", f"--name={self.name}", f"--randseed={self.seed}"]
        return argv + arguments(options)

    def measurements(self) -> dict[str, Any]:
        return {"points": self.measured}


class Times(NamedTuple):
    """How long the parts of a point last."""

    ramp_ms: int
    counted_ms: int
    window_ms: int

    @classmethod
    def of(cls, specification: Mapping[str, Any], number: int) -> Times:
        """Return those of a point."""
        least = specification.get("least_ms")
        least_ms = least[number] if least else 0
        ramp_ms, window_ms = specification["ramp_ms"], specification["window_ms"]
        return cls(max(ramp_ms, least_ms), specification["counted_ms"], max(window_ms, least_ms))


class _Watcher(threading.Thread):
    """Waits for the first request, then for the ramp, reads the counters twice, and traces."""

    def __init__(
        self,
        counters: kernel_counters.KernelCounters,
        times: Times,
        traced: processor_time.ProcessorTime | None,
    ) -> None:
        super().__init__(name="counters", daemon=True)
        self.counters = counters
        self.ramp_s, self.counted_s = times.ramp_ms / 1000, times.counted_ms / 1000
        self.traced = traced
        self.readings: list[kernel_counters.Reading] = []
        self._ended = threading.Event()

    def run(self) -> None:
        """Read twice, unless stopped before (the thread's body)."""
        if not self._wait_for_requests():
            return
        for wait_s in (self.ramp_s, self.counted_s):
            if self._ended.wait(wait_s):
                return
            self.readings.append(self.counters.read())
        if self.traced:
            self.traced.start()
            self._ended.wait(self.counted_s * TRACED_SHARE)
            self.traced.pause()

    def _wait_for_requests(self) -> bool:
        until_s = time.monotonic() + PATIENCE_S
        before, moved = self.counters.requests(), 0
        while moved < LOOKS:
            if self._ended.wait(LOOK_MS / 1000) or time.monotonic() > until_s:
                return False
            now = self.counters.requests()
            moved = moved + 1 if now != before else 0
            before = now
        return True

    def stop(self) -> None:
        """End it; what it has not read by now it never will."""
        self._ended.set()
        self.join()

    def counted(self) -> dict[str, Any]:
        """Return what was counted between the two readings."""
        if len(self.readings) < 2:
            raise AgentError(
                "fio ended before the counters were read; expected it to go on after its ramp. "
                "See log.txt"
            )
        counted = kernel_counters.difference(*self.readings)
        if not counted["requests"]:
            raise AgentError(
                "no request ended while the counters were read; expected fio at work. The machine "
                "is overloaded, or the disk is too slow: raise counted_ms"
            )
        return counted


def summarise(text: str) -> dict[str, Any]:
    """Reduce fio's JSON report to the figures of a point.

    The text is what ``fio --output-format=json --lat_percentiles=1`` printed. For reads, writes
    and trims, where there was any: requests, bytes, IOPS, and of the latency from submission to
    completion mean, median and 99th percentile in nanoseconds.
    """
    return by_direction(text, _figures)


def _figures(jobs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    mean, percentiles = mean_ns(jobs, "lat_ns"), percentile_ns(jobs, "lat_ns")
    if mean is None or not {"50.000000", "99.000000"} <= set(percentiles):
        raise AgentError(
            "fio reports no median and 99th percentile of the latency from submission on; a point "
            "needs both. Leave out disable_lat, gtod_reduce, lat_percentiles, percentile_list and "
            "group_reporting"
        )
    return {
        "requests": total(jobs, "total_ios"),
        "bytes": total(jobs, "io_bytes"),
        "iops": total(jobs, "iops"),
        "latency_mean_ns": mean,
        "latency_p50_ns": percentiles["50.000000"],
        "latency_p99_ns": percentiles["99.000000"],
    }
