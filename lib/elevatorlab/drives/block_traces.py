"""Block traces of other tools, as requests to another disk.

Each format has a reader, which turns lines or records into events. `load` takes the requests of one
device among them, counts the rest, and fits what it took to the disk. docs/drives.md has the units
of each format, and where its definition stands.
"""

from __future__ import annotations

import heapq
import io
import math
import operator
import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pandas as pd

from ..errors import ElevatorLabError
from ..trial import Replay, checked
from . import traces

#: The name of this package's own format, which `traces.read` reads.
OWN = "elevatorlab"

#: How many requests are taken if nobody says how many: a replay of one to three minutes.
TAKEN = 10_000

SECTOR_BYTES, LARGEST_SECTORS = 512, 2048

DISCARD, FLUSH, OTHER = "discards", "flushes", "other events"
COMPLETED, REQUEUED = "completed", "requeued"


class _Event(NamedTuple):
    """What a line or a record tells. `kind`: R, W, or one of the names above."""

    at: str
    time_ns: int
    #: None: of no device, such as a note of the tracer.
    device: str | None
    kind: str
    offset_bytes: int = 0
    size_bytes: int = 0
    #: When the real device answered, if the same line tells it.
    answered_ns: int | None = None
    failed: bool = False


_Lines = Iterable[tuple[str, str]]


def _refusal(at: str, expected: str, found: str) -> ElevatorLabError:
    return ElevatorLabError(f"{at}: expected {expected}; found {found[:80]!r}")


def _matches(lines: _Lines, pattern: re.Pattern[str], form: str) -> Iterator[tuple[str, Any]]:
    for at, line in lines:
        if not (match := pattern.fullmatch(line)):
            raise _refusal(at, form, line)
        yield at, match


def _ns(seconds: str) -> int:
    """Return a time of digits and a point in ns, without the rounding of a float."""
    whole, _, part = seconds.partition(".")
    return int(whole) * 10**9 + int(part[:9].ljust(9, "0"))


def _without_header(lines: _Lines, header: str) -> Iterator[tuple[str, str]]:
    for number, (at, line) in enumerate(lines):
        if number or line.lower() != header:
            yield at, line


MSR_HEADER = "timestamp,hostname,disknumber,type,offset,size,responsetime"
MSR = re.compile(
    r"(\d{1,19}),([\w.-]+),(\d{1,19}),(Read|Write),(\d{1,19}),(\d{1,19}),(\d{1,19})", re.ASCII
)


def _msr(lines: _Lines) -> Iterator[_Event]:
    """Read lines of the MSR Cambridge traces; their times count 100 ns since 1601."""
    form = "a line of an MSR Cambridge trace (time,host,disk,Read|Write,offset,size,response)"
    for at, match in _matches(_without_header(lines, MSR_HEADER), MSR, form):
        ticks, host, disk, kind, offset, size, response = match.groups()
        issued_ns = int(ticks) * 100
        answered_ns = issued_ns + int(response) * 100
        place = int(offset), int(size)
        yield _Event(at, issued_ns, f"{host}_{disk}", kind[0], *place, answered_ns)


SPC = re.compile(
    r"(\d{1,19}),\s*(\d{1,19}),\s*(\d{1,19}),\s*([RWrw]),\s*(\d{1,19}(?:\.\d+)?)(?:,.*)?", re.ASCII
)


def _spc(lines: _Lines) -> Iterator[_Event]:
    """Read lines of SPC's format; an address counts blocks of 512 bytes, a time seconds."""
    form = "a line of an SPC trace (unit,block,bytes,R|W,seconds)"
    for at, match in _matches(lines, SPC, form):
        unit, block, size, kind, seconds = match.groups()
        place = int(block) * SECTOR_BYTES, int(size)
        yield _Event(at, _ns(seconds), unit, kind.upper(), *place)


ALIBABA_HEADER = "device_id,opcode,offset,length,timestamp"
ALIBABA = re.compile(r"(\d{1,19}),([RW]),(\d{1,19}),(\d{1,19}),(\d{1,19})", re.ASCII)


def _alibaba(lines: _Lines) -> Iterator[_Event]:
    """Read lines of Alibaba's block traces; their times count us since 1970."""
    form = "a line of an Alibaba trace (device,R|W,offset,length,time)"
    for at, match in _matches(_without_header(lines, ALIBABA_HEADER), ALIBABA, form):
        device, kind, offset, size, time_us = match.groups()
        yield _Event(at, int(time_us) * 1000, device, kind, int(offset), int(size))


