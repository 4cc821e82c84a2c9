"""How long a device was busy, and how long it stood idle although requests waited for it.

A request is inserted into the scheduler, issued to the device, completed by it. While at least
one is inserted and none is issued, only the scheduler's decision keeps the device idle. Without a
scheduler (`none`) a request is issued at once, and there is no such time. While any request is
inserted or issued the kernel calls the device busy (``iostat``'s ``%util``); its own count of
that time is good to a timer tick of 4 ms, which says nothing of a run of some hundred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import tracefs

if TYPE_CHECKING:
    from collections.abc import Set

    #: Whether it is a flush, and its first sector.
    Request = tuple[bool, int]

    from ..lifecycle.context import Context

EVENTS = ("block/block_rq_insert", "block/block_rq_issue", "block/block_rq_complete")


class IdleWatch:
    """Watches a device from `start` to `stop`, again and again, with a trace buffer of its own."""

    def __init__(self, device: str, context: Context) -> None:
        self.buffer: tracefs.Buffer | None = None
        if tracefs.there():
            self.buffer = tracefs.of_device("elevatorlab-idling", device, EVENTS, context)

    def start(self) -> None:
        """Forget what was recorded, and record."""
        if self.buffer:
            self.buffer.start()

    def stop(self) -> dict[str, float | None]:
        """Stop; return ``busy_s`` and ``idle_while_waiting_s`` (see `times`).

        Both are None where the kernel has no tracepoints, or recorded more than the buffer holds.
        """
        text, lost = self.buffer.stop() if self.buffer else ("", True)
        return {"busy_s": None, "idle_while_waiting_s": None} if lost else times(text)


def times(text: str) -> dict[str, float | None]:
    """Add up two times in a trace, in seconds.

    ``busy_s``: a request was in the scheduler or at the device; ``idle_while_waiting_s``,
    a part of it: some waited in the scheduler and none was at the device.
    """
    waiting: set[Request] = set()
    issued: set[Request] = set()
    busy_s = idle_s = before_s = 0.0
    for event in tracefs.parse(text):
        if waiting or issued:
            busy_s += event.time_s - before_s
        if waiting and not issued:
            idle_s += event.time_s - before_s
        before_s = event.time_s
        # A flush has no sector of its own.
        request = (event.operation.startswith("FF"), event.sector)
        if event.event == "rq_insert":
            waiting.add(request)
        elif event.event == "rq_issue":
            waiting -= _carried_by(request, event.size_bytes, waiting)
            issued.add(request)
        else:
            issued.discard(request)
    return {"busy_s": busy_s, "idle_while_waiting_s": idle_s}


def _carried_by(request: Request, size_bytes: int, waiting: Set[Request]) -> set[Request]:
    """Return a request that is issued, with whatever was merged into it while it waited."""
    kind, first = request
    end = first + size_bytes // tracefs.SECTOR_BYTES
    return {request} | {one for one in waiting if one[0] == kind and first <= one[1] < end}
