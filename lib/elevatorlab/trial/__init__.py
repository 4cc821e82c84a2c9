"""A trial is data: one fully specified run, with a content hash.

Nothing about a trial is implied by where it runs; the same trial runs on every testbed
that has what it needs.
"""

from .devices import PROFILES, Disk, FileBacked, NullBlk, NvmeTcp, PacedDisk, chosen_device, profile
from .model import Cache, Count, Model, Name, NotNegative, Positive, Repetitions, checked
from .trial import Group, IoCost, Limits, Regulator, Scheduler, Trial, parse
from .workloads import (
    CommitPhase,
    EndlessRead,
    EndlessWrite,
    Fio,
    FioPoints,
    Iostat,
    Iozone,
    PacedWrites,
    Phase,
    SysbenchInsert,
    TimedReads,
    TimedTreeRead,
)

__all__ = [
    "PROFILES",
    "Disk",
    "FileBacked",
    "NullBlk",
    "NvmeTcp",
    "PacedDisk",
    "chosen_device",
    "profile",
    "Cache",
    "Count",
    "Model",
    "Name",
    "NotNegative",
    "Positive",
    "Repetitions",
    "checked",
    "Group",
    "IoCost",
    "Limits",
    "Regulator",
    "Scheduler",
    "Trial",
    "parse",
    "CommitPhase",
    "EndlessRead",
    "EndlessWrite",
    "Fio",
    "FioPoints",
    "Iostat",
    "Iozone",
    "PacedWrites",
    "Phase",
    "SysbenchInsert",
    "TimedReads",
    "TimedTreeRead",
]
