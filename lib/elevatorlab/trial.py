"""A trial is data: one fully specified run, with a content hash.

Nothing about a trial is implied by where it runs; the same trial runs on every testbed
that has what it needs.
"""

import hashlib
import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .errors import ElevatorLabError

SCHEMA_VERSION = 1

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$")]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(gt=0)]
Cache = Literal["warm", "dropped", "direct"]


class Model(BaseModel):
    """Unknown keys are refused; a value, once made, does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NullBlk(Model):
    """A simulated disk: `parallelism` servers that take `service_time_us` a request."""

    kind: Literal["null_blk"] = "null_blk"
    profile: str
    #: How much slower than the profile this disk is; its figures below say what that makes.
    slowdown: Positive = 1
    size_mib: Count
    service_time_us: NotNegative
    parallelism: Annotated[int, Field(ge=1, le=1024)]
    #: 0: no limit. null_blk hands it out in portions of 20 ms, so a request on a saturated disk
    #: waits for the next portion, whoever sent it.
    bandwidth_mib_s: Annotated[int, Field(ge=0)] = 0
    #: 0: no volatile write cache, so a flush costs nothing.
    write_cache_mib: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _serves_the_largest_request(self):
        # null_blk hands out its bandwidth in fiftieths of a second, and a request that needs
        # more than one of them (at most 1280 KiB, so 63 MiB/s) is never served.
        if 0 < self.bandwidth_mib_s < 63:
            raise ValueError(
                "device.bandwidth_mib_s: expected 0 (no limit) or at least 63, since null_blk "
                f"never serves large requests with less; found {self.bandwidth_mib_s}"
            )
        return self


class FileBacked(Model):
    """A block device over a file of the machine's own disk: as fast as that disk is.

    On a host, and below a container, it is a loop device with direct I/O to the file; in a
    virtual machine it is a second virtual disk, whose file lies on the host's disk.
    """

    kind: Literal["file_backed"] = "file_backed"
    size_mib: Count


class Disk(Model):
    """A disk of the machine, by a name that stays the same; what is on it is lost.

    Attributes
    ----------
    id : str
        A name below ``/dev/disk/by-id``, or the disk's serial number.
    destroy : bool
        Must be true before anything is written.
    """

    kind: Literal["disk"] = "disk"
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:+-]{1,128}$")]
    destroy: bool = False


#: Profiles by name. They stand for classes of device, not for one product: the figures are
#: round numbers within the range of data sheets of each class (SATA SSD: 32 queued commands,
#: 600 MB/s, after encoding, less the protocol; NVMe SSD: four PCIe 3.0 lanes; disk with one
#: server: at 7200 turns a minute half a turn is 4.2 ms, and a short seek about as long).
PROFILES = {
    "sata_ssd": {"service_time_us": 90, "parallelism": 32, "bandwidth_mib_s": 530},
    "nvme_ssd": {"service_time_us": 80, "parallelism": 256, "bandwidth_mib_s": 3200},
    "ram_disk": {"service_time_us": 0, "parallelism": 64},
    "single_server_disk": {"service_time_us": 8000, "parallelism": 1},
}


def profile(name, size_mib, slowdown=1):
    """Return the device of a named profile.

    Parameters
    ----------
    name : str
        One of `PROFILES`.
    size_mib : int
        Capacity; it is held in the memory of the machine that runs the trial.
    slowdown : float
        Factor on all of the profile's times. The deterministic testbed's processor executes
        one instruction a nanosecond; a slower disk keeps its proportion to a faster processor.
    """
    if name not in PROFILES:
        raise ElevatorLabError(
            f"device profile: expected one of {', '.join(PROFILES)}; found {name!r}"
        )
    figures = PROFILES[name]
    return NullBlk(
        profile=name,
        slowdown=slowdown,
        size_mib=size_mib,
        service_time_us=figures["service_time_us"] * slowdown,
        parallelism=figures["parallelism"],
        bandwidth_mib_s=round(figures.get("bandwidth_mib_s", 0) / slowdown),
    )


class Scheduler(Model):
    """An I/O scheduler, by the kernel's name, and its tunables (``queue/iosched/*``)."""

    name: Literal["none", "mq-deadline", "bfq", "kyber"]
    tunables: dict[Name, int] = {}


class Limits(Model):
    """What a group may do on the device (``io.max``, ``io.weight``; version 1: ``blkio.*``)."""

    read_bytes_s: Count | None = None
    write_bytes_s: Count | None = None
    read_iops: Count | None = None
    write_iops: Count | None = None
    weight: Annotated[int, Field(ge=1, le=10000)] | None = None


