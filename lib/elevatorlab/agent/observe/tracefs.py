"""A buffer of the trial's own in tracefs, and the block layer's tracepoints of one device.

The kernel writes events into an instance that no other tracer shares. Each costs the processor
about a microsecond (some thousand instructions), as long as it is recorded.

========================  ===================================================================
``block_rq_insert``       a request was given to the scheduler (none: only what cannot be issued)
``block_rq_issue``        it was given to the driver
``block_rq_complete``     it has ended
``block_bio_backmerge``   a bio joined the end of a request
``block_bio_frontmerge``  a bio joined its front
``block_rq_merge``        a request joined another one
``drive_serve``           a disk with an arm begins a request, and knows where its time will go
========================  ===================================================================
"""

from __future__ import annotations

import os
import pathlib
import re
from typing import TYPE_CHECKING, NamedTuple

from ..errors import AgentError
from ..lifecycle.journal import undoes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..lifecycle.context import Context
    from ..lifecycle.journal import Journal

TRACEFS = pathlib.Path("/sys/kernel/tracing")

#: Some hundred thousand events; what comes when it is full is lost, and counted.
BUFFER_KIB = 16384
SECTOR_BYTES = 512

#: "  fio-250 [000] ..... 12.345678: block_rq_issue: 252,0 R 4096 () 1234 + 8 [fio]", where a
#: completion has an error number in the brackets, and a bio no count of bytes and no command.
LINE = re.compile(
    r"\s(?P<time>\d+\.\d+): block_(?P<event>\w+): \d+,\d+ (?P<operation>\S+) (?:\d+ )?(?:\(.*?\) )?"
    r"(?P<sector>\d+) \+ (?P<sectors>\d+) .*?\[(?P<process>.*)\]$"
)
LOST = re.compile(r"^(?:overrun|dropped events): (\d+)$", re.MULTILINE)


class Event(NamedTuple):
    """One line of a trace; an empty request (a flush without data) has no place, but sector 0.

    A completion is an interrupt's, so that its process is empty.
    """

    time_s: float
    event: str
    operation: str
    sector: int
    size_bytes: int
    process: str


#: "irq/1 [000] d.h.. 12.345678: drive_serve: 252,0 R 1234 + 8 hit=0 overhead=66000 ...", in ns.
SERVED = re.compile(
    r"\s(?P<time>\d+\.\d+): drive_serve: \d+,\d+ (?P<operation>[RW]) "
    r"(?P<sector>\d+) \+ (?P<sectors>\d+) (?P<parts>(?:\w+=\d+ ?)+)$"
)


#: Its parts that are times.
TIMES = ("overhead", "waited", "seek", "rotation", "media", "bus")


class Served(NamedTuple):
    """Where the time of a request to a disk with an arm goes; cylinders from and to."""

    time_s: float
    operation: str
    sector: int
    size_bytes: int
    hit: int
    overhead_us: float
    waited_us: float
    seek_us: float
    rotation_us: float
    media_us: float
    bus_us: float
    from_cylinder: int
    cylinder: int


def there() -> bool:
    """Tell whether this kernel has the tracepoints, and tracefs is mounted."""
    return (TRACEFS / "events/block").exists()


def knows(event: str) -> bool:
    """Tell whether the kernel has an event now, named as tracefs names its folder."""
    return (TRACEFS / "events" / event).exists()


class Buffer:
    """Records `events` between `start` and `pause`.

    Two buffers of one trial have two names. An event is ``SUBSYSTEM/EVENT``.
    """

    def __init__(self, name: str, events: Iterable[str], journal: Journal) -> None:
        self.folder = TRACEFS / "instances" / name
        self.events = [self.folder / "events" / event for event in events]
        journal.will("remove_trace", self.folder)
        self.folder.mkdir(exist_ok=True)
        self._set("tracing_on", 0)
        self._set("trace_clock", "mono")  # as the sampler's
        self._set("options/overwrite", 0)
        self._set("buffer_size_kb", BUFFER_KIB)

    def _set(self, name: str, value: object) -> None:
        (self.folder / name).write_text(str(value))

    def start(self) -> None:
        """Forget what was recorded, and record."""
        self._set("trace", "")
        for event in self.events:
            (event / "enable").write_text("1")
        self._set("tracing_on", 1)

    def pause(self) -> None:
        """Record no more."""
        self._set("tracing_on", 0)
        for event in self.events:
            (event / "enable").write_text("0")

    def stop(self) -> tuple[str, int]:
        """Pause; return the text of the trace, and how many events did not fit into the buffer."""
        self.pause()
        text = (self.folder / "trace").read_text(errors="replace")
        lost = sum(
            int(count)
            for stats in self.folder.glob("per_cpu/*/stats")
            for count in LOST.findall(stats.read_text())
        )
        return text, lost


def of_device(name: str, device: str, events: Iterable[str], context: Context) -> Buffer:
    """Return a buffer for events of one device, named as tracefs names their folders."""
    buffer = Buffer(name, events, context.journal)
    number = os.stat(f"/dev/{device}").st_rdev
    filtered = f"dev == {os.major(number) << 20 | os.minor(number)}"  # the kernel's dev_t
    for event in buffer.events:
        context.proofs.set(event / "filter", filtered)
    return buffer


def parse(text: str) -> Iterator[Event]:
    """Yield an `Event` for each line of the block layer in the text of tracefs' ``trace`` file."""
    for line in text.splitlines():
        if line.startswith("#") or SERVED.search(line):
            continue
        found = LINE.search(line)
        if not found:
            raise AgentError(
                f"a line of the trace is not understood: {line!r}; expected a block event as "
                "Linux 6 prints it"
            )
        sectors = int(found["sectors"])
        yield Event(
            float(found["time"]),
            found["event"],
            found["operation"],
            int(found["sector"]) if sectors else 0,
            sectors * SECTOR_BYTES,
            "" if found["event"] == "rq_complete" else found["process"],
        )


def parse_served(text: str) -> Iterator[Served]:
    """Yield a `Served` for each request that a disk with an arm began."""
    for line in text.splitlines():
        found = SERVED.search(line)
        if not found:
            continue
        parts = dict(part.split("=") for part in found["parts"].split())
        times_us = {f"{part}_us": int(parts[part]) / 1000 for part in TIMES}
        yield Served(
            time_s=float(found["time"]),
            operation=found["operation"],
            sector=int(found["sector"]),
            size_bytes=int(found["sectors"]) * SECTOR_BYTES,
            hit=int(parts["hit"]),
            from_cylinder=int(parts["from"]),
            cylinder=int(parts["to"]),
            **times_us,
        )


@undoes("remove_trace")
def remove(folder: str) -> None:
    """Take an instance of tracefs away again, with all that it has enabled."""
    if os.path.isdir(folder):
        pathlib.Path(folder, "tracing_on").write_text("0")
        os.rmdir(folder)