FIO_HEADER = re.compile(r"fio version (\d{1,19}) iolog", re.ASCII)
FIO = re.compile(r"(?:(\d{1,19}) )?(\S+) ([a-z_]+)(?: (\d{1,19}) (\d{1,19}))?", re.ASCII)
FIO_KINDS = {
    **{"read": "R", "write": "W", "trim": DISCARD},
    **dict.fromkeys(("sync", "datasync", "sync_file_range"), FLUSH),
    **dict.fromkeys(("add", "open", "close"), OTHER),
}

#: fio discards shorter waits.
SHORTEST_WAIT_US = 100


def _fio(lines: _Lines) -> Iterator[_Event]:
    """Read an iolog of fio: version 3 has a time (us) in each line, version 2 has waits (us)."""
    lines = iter(lines)
    at, line = next(lines, ("", ""))
    header = FIO_HEADER.fullmatch(line)
    if not header or header[1] not in "23":
        raise _refusal(at, "fio version 2 iolog or fio version 3 iolog", line)
    timed = header[1] == "3"
    form = f"{'time file' if timed else 'file'} action, maybe with offset and length"
    waited_us = 0
    for at, match in _matches(lines, FIO, form):
        time_us, file, action, offset, size = match.groups()
        if (time_us is not None) != timed:
            raise _refusal(at, form, match[0])
        if action == "wait" and not timed and offset is not None:
            waited_us += int(offset) if int(offset) >= SHORTEST_WAIT_US else 0
            continue
        kind = FIO_KINDS.get(action)
        if kind is None or (offset is None and kind in "RW"):
            raise _refusal(at, f"{form}; the action one of {', '.join(FIO_KINDS)}", match[0])
        time_ns = 1000 * (int(time_us) if timed else waited_us)
        yield _Event(at, time_ns, file, kind, int(offset or 0), int(size or 0))


BLKPARSE = re.compile(
    r"\s*(\d+,\d+)\s+\d+\s+\d+\s+(\d{1,19}\.\d+)\s+\d+\s+([A-Za-z]+)\s+([A-Z]+)\b(.*)", re.ASCII
)
BLKPARSE_PLACE = re.compile(r"\s*(\d{1,19}) \+ (\d{1,19})\b.*?(?:\[(-?\d{1,19})\])?\s*", re.ASCII)
#: What blkparse says around the events: names of its inputs, and the sums at the end.
BLKPARSE_NOTE = re.compile(
    r"Input file .* added|(?:CPU\d+|Total|Events|Throughput) \(.*|Skips: .*| [A-Z][A-Za-z. ]+:.*"
)
BLKPARSE_ACTIONS = {"D": "", "C": COMPLETED, "R": REQUEUED}


def _blkparse(lines: _Lines) -> Iterator[_Event]:
    """Read the default output of blkparse: what the device was given (D), and answered (C).

    D and not Q: between the two the kernel merges and sorts, and that is not the drive's work.
    """
    form = "an event in blkparse's default format (device cpu number seconds pid action RWBS ...)"
    events = (one for one in lines if not BLKPARSE_NOTE.fullmatch(one[1]))
    for at, match in _matches(events, BLKPARSE, form):
        device, seconds, action, letters, rest = match.groups()
        place = BLKPARSE_PLACE.fullmatch(rest)
        sector, sectors, error = place.groups() if place else (0, 0, None)
        kind = _kind(
            BLKPARSE_ACTIONS.get(action),
            "R" if "R" in letters else "W" if "W" in letters else "",
            **{"discards": "D" in letters, "flushes": "F" in letters, "moves": bool(place)},
        )
        failed = kind == COMPLETED and error not in (None, "0")
        bytes_ = int(sector) * SECTOR_BYTES, int(sectors) * SECTOR_BYTES
        yield _Event(at, _ns(seconds), device, kind, *bytes_, failed=failed)


def _kind(action: str | None, direction: str, discards: bool, flushes: bool, moves: bool) -> str:
    """Return an event's kind. `action`: "" for an issue, None for actions that do not count."""
    if action is None:
        return OTHER
    if discards or not (direction and moves):
        return (DISCARD if discards else FLUSH if flushes else OTHER) if action == "" else OTHER
    return action or direction