class Group(Model):
    """Processes that share a cgroup: plain ones, or those of a container."""

    name: Name
    isolation: Literal["process", "container"] = "process"
    limits: Limits = Limits()


class EndlessWrite(Model):
    """``while true; do dd if=/dev/zero of=file bs=1M; done &``."""

    kind: Literal["endless_write"] = "endless_write"
    name: Name
    group: Name
    direct: bool = False


class EndlessRead(Model):
    """``while true; do cat file >/dev/null; done &``."""

    kind: Literal["endless_read"] = "endless_read"
    name: Name
    group: Name
    size_mib: Count
    direct: bool = False


class TimedReads(Model):
    """``time cat file >/dev/null`` for files of several sizes."""

    kind: Literal["timed_reads"] = "timed_reads"
    name: Name
    group: Name
    sizes_mib: Annotated[tuple[Positive, ...], Field(min_length=1)]
    cache: Cache


class TimedTreeRead(Model):
    """``time find tree -type f -exec cat {} ; >/dev/null`` over small files."""

    kind: Literal["timed_tree_read"] = "timed_tree_read"
    name: Name
    group: Name
    files: Count
    files_per_folder: Count = 50
    median_kib: Positive
    sigma: Positive
    largest_kib: Count
    cache: Cache


class Fio(Model):
    """fio with the given options; on the bare device where there is no file system."""

    kind: Literal["fio"] = "fio"
    name: Name
    group: Name
    options: dict[str, str | int]


class Iostat(Model):
    """``iostat -x`` for `count` intervals: a second witness beside the sampler."""

    kind: Literal["iostat"] = "iostat"
    name: Name
    group: Name
    interval_s: Count = 1
    count: Count


BACKGROUND = (EndlessWrite, EndlessRead)

Workload = Annotated[
    EndlessWrite | EndlessRead | TimedReads | TimedTreeRead | Fio | Iostat,
    Field(discriminator="kind"),
]


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
    settle_s : float
        Background workloads run this long, times 1 to 2 by the seed, before the others start.
    deadline_s : float
        The trial fails when it has not ended by then (in the testbed's own time).
    seed, repetition : int
        Another repetition is the same trial with another seed.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    study: Name
    preset: Literal["smoke", "quick", "full"]
    labels: dict[Name, str] = {}
    machine: Literal["host", "virtual_machine"] = "host"
    memory_mib: Annotated[int, Field(ge=512, le=16384)] = 1024
    device: Annotated[NullBlk | FileBacked | Disk, Field(discriminator="kind")]
    scheduler: Scheduler
    backing_scheduler: Literal["none", "mq-deadline", "bfq", "kyber"] | None = None
    filesystem: Literal["ext4"] | None = "ext4"
    groups: Annotated[tuple[Group, ...], Field(min_length=1)]
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1)]
    settle_s: NotNegative = 0.2
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
            if self.filesystem is None and not isinstance(workload, Fio | Iostat):
                raise ValueError(f"workload {workload.name}: {workload.kind} needs a file system")
        if self.filesystem is None and any(g.isolation == "container" for g in self.groups):
            raise ValueError("groups: a container's root needs a file system on the device")
        if all(isinstance(workload, BACKGROUND) for workload in self.workloads):
            raise ValueError("workloads: expected at least one that ends; found only endless ones")
        if self.backing_scheduler and not isinstance(self.device, FileBacked):
            raise ValueError(
                "backing_scheduler: expected with a file-backed device, below which there is "
                f"another one; found {self.device.kind}"
            )
        in_memory = isinstance(self.device, NullBlk)
        if in_memory and self.device.size_mib > self.memory_mib - 256:
            raise ValueError(
                f"device.size_mib: the disk lives in memory and leaves too little of it: expected "
                f"at most memory_mib - 256 = {self.memory_mib - 256}; found {self.device.size_mib}"
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


def checked(model, content, what):
    """Validate `content` as `model`; an error names the field, what was given, what is allowed.

    Raises
    ------
    ElevatorLabError
    """
    try:
        return model.model_validate(content)
    except ValidationError as problem:
        raise ElevatorLabError(f"{what}: " + "; ".join(map(_sentence, problem.errors()))) from None


def _sentence(error):
    field = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{field}: no such parameter (given: {error['input']!r})"
    if error["type"] == "missing":
        return f"{field}: required, and not given"
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    return f"{field}: {error['msg']} (given: {error['input']!r})"
