"""Writes at a pace, in phases."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ...records import Count, NotNegative, Positive, Record, absent
from .. import measurements
from .base import WorkloadModel


class Phase(Record):
    """A part of a load, during which the load does not change.

    Attributes
    ----------
    writers : int
        Number of writers. Each has at most one write in flight.
    think_us : float
        Mean time between the end of a write and the next one of the same writer.
    arrivals_per_s : float or None
        Mean rate of an open load: writes arrive whether or not earlier writes have ended, and up
        to `writers` are in flight. None: a closed load, with think time.
    """

    duration_s: Positive
    writers: Annotated[int, Field(ge=0, le=256)] = 1
    think_us: NotNegative = 0
    arrivals_per_s: Positive | None = None


class PacedWrites(WorkloadModel):
    """Synchronous writes at a given pace, which bypass the page cache.

    Attributes
    ----------
    request_bytes : int
        Size of each write; a multiple of 512.
    phases : tuple of Phase
        Phases that run one after the other.
    spread : str
        How think times, or times between arrivals, are distributed: ``constant`` or
        ``exponential``.
    report_ms : int
        Length of an interval of the reported series.
    io_class : str or None
        Class of the writes, as ``ionice`` sets it: ``best-effort`` or ``idle``. The kernel's
        ``io.prio.class`` gives a cgroup's writes the same class. None: the kernel's default.
    """

    measurements: ClassVar[type[Record] | None] = measurements.PacedWrites
    needs_filesystem: ClassVar[bool] = False

    kind: Literal["paced_writes"] = "paced_writes"
    request_bytes: Annotated[int, Field(ge=512, le=1 << 20, multiple_of=512)]
    phases: Annotated[tuple[Phase, ...], Field(min_length=1)]
    spread: Literal["constant", "exponential"] = "exponential"
    report_ms: Count = 1000
    io_class: Literal["best-effort", "idle"] | None = absent(None)

    @property
    def duration_s(self) -> float:
        """How long all phases take together."""
        return sum(phase.duration_s for phase in self.phases)
