"""fio, for a whole trial or at several points."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from ...records import Count, Record, absent
from .. import measurements
from ..capabilities import program
from .base import WorkloadModel


class Fio(WorkloadModel):
    """fio with the given options; on the bare device if there is no file system."""

    measurements: ClassVar[type[Record] | None] = measurements.Fio
    needs_filesystem: ClassVar[bool] = False
    in_virtual_machines: ClassVar[bool] = True

    kind: Literal["fio"] = "fio"
    options: dict[str, str | int]

    @property
    def requires(self) -> tuple[str, ...]:
        """Fio itself."""
        return (program("fio"),)


class FioPoints(WorkloadModel):
    """fio again and again, each time with other options, and the kernel's counters meanwhile.

    Attributes
    ----------
    options : dict
        Options of fio that all points share.
    points : tuple of dict
        Options of each point, for which fio runs once.
    ramp_ms : int
        Time at the beginning of each run, from when fio is seen at work, that is left out.
    counted_ms : int
        Time after the ramp, at both ends of which the kernel's counters are read.
    window_ms : int
        Time after that, in which fio measures and nothing else runs.
    least_ms : tuple of int
        For each point, how long its ramp and its window last at least, as where a request takes
        long. Empty: no longer than the above.
    traced_points : tuple of int
        Points, numbered from 0, at which the kernel's tracepoints also tell whose work the
        processor does (`agent.observe.processor_time`). This takes half of `counted_ms`, before
        fio measures. It is left out if the kernel has no tracepoints.
    """

    measurements: ClassVar[type[Record] | None] = measurements.FioPoints
    needs_filesystem: ClassVar[bool] = False

    kind: Literal["fio_points"] = "fio_points"
    options: dict[str, str | int]
    points: Annotated[tuple[dict[str, str | int], ...], Field(min_length=1)]
    ramp_ms: Count
    counted_ms: Count
    window_ms: Count
    least_ms: tuple[Count, ...] = absent(())
    traced_points: tuple[Annotated[int, Field(ge=0)], ...] = ()

    @property
    def requires(self) -> tuple[str, ...]:
        """Fio itself."""
        return (program("fio"),)

    @model_validator(mode="after")
    def _fits_its_points(self) -> FioPoints:
        if beyond := [number for number in self.traced_points if number >= len(self.points)]:
            raise ValueError(
                f"traced_points: expected numbers of the {len(self.points)} points, from 0; "
                f"found {beyond[0]}"
            )
        if self.least_ms and len(self.least_ms) != len(self.points):
            raise ValueError(
                f"least_ms: expected one for each of the {len(self.points)} points, or none; "
                f"found {len(self.least_ms)}"
            )
        return self

    @property
    def duration_s(self) -> float:
        """How long all points take together."""
        points_ms = sum(
            max(self.ramp_ms, least_ms) + self.counted_ms + max(self.window_ms, least_ms)
            for least_ms in self.least_ms or (0,) * len(self.points)
        )
        return (points_ms + len(self.traced_points) * self.counted_ms) / 1000
