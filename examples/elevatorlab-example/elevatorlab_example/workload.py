"""A workload: a file that is copied again and again, each copy timed."""

from typing import ClassVar, Literal

from elevatorlab.trial import Count, WorkloadModel


class TimedCopies(WorkloadModel):
    """``time cp FILE COPY``, so many times."""

    agent: ClassVar[str] = "elevatorlab_example.beside_disk.timed_copies:TimedCopies"

    kind: Literal["timed_copies"] = "timed_copies"
    size_mib: Count
    copies: Count
