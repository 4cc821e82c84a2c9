"""fio, with its own JSON report kept as it is."""

from __future__ import annotations

import json
import math
import os
import re
from typing import TYPE_CHECKING

from ..errors import AgentError
from ..groups.worker import ending
from .base import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

DIRECTIONS = ("read", "write", "trim")

#: Where a document begins. A note has a brace, too, at times, but none of an object with names.
_BEGINNING = re.compile(r'^[ \t]*\{(?=\s*(?:"|\Z))', re.MULTILINE)

#: What C prints for a quotient of nothing; JSON has no such word, and Python's is another.
_NO_NUMBER = re.compile(r'(": *)[-+]?(?:nan|inf)(?=\s*[,}\]])', re.IGNORECASE)


class Fio(Workload):
    """Run fio with the trial's options on the device, or on a file where it has a file system."""

    def run(self) -> None:
        """Run fio to its end."""
        argv = ["fio", "--output-format=json", f"--name={self.name}", f"--randseed={self.seed}"]
        options = dict(self.specification["options"])
        if "filename" not in options:
            on_device = self.group.work is None
            options["filename"] = self.node if on_device else self.path(self.name)
        argv += arguments(options)
        run = self.worker.call("run", argv=argv)
        report = self.raw / f"{self.name}.fio.json"
        report.write_text(run["output"])
        if run["status"]:
            raise AgentError(f"{ending('fio', run['status'], run['errors'])}\nOptions: {options}")
        self.summary = summarise(run["output"])

    def measurements(self) -> dict[str, Any]:
        return self.summary


def arguments(options: Mapping[str, Any]) -> list[str]:
    """Return fio's arguments for a trial's options.

    Percentiles of several processes cannot be made from those of each, so fio makes them.
    """
    if str(options.get("numjobs", 1)) != "1":
        options = {"group_reporting": 1, **options}
    return [f"--{key}={value}" for key, value in options.items()]


def summarise(text: str) -> dict[str, Any]:
    """Reduce fio's JSON report to the figures of ``result.json``.

    For each of `DIRECTIONS`, where there was any: requests, bytes, IOPS, KiB/s, mean and
    percentiles of the completion latency in nanoseconds. The mean is None where fio measured no
    latency (``disable_clat``). The percentiles are empty where it reports none, and for several
    jobs that it does not report as a group.
    """
    return by_direction(
        text,
        lambda jobs: {
            "requests": total(jobs, "total_ios"),
            "bytes": total(jobs, "io_bytes"),
            "iops": total(jobs, "iops"),
            "kib_s": total(jobs, "bw_bytes") / 1024,
            "latency_mean_ns": mean_ns(jobs, "clat_ns"),
            "latency_percentile_ns": percentile_ns(jobs, "clat_ns"),
        },
    )


def by_direction(
    text: str, figures: Callable[[list[dict[str, Any]]], dict[str, Any]]
) -> dict[str, Any]:
    """Return ``figures(counts of each job that did any)`` for those of `DIRECTIONS` with any."""
    jobs = jobs_of(text)
    try:
        busy = {
            direction: [job[direction] for job in jobs if job[direction]["total_ios"]]
            for direction in DIRECTIONS
            if any(direction in job for job in jobs)
        }
        return {direction: figures(some) for direction, some in busy.items() if some}
    except (ValueError, KeyError, TypeError) as problem:
        raise AgentError(
            "fio's report lacks a figure: expected requests, bytes, rates and latencies of each "
            f"job, found {type(problem).__name__}: {problem}. See what fio printed, beside the "
            "result, and log.txt"
        ) from None


def total(jobs: Sequence[Mapping[str, Any]], name: str) -> Any:
    """Add up a count or a rate of jobs that ran at the same time."""
    return sum(_number(job, name) for job in jobs)


def mean_ns(jobs: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """Return the mean latency of all jobs' requests, or None where fio measured none."""
    counts = [job[name].get("N", job["total_ios"]) for job in jobs]
    if not any(counts):
        return None
    if len(jobs) == 1:
        return float(_number(jobs[0][name], "mean"))
    sums = (count * _number(job[name], "mean") for job, count in zip(jobs, counts) if count)
    return float(sum(sums) / sum(counts))


def percentile_ns(jobs: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return the percentiles of the latency by fio's names; none where they cannot be known."""
    found = jobs[0][name].get("percentile", {}) if len(jobs) == 1 else {}
    return {percent: _number(found, percent) for percent in found}


def _number(counts: Mapping[str, Any], name: str) -> Any:
    if not math.isfinite(counts[name]):
        raise ValueError(f"{name} is {counts[name]}")
    return counts[name]


def jobs_of(text: str) -> list[dict[str, Any]]:
    """Return the jobs of fio's report: of its last document, which has the whole run.

    With ``status-interval``, there are documents of the run until then before it. What would make
    a sum over jobs a wrong one is refused, by the option that brought it about.
    """
    try:
        report = _documents(text)[-1]
        if "client_stats" in report:
            raise AgentError(
                "fio reports what its servers did; expected what it did itself. Leave out client"
            )
        jobs: list[dict[str, Any]] = report["jobs"]
        groups = {job.get("groupid", 0) for job in jobs}
        for job in jobs:
            _refuse(job)
        if not jobs:
            raise IndexError("no job")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as problem:
        raise AgentError(
            f"fio's report is not whole: expected its JSON with a job, found {len(text)} "
            f"characters that end in {text[-40:]!r} ({type(problem).__name__}: {problem}). Leave "
            "out options that change what fio prints, as output, output-format and minimal; if "
            "there are none, see log.txt"
        ) from None
    if len(groups) > 1:
        raise AgentError(
            f"fio reports {len(groups)} groups of jobs; expected jobs that run at the same time, "
            "whose rates can be added. Leave out stonewall and new_group"
        )
    return jobs


def _documents(text: str) -> list[dict[str, Any]]:
    text, documents, end = _NO_NUMBER.sub(r"\1NaN", text), [], 0
    for beginning in _BEGINNING.finditer(text):
        if beginning.start() >= end:
            document, end = json.JSONDecoder().raw_decode(text, beginning.end() - 1)
            documents.append(document)
    return documents


def _refuse(job: Mapping[str, Any]) -> None:
    name = job.get("jobname", "")
    if job.get("error"):
        raise AgentError(
            f"fio's job {name!r} ended with error {job['error']} ({os.strerror(job['error'])}); "
            "expected it to do all its requests. See log.txt for the first that failed"
        )
    if job.get("total_err"):
        raise AgentError(
            f"fio's job {name!r} passed over {job['total_err']} errors (the first: "
            f"{os.strerror(job['first_error'])}); expected none, since its figures are not those "
            "of a disk that serves. Leave out continue_on_error to see the first one"
        )
    if "mixed" in job and "read" not in job:
        raise AgentError(
            "fio reports reads, writes and trims in one; expected each of them. Leave out "
            "unified_rw_reporting, or set it to both"
        )
    if "wait_for" in job.get("job options", {}):
        raise AgentError(
            f"fio's job {name!r} waited for another; expected jobs that run at the same time, "
            "whose rates can be added. Leave out wait_for"
        )
