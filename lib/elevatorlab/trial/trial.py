"""One fully specified run."""

import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field, model_validator

from .devices import Device, Disk, FileBacked, NullBlk, NvmeTcp, PacedDisk
from .model import Count, Model, Name, NotNegative, Positive, checked
from .workloads import PacedWrites, SysbenchInsert, Workload

SCHEMA_VERSION = 1


class Scheduler(Model):
    """An I/O scheduler, by the kernel's name, and its tunables.

    Attributes
    ----------
    tunables : dict
        Files of ``queue/iosched``; ``nr_requests``, the requests that it may hold; and
        ``rotational``, whether the disk is said to turn (1) or not (0).
    """

    name: Literal["none", "mq-deadline", "bfq", "kyber", "sbq"]
    tunables: dict[Name, int] = {}


class Limits(Model):
    """What a group may do on the device (``io.max``, ``io.weight``; version 1: ``blkio.*``)."""

    read_bytes_s: Count | None = None
    write_bytes_s: Count | None = None
    read_iops: Count | None = None
    write_iops: Count | None = None
    weight: Annotated[int, Field(ge=1, le=10000)] | None = None


class IoCost(Model):
    """The kernel's cost controller (version 2: ``io.cost.model``, ``io.cost.qos``).

    Attributes
    ----------
    model : dict
        What the device can do: ``rbps``, ``rseqiops``, ``rrandiops``, ``wbps``, ``wseqiops``,
        ``wrandiops`` (Documentation/admin-guide/cgroup-v2.rst of the kernel).
    qos : dict
        When it is called saturated: ``rpct``, ``rlat``, ``wpct``, ``wlat``, ``min``, ``max``.
    """

    model: dict[Name, Count]
    qos: dict[Name, NotNegative] = {}


class Regulator(Model):
    """The isolation regulator (docs/regulator.md), over all groups of the trial.

    Attributes
    ----------
    policy : str
        ``slae`` with `sla_wait_ms`, or ``ute`` with `threshold`.
    classes : dict
        SLAE: another SLA, in ms, for the group of that name; None: none.
    start_s : float
        When it is started, after the foreground.
    """

    policy: Literal["slae", "ute"]
    sla_wait_ms: Positive | None = None
    threshold: Annotated[float, Field(gt=0, lt=1)] | None = None
    classes: dict[Name, Positive | None] = {}
    period_s: Annotated[float, Field(ge=0.05, le=60)] = 1
    floor_kib_s: Positive = 128
    start_s: NotNegative = 0

    @model_validator(mode="after")
    def _has_its_own_number(self):
        wanted = {"slae": "sla_wait_ms", "ute": "threshold"}[self.policy]
        given = {name for name in ("sla_wait_ms", "threshold") if getattr(self, name) is not None}
        if given != {wanted}:
            raise ValueError(
                f"regulator: expected {wanted} with the policy {self.policy}; found "
                f"{' and '.join(sorted(given)) or 'neither number'}"
            )
        return self


class Group(Model):
    """Processes that share a cgroup: plain ones, or those of a container."""

    name: Name
    isolation: Literal["process", "container"] = "process"
    limits: Limits = Limits()