#: struct blk_io_trace of linux/blktrace_api.h, its magic number, and the version that is read.
RECORD, MAGIC, VERSION = "IIQQIIIIIHH", 0x65617400, 7
ISSUE, COMPLETE, REQUEUE = 7, 8, 6
TC_READ, TC_WRITE, TC_FLUSH, TC_PC, TC_NOTIFY, TC_DISCARD = (1 << at for at in (0, 1, 2, 9, 10, 13))
BLKTRACE_ACTIONS = {ISSUE: "", COMPLETE: COMPLETED, REQUEUE: REQUEUED}


def _blktrace(stream: BinaryIO, file: Path) -> Iterator[_Event]:
    """Read records of blktrace, in the byte order of the first one's magic number."""
    record = None
    place = 0
    while head := stream.read(struct.calcsize("<" + RECORD)):
        at = f"{file}, byte {place}"
        if record is None:
            order = ">" if head.startswith(struct.pack(">I", MAGIC)[:3]) else "<"
            record = struct.Struct(order + RECORD)
        if len(head) < record.size:
            raise ElevatorLabError(f"{at}: expected a record of {record.size} bytes; cut off here")
        magic, _, time_ns, sector, size, action, _, device, _, error, extra = record.unpack(head)
        if magic != MAGIC | VERSION:
            expected = f"the magic number {MAGIC | VERSION:#x} of blktrace (version {VERSION})"
            raise _refusal(at, expected, f"{magic:#x}")
        if len(stream.read(extra)) < extra:
            raise ElevatorLabError(f"{at}: expected {extra} bytes behind the record; cut off here")
        place += record.size + extra
        categories = action >> 16
        kind = _kind(
            # Bit 8 says that the number of a cgroup follows.
            None if categories & (TC_NOTIFY | TC_PC) else BLKTRACE_ACTIONS.get(action & 0xFEFF),
            "W" if categories & TC_WRITE else "R" if categories & TC_READ else "",
            discards=bool(categories & TC_DISCARD),
            flushes=bool(categories & TC_FLUSH),
            moves=size > 0,
        )
        name = None if categories & TC_NOTIFY else f"{device >> 20},{device & 0xFFFFF}"
        failed = kind == COMPLETED and error != 0
        yield _Event(at, time_ns, name, kind, sector * SECTOR_BYTES, size, failed=failed)


_Reader = Callable[[_Lines], Iterator[_Event]]

#: Formats of text: what the first line looks like, and the reader.
TEXTS: dict[str, tuple[re.Pattern[str], _Reader]] = {
    "blkparse": (re.compile(f"Input file .* added|{BLKPARSE.pattern}", re.ASCII), _blkparse),
    "fio": (FIO_HEADER, _fio),
    "msr": (re.compile(f"(?i:{MSR_HEADER})|{MSR.pattern}", re.ASCII), _msr),
    "spc": (SPC, _spc),
    "alibaba": (re.compile(f"(?i:{ALIBABA_HEADER})|{ALIBABA.pattern}", re.ASCII), _alibaba),
}
FORMATS = (OWN, "blktrace", *TEXTS)

#: blktrace writes a file for each processor.
OF_A_PROCESSOR = re.compile(r"(.*\.blktrace\.)\d+")


