"""A trial is data: one fully specified run, with a content hash.

Nothing about a trial is implied by where it runs; the same trial runs on every testbed
that has what it needs.
"""

from ..records import Cache, Count, Name, NotNegative, Positive, Record, Repetitions, checked
from .devices import (
    DeviceModel,
    Disk,
    FileBacked,
    Link,
    NullBlk,
    NvmeTcp,
    PacedDisk,
    ProfileName,
    Scheduler,
    SchedulerName,
    profile,
)
from .disks import DiskName, DriveName, chosen_device, has_arm, simulated
from .groups import Group, Limits, VirtualMachine
from .policies import PolicyModel, Regulator
from .trial import HOST_MIB, IoCost, Processors, Rounds, Trial, parse
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
    Replay,
    SerialReplay,
    SysbenchInsert,
    TimedReads,
    TimedTreeRead,
    WorkloadModel,
)

__all__ = [
    "DeviceModel",
    "Disk",
    "FileBacked",
    "NullBlk",
    "Link",
    "NvmeTcp",
    "PacedDisk",
    "DiskName",
    "DriveName",
    "chosen_device",
    "has_arm",
    "simulated",
    "ProfileName",
    "profile",
    "Cache",
    "Count",
    "Record",
    "Name",
    "NotNegative",
    "Positive",
    "Repetitions",
    "checked",
    "Group",
    "HOST_MIB",
    "IoCost",
    "Limits",
    "PolicyModel",
    "Processors",
    "Regulator",
    "Rounds",
    "Scheduler",
    "SchedulerName",
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
    "Replay",
    "SerialReplay",
    "SysbenchInsert",
    "TimedReads",
    "TimedTreeRead",
    "VirtualMachine",
    "WorkloadModel",
]
