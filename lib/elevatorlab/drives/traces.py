"""Traces of real drives in this package's format: requests, and how long each took."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd

from ..errors import ElevatorLabError

COLUMNS = ("op", "sector", "sectors", "response_us", "next_after_us")

#: The most requests that a trial can have, and the longest time in a trace: a day.
MOST_REQUESTS, LONGEST_US = 100_000, 86_400e6

_DIGITS = re.compile("[0-9]{1,18}")


def read(file: Path, capacity_sectors: int) -> pd.DataFrame:
    """Return the requests of a trace, one per row.

    `file`: CSV with a header that has `COLUMNS`, maybe compressed (gzip). `response_us` is the
    response time of the real drive, and `next_after_us` the time from this answer to the next
    request. `capacity_sectors`: How many the disk has that the requests are for.
    """
    rows: list[tuple[Any, ...]] = []
    try:
        with io.TextIOWrapper(opened(file), "utf-8-sig", newline="") as lines:
            rows.extend(_rows(file, lines, capacity_sectors))
    except EOFError:
        at = f"{file}:{len(rows) + 2}"
        raise ElevatorLabError(
            f"{at}: expected the rest of what was compressed; it is cut off here"
        ) from None
    except (OSError, UnicodeDecodeError, zlib.error) as problem:
        raise ElevatorLabError(f"{file}: expected a trace (CSV); {problem}") from None
    if not rows:
        raise ElevatorLabError(f"{file}:1: expected requests behind the header; found none")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def opened(file: Path) -> io.BufferedReader:
    """Open a file, which may be compressed, whatever its name."""
    with open(file, "rb") as stream:
        compressed = stream.read(2) == b"\x1f\x8b"
    return io.BufferedReader(gzip.open(file)) if compressed else open(file, "rb")


def _rows(file: Path, lines: IO[str], capacity_sectors: int) -> Iterator[tuple[Any, ...]]:
    header = next(csv.reader([lines.readline()]), [])
    if missing := [name for name in COLUMNS if name not in header]:
        raise ElevatorLabError(
            f"{file}:1: expected a header with {', '.join(COLUMNS)}; it lacks {', '.join(missing)}"
        )
    empty = None
    for number, line in enumerate(lines, start=2):
        at = f"{file}:{number}"
        if not line.strip():
            empty = empty or at
            continue
        if empty:  # only the last lines may be empty
            raise ElevatorLabError(f"{empty}: expected a request; found an empty line")
        if number > MOST_REQUESTS + 1:
            raise ElevatorLabError(f"{at}: expected at most {MOST_REQUESTS} requests; found more")
        if not line.endswith("\n"):
            raise ElevatorLabError(f"{at}: expected the line to end; the file is cut off here")
        fields = line.rstrip("\r\n").split(",")
        if len(fields) != len(header):
            raise ElevatorLabError(
                f"{at}: expected {len(header)} fields, {', '.join(header)}; found {len(fields)}"
            )
        yield _row(at, dict(zip(header, fields, strict=True)), capacity_sectors)


def _row(at: str, fields: dict[str, str], capacity_sectors: int) -> tuple[Any, ...]:
    if fields["op"] not in ("R", "W"):
        raise ElevatorLabError(f"{at}: op: expected R or W; found {fields['op']!r}")
    sector, sectors = (_whole(at, name, fields[name]) for name in ("sector", "sectors"))
    if not 1 <= sectors <= 2048 or sector + sectors > capacity_sectors:
        raise ElevatorLabError(
            f"{at}: expected 1 to 2048 sectors among the drive's {capacity_sectors}; "
            f"found {sectors} from {sector} on"
        )
    times_us = [_time(at, name, fields[name]) for name in COLUMNS[-2:]]
    return (fields["op"], sector, sectors, *times_us)


def _whole(at: str, name: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ElevatorLabError(f"{at}: {name}: expected a whole number; found {text!r}")
    return int(text)


def _time(at: str, name: str, text: str) -> float:
    try:
        time_us = float(text)
    except ValueError:
        time_us = math.nan
    if not 0 <= time_us <= LONGEST_US:
        raise ElevatorLabError(
            f"{at}: {name}: expected a time in us, at most a day; found {text!r}"
        )
    return time_us
