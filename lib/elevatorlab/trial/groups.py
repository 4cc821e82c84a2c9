"""Groups of processes: what they run in, and what they may do on the device."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from ..plugins.schedulers import OF_THE_KERNEL
from ..records import Count, Name, Record, absent
from .devices import Scheduler

#: QEMU's cache modes that bypass the page cache of the machine on which QEMU runs.
DIRECT = ("none", "directsync")


class Limits(Record):
    """What a group may do on the device (``io.max``, ``io.weight``; version 1: ``blkio.*``)."""

    read_bytes_s: Count | None = None
    write_bytes_s: Count | None = None
    read_iops: Count | None = None
    write_iops: Count | None = None
    weight: Annotated[int, Field(ge=1, le=10000)] | None = None


class VirtualMachine(Record):
    """A machine that QEMU and KVM make, with the device under test as its virtio disk.

    The defaults are those that libvirt sets when ``virt-install`` is given a block device.

    Attributes
    ----------
    memory_mib : int
        Memory of the virtual machine, which is a part of the outer machine's memory.
    scheduler : Scheduler or None
        Scheduler of the virtual disk in the virtual machine's kernel: one of the kernel's own,
        since no other module is in that machine. None leaves the choice to that kernel.
    cache, aio : str
        QEMU's cache mode, by libvirt's name, and how QEMU hands requests to its host.
    queues : int
        Queues of the virtio disk.
    """

    memory_mib: Annotated[int, Field(ge=256, le=2048)] = 512
    scheduler: Scheduler | None = None
    cache: Literal["none", "writeback", "writethrough", "directsync", "unsafe"] = "none"
    aio: Literal["native", "threads", "io_uring"] = "native"
    queues: Annotated[int, Field(ge=1, le=16)] = 1

    @field_validator("scheduler")
    @classmethod
    def _is_in_the_machine(cls, scheduler: Scheduler | None) -> Scheduler | None:
        if scheduler is not None and scheduler.name not in OF_THE_KERNEL:
            raise ValueError(
                f"virtual_machine.scheduler: expected one of {', '.join(OF_THE_KERNEL)}, since the "
                "virtual machine has only the kernel's own schedulers; found "
                f"{scheduler.name!r}. Choose one of these"
            )
        return scheduler

    @model_validator(mode="after")
    def _aio_fits_the_cache(self) -> VirtualMachine:
        if self.aio == "native" and self.cache not in DIRECT:
            raise ValueError(
                f"aio: expected threads or io_uring with the cache mode {self.cache}, since native "
                f"goes past the page cache ({' or '.join(DIRECT)}); found native"
            )
        return self


class Group(Record):
    """Processes that share a cgroup: plain ones, or those of a container or a virtual machine.

    Attributes
    ----------
    virtual_machine : VirtualMachine or None
        The virtual machine, if `isolation` is ``virtual_machine``; filled in with the defaults.
    """

    name: Name
    isolation: Literal["process", "container", "virtual_machine"] = "process"
    limits: Limits = Limits()
    virtual_machine: VirtualMachine | None = absent(None)

    @model_validator(mode="after")
    def _machine_fits_the_isolation(self) -> Group:
        if self.isolation == "virtual_machine":
            object.__setattr__(self, "virtual_machine", self.virtual_machine or VirtualMachine())
        elif self.virtual_machine is not None:
            raise ValueError(
                "virtual_machine: expected with isolation virtual_machine alone; found with "
                f"{self.isolation}"
            )
        return self
