"""What the block layer does with each request, from the beginning of the foreground to its end.

A trial without a trace is not the same trial: tracing takes processor time (see `tracefs`).
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from ..errors import AgentError
from . import tracefs

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..lifecycle.context import Context

EVENTS = (
    "block/block_rq_insert",
    "block/block_rq_issue",
    "block/block_rq_complete",
    "block/block_bio_backmerge",
    "block/block_bio_frontmerge",
    "block/block_rq_merge",
)

#: There while a disk with an arm is; its rows go into a table of their own.
OF_THE_ARM = "drive/drive_serve"

COLUMNS = ("time_s", "event", "operation", "sector", "bytes", "process")
ARM_COLUMNS = tuple("bytes" if name == "size_bytes" else name for name in tracefs.Served._fields)


class Trace:
    """Records the events of a device while its context is open; of none, unless it is `wanted`."""

    def __init__(self, wanted: bool, device: str, context: Context) -> None:
        self.wanted = wanted
        self.text, self.lost = "", 0
        if not wanted:
            return
        if not tracefs.there():
            raise AgentError(
                f"{tracefs.TRACEFS} has no block tracepoints; expected them for a trial with a "
                "trace. Mount it (mount -t tracefs tracefs /sys/kernel/tracing), or leave the "
                "trace out"
            )
        self.has_arm = tracefs.knows(OF_THE_ARM)
        events = (*EVENTS, OF_THE_ARM) if self.has_arm else EVENTS
        self.buffer = tracefs.of_device("elevatorlab", device, events, context)

    def __enter__(self) -> Trace:
        if self.wanted:
            self.buffer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.wanted:
            self.text, self.lost = self.buffer.stop()

    def write(self, folder: pathlib.Path, start_s: float) -> None:
        """Write ``trace.csv`` (`COLUMNS`), and ``arm.csv`` (`ARM_COLUMNS`) of a disk with an arm.

        The events' times are counted from `start_s`.
        """
        if not self.wanted:
            return
        rows = list(rows_since(self.text, start_s))
        if self.lost:
            raise AgentError(
                f"the trace lost {self.lost} events and has {len(rows)}; expected all of them, in "
                f"{tracefs.BUFFER_KIB >> 10} MiB. Make the workload shorter, or leave the trace out"
            )
        _write(folder / "trace.csv", COLUMNS, rows)
        if self.has_arm:
            served = tracefs.parse_served(self.text)
            _write(folder / "arm.csv", ARM_COLUMNS, (_since(one, start_s) for one in served))


def rows_since(text: str, start_s: float) -> Iterator[tuple[object, ...]]:
    """Yield a row of `COLUMNS` for each event in the text of a trace."""
    for event in tracefs.parse(text):
        yield _since(event, start_s)


def _since(event: tuple[Any, ...], start_s: float) -> tuple[object, ...]:
    return (format(event[0] - start_s, ".6f"), *event[1:])


def _write(file: pathlib.Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with open(file, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
