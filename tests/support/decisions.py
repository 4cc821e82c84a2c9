"""What a scheduler decided, read from a trace: which request it took of which that waited."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

SECTOR_BYTES = 512


class Waiting(NamedTuple):
    """A request that waits: where it begins, and since when."""

    sector: int
    since_s: float


class Decision(NamedTuple):
    """One choice."""

    at_s: float  # when it was made, at the latest
    arm: int  # where the request before ended, as a sector
    chosen: Waiting
    others: tuple[Waiting, ...]  # what waited, too, for certain, in the order of arrival


def decisions(events: pd.DataFrame) -> Iterator[Decision]:
    """Yield the choices of a scheduler on a disk that takes one request at a time.

    The block layer asks for the next request as soon as one goes to the disk, and keeps it until
    the disk can take it. So what was inserted before the last issue was there to be chosen.
    `events` are those of `results.trace.read`, without merges.
    """
    waiting: dict[int, Waiting] = {}
    there: dict[int, Waiting] = {}
    arm, at_s = 0, 0.0
    for event in events.itertuples():
        if event.event == "rq_insert":
            waiting[event.sector] = Waiting(event.sector, event.time_s)
        elif event.event == "rq_issue":
            chosen = waiting.pop(event.sector)
            there.pop(event.sector, None)
            yield Decision(max(at_s, chosen.since_s), arm, chosen, tuple(there.values()))
            arm, at_s = event.sector + event.bytes // SECTOR_BYTES, event.time_s
            there = dict(waiting)
