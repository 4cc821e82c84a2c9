"""Commands on files: endless reads and writes in the background, and timed reads."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ...records import Cache, Count, Positive, Record
from .. import measurements
from .base import WorkloadModel, of_cache


class EndlessWrite(WorkloadModel):
    """``while true; do dd if=/dev/zero of=file bs=1M; done &``."""

    measurements: ClassVar[type[Record] | None] = measurements.Endless
    endless: ClassVar[bool] = True
    in_virtual_machines: ClassVar[bool] = True

    kind: Literal["endless_write"] = "endless_write"
    direct: bool = False


class EndlessRead(WorkloadModel):
    """``while true; do cat file >/dev/null; done &``."""

    measurements: ClassVar[type[Record] | None] = measurements.Endless
    endless: ClassVar[bool] = True
    in_virtual_machines: ClassVar[bool] = True

    kind: Literal["endless_read"] = "endless_read"
    size_mib: Count
    direct: bool = False


class TimedReads(WorkloadModel):
    """``time cat file >/dev/null`` for files of several sizes."""

    measurements: ClassVar[type[Record] | None] = measurements.TimedReads
    in_virtual_machines: ClassVar[bool] = True

    kind: Literal["timed_reads"] = "timed_reads"
    sizes_mib: Annotated[tuple[Positive, ...], Field(min_length=1)]
    cache: Cache

    @property
    def requires(self) -> tuple[str, ...]:
        """A page cache that can be dropped, if `cache` is ``dropped``."""
        return of_cache(self.cache)


class TimedTreeRead(WorkloadModel):
    """``time find tree -type f -exec cat {} ; >/dev/null`` over small files.

    Attributes
    ----------
    median_kib, sigma, largest_kib : float, float, int
        File sizes are drawn from a log-normal distribution with this median and shape, and cut
        off at the largest size.
    """

    measurements: ClassVar[type[Record] | None] = measurements.TimedTreeRead
    in_virtual_machines: ClassVar[bool] = True

    kind: Literal["timed_tree_read"] = "timed_tree_read"
    files: Count
    files_per_folder: Count = 50
    median_kib: Positive
    sigma: Positive
    largest_kib: Count
    cache: Cache

    @property
    def requires(self) -> tuple[str, ...]:
        """A page cache that can be dropped, if `cache` is ``dropped``."""
        return of_cache(self.cache)