class Trial(Model):
    """One fully specified run.

    Attributes
    ----------
    study, preset : str
        Which study expanded it, and how large it is; never pooled.
    labels : dict
        The study's own columns for this trial, such as the arm and the variant.
    machine : str
        What the processes run on: a host, or a virtual machine.
    memory_mib : int
        Memory of the machine, where the testbed makes the machine.
    backing_scheduler : str or None
        Scheduler of the physical disk below a file-backed device; None leaves it as it is.
    divided : bool
        Each group has a part of the device of its own, as large as the others: a block device
        with its own counters, which are the group's. Otherwise all work on the whole device.
    settle_s : float
        Background workloads run this long, times 1 to 2 by the seed, before the others start.
    trace : bool
        Whether each request's way through the block layer is recorded (``trace.csv``); that takes
        time of the processor, so that a traced trial is another trial.
    warm_up_s : float
        What the foreground does in this time is left out of the overall rates.
    regulator : Regulator or None
    io_cost : IoCost or None
        None leaves the cost controller off.
    deadline_s : float
        The trial fails when it has not ended by then (in the testbed's own time). One that no
        workload can keep is refused.
    seed, repetition : int
        Another repetition is the same trial with another seed.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    study: Name
    preset: Literal["smoke", "quick", "full"]
    labels: dict[Name, str] = {}
    machine: Literal["host", "virtual_machine"] = "host"
    memory_mib: Annotated[int, Field(ge=512, le=16384)] = 1024
    device: Device
    scheduler: Scheduler
    backing_scheduler: Literal["none", "mq-deadline", "bfq", "kyber"] | None = None
    filesystem: Literal["ext4"] | None = "ext4"
    divided: bool = False
    groups: Annotated[tuple[Group, ...], Field(min_length=1)]
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1)]
    regulator: Regulator | None = None
    io_cost: IoCost | None = None
    trace: bool = False
    settle_s: NotNegative = 0.2
    warm_up_s: NotNegative = 0
    sample_interval_ms: Count = 100
    deadline_s: Positive
    seed: Annotated[int, Field(ge=0)]
    repetition: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _consistent(self):
        groups = [group.name for group in self.groups]
        workloads = [workload.name for workload in self.workloads]
        for kind, names in (("groups", groups), ("workloads", workloads)):
            if len(set(names)) != len(names):
                raise ValueError(f"{kind}: expected different names; found {', '.join(names)}")
        if "device" in groups:
            raise ValueError(
                "groups: expected another name, since the disk's own samples are called so; "
                "found 'device'"
            )
        for workload in self.workloads:
            if workload.group not in groups:
                raise ValueError(
                    f"workload {workload.name}: expected a group among {', '.join(groups)}; "
                    f"found {workload.group!r}"
                )
            if isinstance(workload, PacedWrites) and workload.duration_s <= self.warm_up_s:
                raise ValueError(
                    f"warm_up_s: expected less than the {workload.duration_s:g} s of workload "
                    f"{workload.name}; found {self.warm_up_s:g}"
                )
            if workload.duration_s > self.deadline_s:
                raise ValueError(
                    f"deadline_s: expected at least the {workload.duration_s:g} s that workload "
                    f"{workload.name} takes; found {self.deadline_s:g}"
                )
            if self.filesystem is None and workload.needs_filesystem:
                raise ValueError(f"workload {workload.name}: {workload.kind} needs a file system")
            if isinstance(workload, SysbenchInsert) and not isinstance(self.device, Disk):
                if self.device.size_mib < workload.needed_mib:
                    raise ValueError(
                        f"device.size_mib: expected at least {workload.needed_mib} for the data "
                        f"directory of workload {workload.name} (its log_mib and 64); found "
                        f"{self.device.size_mib}"
                    )
        if self.divided and self.filesystem:
            raise ValueError(
                "divided: expected a bare device (filesystem null), since each group writes to its "
                f"own part of it; found {self.filesystem}"
            )
        if all(workload.endless for workload in self.workloads):
            raise ValueError("workloads: expected at least one that ends; found only endless ones")
        if self.backing_scheduler and not isinstance(self.device, FileBacked):
            raise ValueError(
                "backing_scheduler: expected with a file-backed device, below which there is "
                f"another one; found {self.device.kind}"
            )
        if isinstance(self.device, PacedDisk) and self.filesystem:
            raise ValueError(
                "filesystem: expected none (null) on a paced_disk, which keeps nothing; found "
                f"{self.filesystem}"
            )
        disk = self.device.backing if isinstance(self.device, NvmeTcp) else self.device
        if isinstance(disk, NullBlk) and disk.size_mib > self.memory_mib - 256:
            raise ValueError(
                f"device.size_mib: the disk lives in memory and leaves too little of it: expected "
                f"at most memory_mib - 256 = {self.memory_mib - 256}; found {disk.size_mib}"
            )
        return self

    def canonical_json(self):
        """Return the one spelling of this trial that is hashed."""
        content = self.model_dump(mode="json")
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @property
    def hash(self):
        """First 20 hexadecimal digits of the SHA-256 of `canonical_json`."""
        return hashlib.sha256(self.canonical_json().encode()).hexdigest()[:20]


def parse(content):
    """Make a trial from a dictionary; say in one sentence what is wrong with it."""
    return checked(Trial, content, "trial")
