"""iozone and iostat."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from ...records import Count, Positive, Record
from .. import measurements
from ..capabilities import Capability, program
from .base import WorkloadModel


class Iozone(WorkloadModel):
    """``iozone -i 0 -i 2 -i 8`` with each number of threads, caches dropped before each.

    Attributes
    ----------
    tool : str
        ``iozone``, or ``fio`` with the same five patterns if iozone is not available.
    threads : tuple of int
        Numbers of threads; all tests run once for each number.
    size_mib, record_kib : int
        Size of each thread's file, and size of each request.
    direct : bool
        Bypass the page cache (``-I``), which the article did not do.
    dirty_mib : float or None
        Most dirty pages (``vm.dirty_bytes``) before writers must wait for the disk. None leaves the
        machine's own limit, under which a scaled-down file would never reach the disk.
    """

    measurements: ClassVar[type[Record] | None] = measurements.Iozone
    kind: Literal["iozone"] = "iozone"
    tool: Literal["iozone", "fio"] = "iozone"
    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1)]
    size_mib: Count
    record_kib: Annotated[int, Field(ge=4, le=16384)]
    direct: bool = False
    dirty_mib: Positive | None = None

    @property
    def requires(self) -> tuple[str, ...]:
        """The tool, and a page cache that can be dropped."""
        return (program(self.tool), Capability.PAGE_CACHE_DROP)

    @model_validator(mode="after")
    def _whole_records(self) -> Iozone:
        if self.size_mib * 1024 % self.record_kib:
            raise ValueError(
                "record_kib: expected a size that files consist of (iozone does nothing where a "
                f"record is larger than the file); found {self.record_kib} KiB for files of "
                f"{self.size_mib} MiB"
            )
        if list(self.threads) != sorted(set(self.threads)):
            found = ", ".join(map(str, self.threads))
            raise ValueError(f"threads: expected different numbers, rising; found {found}")
        return self


class Iostat(WorkloadModel):
    """``iostat -x`` for `count` intervals: a check on the figures of the sampler."""

    measurements: ClassVar[type[Record] | None] = measurements.Iostat
    needs_filesystem: ClassVar[bool] = False

    kind: Literal["iostat"] = "iostat"
    interval_s: Count = 1
    count: Count

    @property
    def requires(self) -> tuple[str, ...]:
        """Iostat itself."""
        return (program("iostat"),)

    @property
    def duration_s(self) -> float:
        """How long all intervals take together."""
        return self.interval_s * self.count
