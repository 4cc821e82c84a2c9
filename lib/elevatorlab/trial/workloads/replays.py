"""Requests of a list: at given times, or one after the other."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from ...records import NotNegative, Record
from .. import measurements
from .base import WorkloadModel


class Request(Record):
    """A request of `Replay`: when it comes, counted from the beginning, and what it asks for."""

    at_us: Annotated[int, Field(ge=0)]
    offset_bytes: Annotated[int, Field(ge=0, multiple_of=512)]
    size_bytes: Annotated[int, Field(ge=512, le=1 << 20, multiple_of=512)] = 4096
    write: bool = False


class Replay(WorkloadModel):
    """Requests that come at given times, whether those before have ended or not.

    Attributes
    ----------
    requests : tuple of Request
        In the order of time. Where two come within less than a millisecond, the machine decides
        which of them is first.
    """

    measurements: ClassVar[type[Record] | None] = measurements.Replay
    needs_filesystem: ClassVar[bool] = False
    bare_device: ClassVar[bool] = True

    kind: Literal["replay"] = "replay"
    requests: Annotated[tuple[Request, ...], Field(min_length=1, max_length=256)]

    @property
    def duration_s(self) -> float:
        """When the last one comes."""
        return self.requests[-1].at_us / 1e6

    @property
    def needed_mib(self) -> int:
        """Where the furthest one ends."""
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
    """A request of `SerialReplay`.

    Attributes
    ----------
    after_us : float
        It comes so long after the answer to the one before.
    write : int
        1 for a write, 0 for a read.
    sector, sectors : int
        Where, and how many, of 512 bytes.
    """

    after_us: NotNegative
    write: Annotated[int, Field(ge=0, le=1)]
    sector: Annotated[int, Field(ge=0)]
    sectors: Annotated[int, Field(ge=1, le=2048)]


class SerialReplay(WorkloadModel):
    """Requests of a trace, one at a time: each comes when the one before is answered, and later."""

    measurements: ClassVar[type[Record] | None] = measurements.SerialReplay
    needs_filesystem: ClassVar[bool] = False
    bare_device: ClassVar[bool] = True

    kind: Literal["serial_replay"] = "serial_replay"
    requests: Annotated[tuple[SerialRequest, ...], Field(min_length=1, max_length=100_000)]

    @property
    def duration_s(self) -> float:
        """What passes between answers and requests; the answers take their time besides."""
        return sum(one.after_us for one in self.requests) / 1e6

    @property
    def needed_mib(self) -> int:
        """Where the furthest one ends: whole MiB, as a disk's size."""
        return max(one.sector + one.sectors for one in self.requests) // 2048
