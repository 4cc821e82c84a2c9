"""The tidy table of the study: one row per test, number of threads and trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...results.tidy_columns import Table, number, shared, text, whole

TABLE = Table(
    "test, number of threads and trial",
    *shared("trial study testbed machine accelerator preset"),
    text("arm", "which disk: a simulated one by its profile, or the machine's own"),
    *shared("device backing_scheduler scheduler"),
    text("variant", "how the tests were run: as_published, or what differs"),
    text("tool", "what made the requests: iozone, or fio with the same patterns"),
    number("size_mib", "MiB", "size of each thread's file"),
    number("record_kib", "KiB", "size of each request"),
    whole("threads", "", "how many threads worked at the same time, each on its own file"),
    text("test", "iozone's test"),
    *shared("seed repetition"),
    number("throughput_kib_s", "KiB/s", "what all threads moved together"),
    number("slowest_kib_s", "KiB/s", "what the slowest thread moved"),
    number("least_kib", "KiB", "what the thread moved that moved least"),
    whole("run_read_bytes", "bytes", "what the device read in all tests of the run"),
    whole("run_written_bytes", "bytes", "what the device wrote in all tests of the run"),
    *shared("image_digest"),
)

COLUMNS = TABLE.names

ORDER = ["arm", "variant", "backing_scheduler", "scheduler", "threads", "repetition"]
ORDER += ["test", "trial"]


def rows(trial: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the study's own columns, one row for each test and number of threads of a trial."""
    labels = trial["labels"]
    found = result["workloads"]["iozone"]
    (workload,) = trial["workloads"]
    for run in found["runs"]:
        for test in run["tests"]:
            yield {
                "arm": labels["arm"],
                "variant": labels["variant"],
                "tool": found["tool"],
                "size_mib": workload["size_mib"],
                "record_kib": workload["record_kib"],
                "threads": run["threads"],
                "test": test["test"],
                "throughput_kib_s": test["throughput_kib_s"],
                "slowest_kib_s": test["slowest_kib_s"],
                "least_kib": test["least_kib"],
                "run_read_bytes": run["device_read_bytes"],
                "run_written_bytes": run["device_written_bytes"],
            }
