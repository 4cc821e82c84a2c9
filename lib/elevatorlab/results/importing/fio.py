"""fio's JSON and JSON+: of one run or several, of processes or groups, of a client's servers.

Latencies keep fio's own words: the *completion* latency (clat) begins when a request was
submitted, the *submission* latency (slat) is the time of submitting, and the *latency* is both.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .rows import Row, Unreadable, line_of

#: Where a document begins. A note has a brace, too, at times, but none of an object with names.
BEGINNING = re.compile(r'^[ \t]*\{(?=\s*(?:"|\Z))', re.MULTILINE)

#: What C prints for a quotient of nothing; JSON has no such word, and Python's is another.
_NO_NUMBER = re.compile(r'(": *)[-+]?(?:nan|inf)(?=\s*[,}\]])', re.IGNORECASE)

#: Factors that each row has, with fio's defaults.
_DEFAULTS = {"rw": "read", "ioengine": "psync", "iodepth": "1", "numjobs": "1"}

#: Options that make no two runs differ: where something is written, and what repetitions change.
_NO_FACTORS = re.compile(
    r"name|description|randseed|group_reporting|new_group|stonewall|status-interval|output.*|write_.*"
    r"|.*percentile.*|bs|blocksize|log_.*|per_job_logs|thread|rw|readwrite|ioengine|iodepth|numjobs"
)

_LATENCIES = {
    "slat_ns": "submission_latency",
    "clat_ns": "completion_latency",
    "lat_ns": "latency",
}

#: Which part of the value of ``bs`` is whose.
_DIRECTIONS = {"read": 0, "write": 1, "trim": 2, "mixed": 0}

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3}


class _Run(NamedTuple):
    line: int
    report: dict[str, Any]


class _Job(NamedTuple):
    line: int
    counts: dict[str, Any]
    options: dict[str, Any]

    @property
    def group(self) -> tuple[str, int, str]:
        """What fio calls a group: the processes of one name that run at the same time."""
        host = self.counts.get("hostname", "")
        return host, self.counts.get("groupid", 0), self.counts["jobname"]


def rows(text: str, per_job: bool) -> Iterator[Row]:
    """Yield a row for each run, group of jobs (or job) and direction."""
    for line, report in _runs(text):
        try:
            jobs = list(_jobs(line, report))
            for one in jobs:
                _check(one)
            version = str(report.get("fio version", "")).removeprefix("fio-")
            if version.startswith(("1.", "2.")):
                raise Unreadable(
                    line, f"expected fio 3 or later; found {version}, which has other units"
                )
            groups: dict[object, list[_Job]] = {}
            for number, job in enumerate(jobs, start=1):
                groups.setdefault(number if per_job else job.group, []).append(job)
            for number, group in enumerate(groups.values(), start=1):
                found = _of_group(version, group, {"process": number} if per_job else {})
                for row in found:
                    # What one group did cannot be told from the disk's time with several.
                    if len({job.group[:2] for job in jobs}) == 1:
                        row.measured |= _utilization(report)
                    yield row
        except (KeyError, TypeError, AttributeError, ValueError) as problem:
            raise Unreadable(
                line,
                "expected fio's report with counts, rates and latencies of each job; found "
                f"{type(problem).__name__}: {problem}",
            ) from None


def _runs(text: str) -> list[_Run]:
    """Return the runs in a file: the last document of each.

    Documents before it tell of the run until then (``status-interval``). A file that several runs
    were appended to has several.
    """
    text, end, runs = _NO_NUMBER.sub(r"\1NaN", text), 0, list[_Run]()
    for beginning in BEGINNING.finditer(text):
        if beginning.start() < end:
            continue
        line = line_of(text, beginning.start())
        try:
            report, end = json.JSONDecoder().raw_decode(text, beginning.end() - 1)
        except json.JSONDecodeError as problem:
            raise Unreadable(problem.lineno, f"expected JSON; found {problem.msg}") from None
        if not _has_jobs(report):
            raise Unreadable(line, "expected fio's report, with jobs; found other JSON")
        if runs and _continues(runs[-1].report, report):
            runs.pop()
        runs.append(_Run(line, report))
    return runs


def _has_jobs(report: Mapping[str, Any]) -> bool:
    found = report.get("jobs", report.get("client_stats"))
    return isinstance(found, list) and all(isinstance(job, dict) for job in found)


def _continues(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Tell whether a document goes on with the run of the one before it.

    A run of its own would have had to begin after that one, so it had no time to run that long.
    """
    apart_ms = _time_ms(after) - _time_ms(before)
    same = [_name(job) for job in _all(before)] == [_name(job) for job in _all(after)]
    grown = all(
        one.get(direction, {}).get("total_ios", 0) <= other.get(direction, {}).get("total_ios", 0)
        for one, other in zip(_all(before), _all(after), strict=False)
        for direction in _DIRECTIONS
    )
    ran_ms = max(
        (part.get("runtime", 0) for job in _all(after) for part in _parts(job).values()), default=0
    )
    return same and grown and apart_ms < ran_ms


def _time_ms(report: Mapping[str, Any]) -> float:
    return float(report.get("timestamp_ms", report.get("timestamp", 0) * 1000))


