"""Read from the kernel's tracepoints which requests of a disk wait, and for how long."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .failure import Broken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .disks import Disk

TRACING = Path("/sys/kernel/tracing")
BUFFER_KIB = 16384
EVENTS = (
    "block_getrq",
    "block_rq_insert",
    "block_rq_issue",
    "block_rq_requeue",
    "block_rq_complete",
)

#: time: event: major,minor kind [bytes] (command) sector + sectors
LINE = re.compile(r" (\d+\.\d+): (block_\w+): (\d+,\d+) (\S+) (?:\d+ )?(?:\(.*?\) )?(\d+) \+ (\d+)")


@dataclass
class Request:
    """A request that a program made."""

    #: Operation as traces show it: R or W, and flags.
    kind: str
    #: The first sector, and how many there are.
    sector: int
    sectors: int
    #: When the request was made, on the monotonic clock.
    made_s: float
    #: How many requests had been made before it.
    order: int
    #: Whether the request was handed to the disk, and the disk has not given it back.
    issued: bool = False
    #: How many requests were made after this one, and completed before it.
    overtaken_by: int = 0
    #: Time from when the request was made until it completed.
    took_s: float = 0.0

    def __str__(self) -> str:
        what = {"R": "read", "W": "write"}.get(self.kind[0], self.kind)
        return f"{what} of {self.sectors} sectors at sector {self.sector}"

    @property
    def age_s(self) -> float:
        """How long it has waited by now."""
        return time.monotonic() - self.made_s


def begin() -> None:
    """Trace from now on, on the monotonic clock; forget what was traced before."""
    (TRACING / "buffer_size_kb").write_text(f"{BUFFER_KIB}\n")
    (TRACING / "trace_clock").write_text("mono\n")
    for event in EVENTS:
        (TRACING / "events/block" / event / "enable").write_text("1\n")
    forget()


def forget() -> None:
    """Forget what was traced."""
    (TRACING / "trace").write_text("\n")


def _events(disk: Disk) -> Iterator[tuple[float, str, str, int, int]]:
    number = disk.number
    with open(TRACING / "trace") as lines:
        for line in lines:
            found = LINE.search(line)
            if found and found[3] == number:
                yield float(found[1]), found[2], found[4], int(found[5]), int(found[6])


def requests(disk: Disk) -> tuple[list[Request], list[Request]]:
    """Return the requests of a disk: those that still wait, and those that have completed.

    Merged requests complete as one, so each completed request is found by its sectors.
    """
    waiting: list[Request] = []
    done: list[Request] = []
    for at_s, event, kind, sector, sectors in _events(disk):
        if event == "block_getrq":
            waiting.append(Request(kind, sector, sectors, at_s, len(waiting) + len(done)))
        if event in ("block_getrq", "block_rq_insert"):
            continue
        inside = [one for one in waiting if sector <= one.sector < sector + sectors]
        for one in inside:
            one.issued = event != "block_rq_requeue"
            if event == "block_rq_complete":
                one.took_s = at_s - one.made_s
                waiting.remove(one)
                done.append(one)
                for other in waiting[:]:
                    other.overtaken_by += other.order < one.order
    return waiting, done


def require_insertions(disk: Disk) -> None:
    """Raise `Broken` if the disk served a request that the scheduler never said had come in.

    Flushes and writes with FUA pass a scheduler by. What was merged completes with the request that
    came in. A request that the driver gives back completes once. But if it completes in two parts,
    the second one has no insertion.
    """
    came_in: set[int] = set()
    unsaid: list[str] = []
    served = 0
    for at_s, event, kind, sector, sectors in _events(disk):
        place = range(sector, sector + sectors)
        if at_s < disk.selected_s or "F" in kind:
            continue
        if event == "block_rq_insert":
            came_in.add(sector)
        elif event == "block_rq_complete":
            served += 1
            if came_in.isdisjoint(place):
                unsaid.append(str(Request(kind, sector, sectors, at_s, served)))
            came_in.difference_update(place)
    if unsaid:
        raise Broken(
            f"The disk served {len(unsaid)} of {served} requests that the scheduler never said had "
            f"come in; the first is a {unsaid[0]}. insert_requests must call "
            "trace_block_rq_insert(rq) for each request that it takes in."
        )


def given_back(disk: Disk) -> list[str]:
    """Return the kinds of the requests that a disk's driver gave back, as traces show them."""
    return [kind for _, event, kind, *_ in _events(disk) if event == "block_rq_requeue"]
