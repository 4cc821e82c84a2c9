"""The article's five tests by iozone, or, where it cannot be had, their patterns by fio."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..devices import block_device, filesystems
from ..errors import AgentError
from ..groups.worker import ending
from . import iozone_text
from .base import Workload
from .fio import jobs_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MIB = 1 << 20
PROBE_BYTES = MIB

TESTS = ("initial_write", "rewrite", "random_read", "mixed_workload", "random_write")


class Iozone(Workload):
    """``iozone -i 0 -i 2 -i 8`` with each number of threads, caches dropped before each.

    Not taken over from the article's script: ``-l 1``, with which iozone runs all smaller numbers
    of threads first and the script then reads the figure of one; and ``-b``, a spreadsheet file.
    """

    def prepare(self) -> None:
        """Refuse a file system that the files do not fit on; write the probe of the drop."""
        space = os.statvfs(filesystems.MOUNT_POINT)
        free_mib = space.f_bavail * space.f_frsize // MIB
        needed_mib = max(self.specification["threads"]) * self.specification["size_mib"] + 2
        if free_mib < needed_mib:
            raise AgentError(
                f"/dev/{self.device} has {free_mib} MiB free; expected {needed_mib} MiB for the "
                "files of all threads. Use a larger device, smaller files or fewer threads"
            )
        self.probe = self.path("probe")
        self.worker.call("make_file", path=self.probe, size_bytes=PROBE_BYTES, seed=self.seed)
        self.runs: list[dict[str, Any]] = []

    def run(self) -> None:
        """Run all tests with each number of threads, fewest first."""
        tests = {"iozone": self._by_iozone, "fio": self._by_fio}[self.specification["tool"]]
        for threads in self.specification["threads"]:
            files = [self.path(f"iozone-temp-{one + 1}") for one in range(threads)]
            probe_bytes = self._drop_caches()
            read, written = (
                block_device.read_bytes(self.device),
                block_device.written_bytes(self.device),
            )
            figures = tests(threads, files)
            self.runs.append(
                {
                    "threads": threads,
                    "probe_read_bytes": probe_bytes,
                    "device_read_bytes": block_device.read_bytes(self.device) - read,
                    "device_written_bytes": block_device.written_bytes(self.device) - written,
                    "tests": figures,
                }
            )

    def measurements(self) -> dict[str, Any]:
        return {"tool": self.specification["tool"], "runs": self.runs}

    def _drop_caches(self) -> int:
        """Drop the page cache, and prove it: what was cached must come from the device again."""
        filesystems.sync()
        filesystems.drop_caches()
        before = block_device.read_bytes(self.device)
        self.worker.call("timed", argv=["cat", self.probe])
        seen_bytes = block_device.read_bytes(self.device) - before
        if seen_bytes < PROBE_BYTES:
            raise AgentError(
                f"the page cache was not dropped: expected {PROBE_BYTES} bytes of a file from the "
                f"device, found {seen_bytes}"
            )
        return seen_bytes

    def _by_iozone(self, threads: int, files: Sequence[str]) -> list[dict[str, Any]]:
        specification = self.specification
        argv = ["iozone", "-R", *("-i", "0", "-i", "2", "-i", "8")]
        argv += ["-s", str(specification["size_mib"] << 10), "-r", str(specification["record_kib"])]
        argv += [
            "-l",
            str(threads),
            "-u",
            str(threads),
            *(["-I"] if specification["direct"] else []),
        ]
        argv += ["-F", *files]
        run = self.worker.call("run_until_complaint", argv=argv, complaints=iozone_text.COMPLAINTS)
        (self.raw / f"{self.name}.{threads}.iozone.txt").write_text(run["output"])
        figures = iozone_text.throughput(run["output"])
        ran = [one["test"] for one in figures]
        if ran != list(TESTS):
            raise AgentError(f"iozone ran {', '.join(ran)}; expected {', '.join(TESTS)}")
        return figures

    def _by_fio(self, threads: int, files: Sequence[str]) -> list[dict[str, Any]]:
        """Run the five patterns, one after the other, on the same files."""
        try:
            return [self._pattern(test, threads, files) for test in TESTS]
        finally:
            self.worker.call("run", argv=["rm", "-f", *files])

    def _pattern(self, test: str, threads: int, files: Sequence[str]) -> dict[str, Any]:
        specification = self.specification
        argv = ["fio", "--output-format=json", f"--randseed={self.seed}", "--ioengine=psync"]
        argv += [f"--size={specification['size_mib']}m", f"--bs={specification['record_kib']}k"]
        # iozone neither allocates files nor drops what is cached of them between its tests.
        argv += ["--fallocate=none", "--invalidate=0", f"--direct={int(specification['direct'])}"]
        for index, file in enumerate(files):
            argv += [f"--name={test}-{index}", f"--filename={file}", f"--rw={pattern(test, index)}"]
        run = self.worker.call("run", argv=argv)
        (self.raw / f"{self.name}.{threads}.{test}.fio.json").write_text(run["output"])
        if run["status"]:
            raise AgentError(
                f"{ending('fio', run['status'], run['errors'])}\n"
                f"In {test}, with {threads} threads. Is the device full?"
            )
        return {"test": test, "threads": threads, **rates(run["output"], threads)}


def pattern(test: str, index: int) -> str:
    """Return fio's word for what a thread does in a test.

    In iozone's mixed workload the first, third ... thread reads, the others write.
    """
    if test == "mixed_workload":
        return "randwrite" if index % 2 else "randread"
    words = {"random_read": "randread", "random_write": "randwrite"}
    return words.get(test, "write")


def rates(text: str, threads: int) -> dict[str, float]:
    """Return the figures of one test from fio's report, as `iozone_text.throughput` names them."""
    try:
        jobs = jobs_of(text)
        by_thread = [(job["read"]["bw_bytes"] + job["write"]["bw_bytes"]) / 1024 for job in jobs]
        moved = [(job["read"]["io_bytes"] + job["write"]["io_bytes"]) / 1024 for job in jobs]
    except (KeyError, TypeError):
        by_thread = moved = []
    if len(by_thread) != threads or not all(by_thread):
        raise AgentError(
            f"fio's report lacks figures: expected {threads} jobs that moved bytes, found "
            f"{sum(map(bool, by_thread))} in {len(text)} characters. See log.txt"
        )
    return {
        "throughput_kib_s": sum(by_thread),
        "slowest_kib_s": min(by_thread),
        "fastest_kib_s": max(by_thread),
        "least_kib": min(moved),
    }
