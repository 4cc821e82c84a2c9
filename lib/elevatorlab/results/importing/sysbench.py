"""sysbench's text: what all tests report, and the directions of ``fileio``.

Versions 0.4 and 0.5 have other words for the same counts. 1.1, which was never released but is what
a build from the sources gives, tells of ``fileio`` rates and latencies alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .rows import Row, Unreadable, line_of

BEGINNING = re.compile(r"^ *sysbench (?P<version>\d[\w.-]*)", re.MULTILINE)

#: A direction's rate in ``fileio`` of version 1.1.
_RATE = re.compile(
    r"^ *(?P<direction>read|write|fsync): +IOPS=(?P<iops>[\d.]+)(?: (?P<mib_s>[\d.]+) MiB/s .*)?$",
    re.MULTILINE,
)

#: The test of memory has a line that begins in the same way.
_OLD_FILEIO = re.compile(r"^ *Operations performed: +\d+ reads?\b", re.MULTILINE | re.IGNORECASE)

_PERCENTILE = re.compile(r"(\d+)(?:th)? percentile: +([\d.]+)(?:ms)?$", re.MULTILINE)

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
    if operations := _OLD_FILEIO.search(text):
        raise Unreadable(
            line_of(text, operations.start()),
            f"expected fileio of sysbench 1; found that of {version}, whose directions are rounded",
        )
    if checkpoint := re.search("Checkpoint report", text):
        raise Unreadable(
            line_of(text, checkpoint.start()),
            "expected one report of the whole run; found one of a part of it (report-checkpoints)",
        )
    rates = list(_RATE.finditer(text))
    test = re.search(r"^ *Doing (.+) test$", text, re.MULTILINE)
    size = re.search(r"^ *Block size ([\d.]+)(Ki|Mi|Gi|)B$", text, re.MULTILINE)
    factors: dict[str, Any] = {"threads": int(_figure(text, "Number of threads"))}
    if test:
        factors["test"] = test[1]
    if size:
        power = ["", "Ki", "Mi", "Gi"].index(size[2])
        factors["block_size_bytes"] = int(float(size[1]) * 1024**power)
    counted = not rates or "total number of events:" in text
    measured = _counts(text, version.startswith("0.")) if counted else _latencies(text)
    if ignored := re.search(r"ignored errors: +(\d+)", text):
        measured["errors"] = int(ignored[1])
    yield Row("sysbench", version, {"direction": "all", **factors}, measured)
    for one in rates:
        if float(one["iops"]):
            told = {"throughput_iops": float(one["iops"])}
            if one["mib_s"]:
                told["throughput_kib_s"] = float(one["mib_s"]) * 1024
            yield Row("sysbench", version, {"direction": one["direction"], **factors}, told)
    if "File operations:" not in text:
        return
    duration_s = measured["duration_s"]
    for direction, (done, moved) in _DIRECTIONS.items():
        rate = _figure(text, f"{done}/s")
        if rate:
            found = {"duration_s": duration_s, "throughput_iops": rate}
            if moved:
                found["throughput_kib_s"] = _figure(text, f"{moved}, MiB/s") * 1024
            yield Row("sysbench", version, {"direction": direction, **factors}, found)


def _counts(text: str, old: bool) -> dict[str, Any]:
    """Return what was counted, and the latencies, where something was."""
    requests = int(_figure(text, "total number of events"))
    duration_s = _figure(text, "time elapsed" if "time elapsed:" in text else "total time", "s")
    measured = {
        "requests": requests,
        "duration_s": duration_s,
        "throughput_events_s": requests / duration_s if duration_s else None,
    }
    if requests:
        # The mean that sysbench prints has two digits behind the point; the sum has more.
        sum_s = _figure(text, "total time taken by event execution", "s?") if old else None
        sum_ms = _figure(text, "sum") if sum_s is None else sum_s * 1000
        measured |= _latencies(text) | {"latency_mean_us": sum_ms * 1000 / requests}
    return measured


def _latencies(text: str) -> dict[str, float]:
    names = {"avg": "mean", "min": "min", "max": "max"}
    found = {
        f"latency_{name}_us": _figure(text, said, "(?:ms)?") * 1000 for said, name in names.items()
    }
    if percentile := _PERCENTILE.search(text):
        found[f"latency_p{percentile[1]}_us"] = float(percentile[2]) * 1000
    return found


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