def _all(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = report.get("jobs", report.get("client_stats"))
    return found


def _name(job: Mapping[str, Any]) -> tuple[Any, Any]:
    return job.get("jobname"), job.get("job options")


def _parts(job: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the directions of a job; all in one only where fio reports nothing else."""
    parts = {name: job[name] for name in _DIRECTIONS if name in job}
    return {name: part for name, part in parts.items() if name != "mixed" or "read" not in parts}


def _jobs(line: int, report: Mapping[str, Any]) -> Iterator[_Job]:
    jobs = _all(report)
    if "client_stats" in report and jobs[-1]["jobname"] == "All clients":
        jobs = jobs[:-1]  # the sum of the others
    for job in jobs:
        options = {**report.get("global options", {}), **job.get("job options", {})}
        if "readwrite" in options:  # the option's other name
            options["rw"] = options["readwrite"]
        yield _Job(line, job, options)


def _check(job: _Job) -> None:
    if error := job.counts.get("error"):
        raise Unreadable(
            job.line,
            f"expected that the job {job.counts['jobname']!r} ended well; found error {error} "
            f"({os.strerror(error)}). Leave this run out",
        )


def _of_group(version: str, jobs: Sequence[_Job], more: Mapping[str, Any]) -> Iterator[Row]:
    first = jobs[0]
    host, group, name = first.group
    for direction in _parts(first.counts):
        parts = [job.counts[direction] for job in jobs if job.counts[direction]["total_ios"]]
        if not parts:
            continue
        factors = {
            "job": name,
            **({"host": host} if host else {}),
            **({"group": group} if group else {}),
            "direction": direction,
            "block_size_bytes": _block_size_bytes(first.options, direction),
            **{one: _value(first.options.get(one, usual)) for one, usual in _DEFAULTS.items()},
            **more,
        }
        options = {
            name: _value(value)
            for name, value in first.options.items()
            if not _NO_FACTORS.fullmatch(name)
        }
        measured = {
            "jobs": len(jobs),
            "requests": _total(parts, "total_ios"),
            "errors": sum(job.counts.get("total_err", 0) for job in jobs),
            "moved_bytes": _total(parts, "io_bytes"),
            "duration_s": max(part["runtime"] for part in parts) / 1000,
            "throughput_iops": _total(parts, "iops"),
            "throughput_kib_s": _total(parts, "bw_bytes") / 1024,
        }
        note = ""
        for key, prefix in _LATENCIES.items():
            latencies = [part[key] for part in parts if key in part]
            if len(latencies) < len(parts):
                continue
            measured |= _mean_us(prefix, latencies, [part["total_ios"] for part in parts])
            percentiles = _percentiles_us(prefix, latencies)
            if not percentiles and any("percentile" in one for one in latencies):
                note = (
                    f"the percentiles of {len(parts)} processes of {name!r} cannot be made into "
                    "those of all: left empty. fio has them with group_reporting, or with json+"
                )
            measured |= percentiles
        yield Row("fio", version, factors, measured, options, note)


def _utilization(report: Mapping[str, Any]) -> dict[str, float]:
    disks = report.get("disk_util", [])
    return {"disk_utilization_ratio": _number(disks[0], "util") / 100} if len(disks) == 1 else {}


def _value(text: Any) -> Any:
    return int(text) if str(text).isdecimal() else text


def _block_size_bytes(options: Mapping[str, Any], direction: str) -> int | None:
    """Return the size of a request; None where there are several (``bsrange``, ``bssplit``)."""
    if any(one in options for one in ("bsrange", "bssplit", "blocksize_range")):
        return None
    sizes = str(options.get("bs", options.get("blocksize", "4096"))).lower().split(",")
    text = sizes[min(_DIRECTIONS[direction], len(sizes) - 1)]
    # By default, fio's k is 1024 and its ki is 1000; kb_base=1000 exchanges them.
    found = re.fullmatch(r"(\d+)([kmg]?)(i?)b?", text)
    if not found:
        return None
    swapped = str(options.get("kb_base", 1024)) == "1000"
    base = 1000 if bool(found[3]) != swapped else 1024
    return int(found[1]) * int(base ** _POWERS[found[2]])


def _total(parts: Iterable[Mapping[str, Any]], name: str) -> Any:
    return sum(_number(part, name) for part in parts)


def _number(part: Mapping[str, Any], name: str) -> Any:
    if not math.isfinite(part[name]):
        raise ValueError(f"{name} is {part[name]}")
    return part[name]


def _mean_us(
    prefix: str, latencies: Sequence[Mapping[str, Any]], requests: Sequence[int]
) -> dict[str, float]:
    counts = [one.get("N", all_) for one, all_ in zip(latencies, requests, strict=True)]
    # fio prints 0 for what it did not measure; submitting takes no time of its own in some engines.
    if not sum(counts) or not any(one.get("max", 1) for one in latencies):
        return {}
    pairs = zip(counts, latencies, strict=True)
    sum_ns = sum(count * _number(one, "mean") for count, one in pairs if count)
    return {f"{prefix}_mean_us": sum_ns / sum(counts) / 1000}


def _percentiles_us(prefix: str, latencies: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return fio's percentiles, of several jobs from their histograms; else none."""
    wanted = latencies[0].get("percentile", {})
    if not wanted:
        return {}
    found = wanted
    if len(latencies) > 1:
        if not all(one.get("bins") for one in latencies):
            return {}
        bins = Counter[int]()
        for one in latencies:
            bins.update({int(value): count for value, count in one["bins"].items()})
        found = {percent: _percentile_ns(bins, float(percent)) for percent in wanted}
    return {f"{prefix}_p{float(percent):g}_us": _number(found, percent) / 1000 for percent in found}


def _percentile_ns(bins: Counter[int], percent: float) -> int:
    """Return the value of the bar in which `percent` of all counts are reached, as fio does."""
    needed, seen = bins.total() * percent / 100, 0
    for value in sorted(bins):
        seen += bins[value]
        if seen >= needed:
            return value
    raise ValueError("a histogram is empty")
