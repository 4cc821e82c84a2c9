"""sysbench's text, of its version 1: what all tests report, and the directions of ``fileio``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .rows import Row, Unreadable, line_of

BEGINNING = re.compile(r"^sysbench (?P<version>\d[\w.-]*)", re.MULTILINE)

_DIRECTIONS = {"read": ("reads", "read"), "write": ("writes", "written"), "fsync": ("fsyncs", "")}


def rows(text: str) -> Iterator[Row]:
    """Yield a row for each run, and of ``fileio`` one more for each direction.

    The direction of the first is "all": sysbench does not divide latencies.
    """
    begins = list(BEGINNING.finditer(text))
    ends = [*(one.start() for one in begins[1:]), len(text)]
    for begin, end in zip(begins, ends, strict=True):
        run = text[begin.start() : end]
        if "Running the test" not in run:
            continue  # it prepared files, or removed them
        before = line_of(text, begin.start()) - 1
        try:
            yield from _of_run(run, begin["version"])
        except Unreadable as problem:
            raise Unreadable(before + problem.line, str(problem)) from None


def _of_run(text: str, version: str) -> Iterator[Row]:
    if version.startswith("0"):
        raise Unreadable(1, f"expected sysbench 1; found {version}, which counts otherwise")
    if checkpoint := re.search("Checkpoint report", text):
        raise Unreadable(
            line_of(text, checkpoint.start()),
            "expected one report of the whole run; found one of a part of it (report-checkpoints)",
        )
    requests = int(_figure(text, "total number of events"))
    duration_s = _figure(text, "total time", "s")
    test = re.search(r"^Doing (.+) test$", text, re.MULTILINE)
    size = re.search(r"^Block size ([\d.]+)(Ki|Mi|Gi|)B$", text, re.MULTILINE)
    factors: dict[str, Any] = {"threads": int(_figure(text, "Number of threads"))}
    if test:
        factors["test"] = test[1]
    if size:
        power = ["", "Ki", "Mi", "Gi"].index(size[2])
        factors["block_size_bytes"] = int(float(size[1]) * 1024**power)
    measured = {
        "requests": requests,
        "duration_s": duration_s,
        "throughput_events_s": requests / duration_s if duration_s else None,
    }
    if requests:
        # The mean that sysbench prints has two digits behind the point; the sum has more.
        measured["latency_mean_us"] = _figure(text, "sum") * 1000 / requests
        measured["latency_min_us"] = _figure(text, "min") * 1000
        measured["latency_max_us"] = _figure(text, "max") * 1000
        if percentile := re.search(r"(\d+)th percentile: +([\d.]+)$", text, re.MULTILINE):
            measured[f"latency_p{percentile[1]}_us"] = float(percentile[2]) * 1000
    if ignored := re.search(r"ignored errors: +(\d+)", text):
        measured["errors"] = int(ignored[1])
    yield Row("sysbench", version, {"direction": "all", **factors}, measured)
    if "File operations:" not in text:
        return
    for direction, (done, moved) in _DIRECTIONS.items():
        rate = _figure(text, f"{done}/s")
        if rate:
            found = {"duration_s": duration_s, "throughput_iops": rate}
            if moved:
                found["throughput_kib_s"] = _figure(text, f"{moved}, MiB/s") * 1024
            yield Row("sysbench", version, {"direction": direction, **factors}, found)


def _figure(text: str, name: str, unit: str = "") -> float:
    found = re.search(rf"^ *{re.escape(name)}: +(\S+?){unit}$", text, re.MULTILINE)
    if not found:
        last = text.rstrip()
        raise Unreadable(
            line_of(text, len(last)), f"expected a line '{name}'; the text ends without one"
        )
    try:
        return float(re.fullmatch(r"[\d.]+", found[1])[0])  # type: ignore[index]
    except (TypeError, ValueError):
        line = line_of(text, found.start(1))
        raise Unreadable(line, f"{name}: expected a number; found {found[1]!r}") from None
