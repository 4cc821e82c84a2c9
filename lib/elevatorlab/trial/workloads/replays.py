"""Requests from a list, sent at given times or one after the other."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from ...records import NotNegative, Record
from .. import measurements
from .base import WorkloadModel


class Request(Record):
    """A request of `Replay`: when it is sent after the workload's start, and what it asks for."""

    at_us: Annotated[int, Field(ge=0)]
    offset_bytes: Annotated[int, Field(ge=0, multiple_of=512)]
    size_bytes: Annotated[int, Field(ge=512, le=1 << 20, multiple_of=512)] = 4096
    write: bool = False


class Replay(WorkloadModel):
    """Requests that are sent at given times, whether or not earlier requests have ended.

    Attributes
    ----------
    requests : tuple of Request
        The requests, in the order of time. If two are less than a millisecond apart, the machine
        decides which of the two is sent first.
    in_flight : int
        How many requests may be under way. While so many are, the next one waits, and is late.
    """

    measurements: ClassVar[type[Record] | None] = measurements.Replay
    needs_filesystem: ClassVar[bool] = False
    bare_device: ClassVar[bool] = True

    kind: Literal["replay"] = "replay"
    requests: Annotated[tuple[Request, ...], Field(min_length=1, max_length=100_000)]
    in_flight: Annotated[int, Field(ge=1, le=256)] = 256

    @property
    def duration_s(self) -> float:
        """When the last request is sent."""
        return self.requests[-1].at_us / 1e6

    @property
    def needed_mib(self) -> int:
        """Where the furthest request ends, in whole MiB, rounded up."""
        return -(-max(one.offset_bytes + one.size_bytes for one in self.requests) // 2**20)

    @model_validator(mode="after")
    def _in_the_order_of_time(self) -> Replay:
        for number, (before, after) in enumerate(pairwise(self.requests), start=1):
            if after.at_us < before.at_us:
                raise ValueError(
                    "requests: expected them in the order of time; found at_us "
                    f"{after.at_us} after {before.at_us}, as request {number} from 0"
                )
        return self


class SerialRequest(NamedTuple):
    """A request of `SerialReplay`."""

    #: Time from the answer to the request before until this request is sent.
    after_us: NotNegative
    #: 1 for a write, 0 for a read.
    write: Annotated[int, Field(ge=0, le=1)]
    #: sector, sectors: First sector, and number of sectors, of 512 bytes each.
    sector: Annotated[int, Field(ge=0)]
    sectors: Annotated[int, Field(ge=1, le=2048)]


class SerialReplay(WorkloadModel):
    """Requests of a trace, one at a time, each `after_us` after the answer to the one before."""

    measurements: ClassVar[type[Record] | None] = measurements.SerialReplay
    needs_filesystem: ClassVar[bool] = False
    bare_device: ClassVar[bool] = True

    kind: Literal["serial_replay"] = "serial_replay"
    requests: Annotated[tuple[SerialRequest, ...], Field(min_length=1, max_length=100_000)]

    @property
    def duration_s(self) -> float:
        """Sum of all `after_us`, without the time in which the requests are served."""
        return sum(one.after_us for one in self.requests) / 1e6

    @property
    def needed_mib(self) -> int:
        """Where the furthest request ends, in whole MiB, rounded down like `Drive.capacity_mib`."""
        return max(one.sector + one.sectors for one in self.requests) // 2048