def _found_format(file: Path) -> str:
    with traces.opened(file) as stream:
        head = stream.peek(4096)[:4096]
    if (MAGIC >> 8).to_bytes(3, "big") in (head[:3], head[3:0:-1]):
        return "blktrace"
    lines = head.decode("utf-8-sig", "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    for name, (pattern, _) in TEXTS.items():
        if pattern.fullmatch(first):
            return name
    if set(traces.COLUMNS) & set(first.split(",")):
        return OWN
    formats = ", ".join(FORMATS[1:])
    expected = f"a trace: a header with {', '.join(traces.COLUMNS)}, or the form of {formats}"
    raise _refusal(f"{file}:1", expected, first)


def _lines(
    stream: io.BufferedReader, file: Path, passed_over: Counter[str]
) -> Iterator[tuple[str, str]]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
    for number, line in enumerate(text, start=1):
        if not line.endswith("\n"):  # its last number may lack digits
            passed_over["last line without an end"] += 1
        elif line.strip():
            yield f"{file}:{number}", line.rstrip("\r\n")


def _events(file: Path, name: str, passed_over: Counter[str]) -> Iterator[_Event]:
    if name in TEXTS:
        with traces.opened(file) as stream:
            yield from TEXTS[name][1](_lines(stream, file, passed_over))
        return
    files = [file]
    if processor := OF_A_PROCESSOR.fullmatch(file.name):
        files = sorted(
            one
            for one in file.parent.iterdir()
            if re.fullmatch(f"{re.escape(processor[1])}[0-9]+", one.name)
        )
    streams = [traces.opened(one) for one in files]
    try:
        readers = [_blktrace(*each) for each in zip(streams, files, strict=True)]
        yield from heapq.merge(*readers, key=lambda event: event.time_ns)
    finally:
        for stream in streams:
            stream.close()


class _Taking:
    """The requests of one device among the events, and counts of the rest."""

    def __init__(self, device: str | None, most: int, told_apart: bool) -> None:
        self.chosen, self.device, self.most = device, device, most
        #: Whether answers are events of their own.
        self.told_apart = told_apart
        #: By the number of those before.
        self.taken: dict[int, _Event] = {}
        #: Which of them have no answer yet, by offset.
        self.running: dict[int, int] = {}
        self.passed_over: Counter[str] = Counter()
        #: Requests of each device.
        self.devices: Counter[str] = Counter()
        self.failed = 0
        #: The first request that was too many.
        self.stopped: str | None = None

    def take(self, event: _Event) -> bool:
        """Take or count an event; return whether more are needed."""
        moves = event.kind in ("R", "W")
        if moves and (len(self.taken) if self.chosen else self.devices.total()) >= self.most:
            self.stopped = self.stopped or event.at
            return bool(self.running)  # answers to what was taken are still to come
        if moves and event.device is not None:
            self.devices[event.device] += 1
            self.device = self.device or event.device
        if self.device and event.device not in (self.device, None):
            self.passed_over["events of other devices"] += 1
        elif moves and event.size_bytes:
            number = self.devices.total()
            self.taken[number] = event
            if self.told_apart:
                self.running[event.offset_bytes] = number
        elif moves:
            self.passed_over["requests without data"] += 1
        elif event.kind in (COMPLETED, REQUEUED):
            self._end(event)
        else:
            self.passed_over[event.kind] += 1
        return True

    def _end(self, event: _Event) -> None:
        number = self.running.pop(event.offset_bytes, None)
        if number is None:
            self.passed_over[f"{event.kind} without being issued before"] += 1
        elif event.kind == REQUEUED:  # it is issued once more later
            del self.taken[number]
            self.passed_over["issued and requeued"] += 1
        else:
            self.taken[number] = self.taken[number]._replace(answered_ns=event.time_ns)
            self.failed += event.failed


#: What is said of the times when a trace is replayed one request at a time, or as it came; by
#: whether times are kept.
SERIALLY = {
    True: "each request after the answer to the one before, and the trace's idle time between",
    False: "none: each request at once after the answer to the one before",
}
AS_IT_CAME = {
    True: "each request as long after the first one as in the trace, whether or not others ended",
    False: "none: as fast as the disk answers",
}


@dataclass(frozen=True)
class Trace:
    """The requests of a trace, fitted to a disk, and what became of the rest."""

    format: str
    #: None: the format has no devices.
    device: str | None
    #: As `traces.read` returns them, and `at_us`: when each came, after the first one.
    #: `response_us` is NaN where the trace does not tell it.
    requests: pd.DataFrame
    #: How many of each kind were passed over.
    passed_over: dict[str, int]
    #: How many requests were changed or noticed, by how.
    changed: dict[str, int]
    #: By what addresses were multiplied; None: each is what is left of it when it is divided by
    #: the disk's size.
    scale: float | None
    #: Whether times were kept.
    timed: bool
    #: Where reading stopped because enough was taken.
    stopped: str | None

    def as_json(self) -> dict[str, Any]:
        """Return what was taken, and what was not."""
        ops = self.requests["op"].value_counts()
        return {
            **{"format": self.format, "device": self.device},
            **{"reads": int(ops.get("R", 0)), "writes": int(ops.get("W", 0))},
            **{"passed_over": self.passed_over, "changed": self.changed},
            **{"address_scale": self.scale, "times_kept": self.timed, "stopped": self.stopped},
        }

    def workload(self, name: str, group: str, in_flight: int = 256) -> Replay:
        """Return a workload that sends the requests when they came, or at once if `fast`.

        `in_flight`: How many may be under way.
        """
        rows = self.requests[["at_us", "sector", "sectors", "op"]].itertuples(index=False)
        requests = [
            {
                "at_us": round(at_us),
                "offset_bytes": sector * SECTOR_BYTES,
                "size_bytes": sectors * SECTOR_BYTES,
                "write": op == "W",
            }
            for at_us, sector, sectors, op in rows
        ]
        content = {"name": name, "group": group, "requests": requests, "in_flight": in_flight}
        return checked(Replay, content, "replay of a trace")

    @property
    def addresses(self) -> str:
        """Say what became of the addresses."""
        if self.scale is None:
            return "folded: what is left of each when it is divided by the disk's size"
        if self.scale == 1:
            return "kept"
        return (
            f"multiplied by {self.scale:.6g}, so that the furthest request ends with the "
            "disk; sizes and runs of adjacent requests kept"
        )

    def said(self, times: Mapping[bool, str]) -> dict[str, str]:
        """Return a sentence on each thing that a reader must know, by its name.

        `times`: `SERIALLY` or `AS_IT_CAME`.
        """
        told = self.as_json()
        of = f" of {self.device}" if self.device else ""
        said = {"trace": f"{self.format}{of}: {told['reads']} reads, {told['writes']} writes"}
        if self.passed_over:
            said["passed over"] = _listed(self.passed_over)
        if self.stopped:
            said["stopped"] = f"at {self.stopped}: enough requests (--requests)"
        said["addresses"] = self.addresses
        said["times"] = times[self.timed]
        if self.changed:
            said["changed"] = _listed(self.changed)
        return said


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def load(
    file: Path,
    capacity_sectors: int,
    format: str | None = None,
    device: str | None = None,
    requests: int | None = None,
    fast: bool = False,
    fold: bool = False,
) -> Trace:
    """Return the requests of a trace of any format, fitted to a disk.

    `format`: One of `FORMATS`; by default, what the content says. `device`: Which one, as the trace
    names it, if it has several. `requests`: How many from the beginning, at most. `fast`: Leave the
    idle times out. `fold`: Fold addresses beyond the disk's end, instead of scaling all of them.

    Raises
    ------
    ElevatorLabError
        If the file cannot be read, with the line and the reason; if several devices have requests
        and none was chosen; if the chosen one has none.
    """
    if format not in (None, *FORMATS):
        raise _refusal("format", f"one of {', '.join(FORMATS)}", str(format))
    if requests is not None and not 1 <= requests <= traces.MOST_REQUESTS:
        raise _refusal("requests", f"1 to {traces.MOST_REQUESTS}", str(requests))
    try:
        name = format or _found_format(file)
        if name == OWN:
            return _own(file, capacity_sectors, device, requests, fast)
        taking = _taken(file, name, device, requests or TAKEN)
    except (EOFError, OSError, zlib.error) as problem:
        raise ElevatorLabError(f"{file}: expected a trace; {problem}") from None
    table, changed, scale = _fitted(taking, capacity_sectors, fast, fold)
    passed_over = dict(taking.passed_over)
    return Trace(name, taking.device, table, passed_over, changed, scale, not fast, taking.stopped)


def _own(
    file: Path, capacity_sectors: int, device: str | None, requests: int | None, fast: bool
) -> Trace:
    if device:
        raise _refusal("device", f"none, as the trace {file} is of one device", device)
    table = traces.read(file, capacity_sectors)
    stopped = f"{file}:{requests + 2}" if requests and requests < len(table) else None
    table = table.head(requests or len(table))
    came_us = (table["response_us"] + table["next_after_us"]).cumsum().shift(fill_value=0.0)
    table = table.assign(at_us=0.0 if fast else came_us)
    if fast:
        table = table.assign(next_after_us=0.0)
    return Trace(OWN, None, table, {}, {}, 1.0, not fast, stopped)


def _taken(file: Path, name: str, device: str | None, most: int) -> _Taking:
    taking = _Taking(device, most, told_apart=name in ("blkparse", "blktrace"))
    for event in _events(file, name, taking.passed_over):
        if not taking.take(event):
            break
    if device is None and len(taking.devices) > 1:
        names = ", ".join(f"{name} ({count})" for name, count in taking.devices.most_common(10))
        raise ElevatorLabError(
            f"{file}: expected requests of one device; found {len(taking.devices)}: {names}. "
            "Choose one with --device"
        )
    if not taking.taken:
        others = ", ".join(sorted(taking.devices)[:10]) or "none"
        what = f"requests of {device}" if device else "reads or writes"
        if taking.told_apart:
            what += " that were issued to the device (action D)"
        raise ElevatorLabError(
            f"{file}: expected {what}; found none. Devices with requests: {others}. "
            f"Passed over: {_listed(taking.passed_over) or 'nothing'}"
        )
    return taking


def _fitted(
    taking: _Taking, capacity: int, fast: bool, fold: bool
) -> tuple[pd.DataFrame, dict[str, int], float | None]:
    """Return the requests on a disk of `capacity` sectors, what was changed, and the scale."""
    found = list(taking.taken.values())
    requests = sorted(found, key=lambda one: one.time_ns)
    changed: Counter[str] = Counter()
    changed["sorted by time"] = sum(map(operator.is_not, requests, found))
    changed["ended with an error on the real device"] = taking.failed
    starts = [one.offset_bytes // SECTOR_BYTES for one in requests]
    ends = [-(-(one.offset_bytes + one.size_bytes) // SECTOR_BYTES) for one in requests]
    sizes = [end - start for start, end in zip(starts, ends, strict=True)]
    for one, sectors in zip(requests, sizes, strict=True):
        if sectors > capacity:
            raise _refusal(one.at, f"at most the drive's {capacity} sectors", str(sectors))
    furthest = max(ends)
    places = starts
    scale: float | None = 1.0
    if furthest > capacity and fold:
        # A request that would end behind the disk ends with it.
        pairs = zip(starts, sizes, strict=True)
        places, scale = [min(start % capacity, capacity - size) for start, size in pairs], None
    elif furthest > capacity:
        places, scale = _places(starts, sizes, furthest, capacity), capacity / furthest
    rows: list[tuple[Any, ...]] = []
    for one, place, sectors, gap_us in zip(
        requests, places, sizes, _gaps_us(requests, fast), strict=True
    ):
        changed["rounded to whole sectors"] += sectors * SECTOR_BYTES != one.size_bytes
        response_us = math.nan
        if sectors > LARGEST_SECTORS:
            changed["sent in parts of 1 MiB, and not compared"] += 1
        elif one.answered_ns is None:
            changed["without a response time, and not compared"] += 1
        else:
            response_us = (one.answered_ns - one.time_ns) / 1000
        for part in range(0, sectors, LARGEST_SECTORS):
            size = min(LARGEST_SECTORS, sectors - part)
            last = part + size == sectors
            at_us = 0.0 if fast else (one.time_ns - requests[0].time_ns) / 1000
            after_us = gap_us if last else 0.0
            rows.append((one.kind, place + part, size, response_us, after_us, at_us))
    if len(rows) > traces.MOST_REQUESTS:
        raise _refusal("requests", f"at most {traces.MOST_REQUESTS}, parts counted", str(len(rows)))
    table = pd.DataFrame(rows, columns=[*traces.COLUMNS, "at_us"])
    said = {name: count for name, count in changed.items() if count}
    return table, said, scale


def _places(starts: list[int], sizes: list[int], furthest: int, capacity: int) -> list[int]:
    """Return where requests on a disk of `furthest` sectors begin on a smaller drive.

    Addresses are multiplied by the ratio of the sizes. But a request that begins where another
    ended still does, or a sequential stream would overlap itself. So runs of such requests are
    placed as a whole. A sector where two requests begin is at one place.
    """
    known: dict[int, tuple[int, int]] = {}  # sector -> where its run begins, and how far that is
    lengths: Counter[int] = Counter()
    found = []
    for start, sectors in zip(starts, sizes, strict=True):
        run, within = known.get(start, (start, 0))
        if within + sectors > capacity:  # the run is longer than the drive
            run, within = start, 0
        known[start] = run, within
        known.setdefault(start + sectors, (run, within + sectors))
        lengths[run] = max(lengths[run], within + sectors)
        found.append((run, within))
    return [
        min(run * capacity // furthest, capacity - lengths[run]) + within for run, within in found
    ]


def _gaps_us(requests: list[_Event], fast: bool) -> Iterator[float]:
    """Yield how long the device was idle after each request, until the next one came."""
    busy_ns = 0
    for one, following in pairwise(requests):
        if fast:
            yield 0.0
            continue
        busy_ns = max(busy_ns, one.time_ns, one.answered_ns or 0)
        gap_us = max(0, following.time_ns - busy_ns) / 1000
        if gap_us > traces.LONGEST_US:
            expected = "at most a day after the request before (or --fast)"
            raise _refusal(following.at, expected, f"{gap_us / 1e6:.0f} s")
        yield gap_us
    yield 0.0
