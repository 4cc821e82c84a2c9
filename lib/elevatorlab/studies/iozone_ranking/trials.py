"""Study 2 as trials: the article's five tests with every scheduler, run and number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ...plugins.schedulers import OF_THE_KERNEL
from ...trial import (
    Count,
    DiskName,
    Group,
    Iozone,
    Positive,
    Record,
    Scheduler,
    SchedulerName,
    Trial,
    checked,
    chosen_device,
)
from ..kit.trials import DiskParameters, slowdowns, trial
from .published import FILE_MIB, NAME

Variant = Literal["as_published", "direct"]

#: Drives like those of the article's laptop and desktop.
DRIVES = ("notebook-5400", "desktop-7200")

#: Disks without an arm that stand for a hard disk. Like a drive, such a disk says that it turns,
#: because bfq treats disks that turn differently.
TURNING = ("single_server_disk",)

OVERHEAD_MIB = 16
"""Space for the probe's file, and for what ext4 needs on a device of at most some hundred MiB."""


class Parameters(DiskParameters):
    """What a user may choose; everything else follows."""

    #: ``iozone``; or ``fio`` for the same five patterns where iozone cannot be installed.
    tool: Literal["iozone", "fio"] = "iozone"
    schedulers: Annotated[tuple[SchedulerName, ...], Field(min_length=1)]
    #: ``as_published``; ``direct`` bypasses the page cache (iozone's ``-I``).
    variants: Annotated[tuple[Variant, ...], Field(min_length=1)]
    #: iozone runs with 1 to this many threads, as in the article's script.
    threads: Annotated[int, Field(ge=1, le=64)]
    #: Size of each thread's file, and of a request.
    size_mib: Count
    record_kib: Annotated[int, Field(ge=4, le=16384)]
    #: Limit of dirty data (see `elevatorlab.trial.Iozone`). The article does not give its
    #: computers' memory. A kernel of its time let dirty pages fill a fifth of the free memory. On a
    #: computer with 2 GiB, that is about a third of a file of 1 GiB. So the smaller presets take a
    #: third of a file.
    dirty_mib: Positive | None = None
    #: The disks that ``null_blk`` stands for (see `elevatorlab.trial.DiskName`): two drives like
    #: the article's and, for contrast, disks without an arm. A drive reports itself as rotational
    #: (see also `TURNING`), and its cache is scaled down with the files. The directory of the tests
    #: is always the root of a new ext4 file system on the disk.
    disks: Annotated[tuple[DiskName, ...], Field(min_length=1)] = DRIVES

    @model_validator(mode="after")
    def _files_fit(self) -> Self:
        needed_mib = self.threads * self.size_mib + OVERHEAD_MIB
        if self.device_mib < needed_mib:
            raise ValueError(
                f"device_mib: expected at least {needed_mib} for {self.threads} files of "
                f"{self.size_mib} MiB and the file system; found {self.device_mib}"
            )
        return self


_ALL: dict[str, Any] = {
    "schedulers": OF_THE_KERNEL,
    "reimplemented": ("cfq",),
    "variants": ("as_published", "direct"),
    "threads": 3,
    "repetitions": 3,
    "disks": (*DRIVES, "single_server_disk", "sata_ssd"),
}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        **_ALL,
        "schedulers": ("none", "bfq"),
        "reimplemented": (),
        "disks": ("notebook-5400", "single_server_disk"),
        "threads": 2,
        "repetitions": 1,
        "size_mib": 3,
        "record_kib": 512,
        "dirty_mib": 1,
        "device_mib": 48,
        "memory_mib": 512,
        "deadline_s": 240,
    },
    "quick": {
        **_ALL,
        "disks": DRIVES,
        "variants": ("as_published",),
        "threads": 2,
        "size_mib": 8,
        "record_kib": 512,
        "dirty_mib": 2.5,
        "device_mib": 64,
        "memory_mib": 512,
        "deadline_s": 600,
    },
    "paper": {
        **_ALL,
        # The article's sizes. Its figures are those of one thread, whatever its log says.
        "threads": 1,
        "disks": DRIVES,
        "size_mib": FILE_MIB,
        "record_kib": 8192,
        "dirty_mib": FILE_MIB / 3,
        "device_mib": FILE_MIB + 256,
        "memory_mib": FILE_MIB + 256 + 2048,  # the disk, and a computer of 2 GiB
        "deadline_s": 2400,
        "repetitions": 8,
    },
    "full": {
        **_ALL,
        "disks": (*DRIVES, "single_server_disk"),
        "size_mib": 1024,
        "record_kib": 8192,
        "device_mib": 3584,
        "memory_mib": 5120,
        "deadline_s": 14400,
    },
}


VARIATIONS = slowdowns(Parameters, "device_slowdown")


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of `parameters`, run by run, as in the article's script.

    A repetition is what the article calls a run.

    Returns: One per run, scheduler, device and variant; each has all numbers of threads.
    """
    return [
        _trial(parameters, run, arm, device, variant, backing_scheduler, scheduler)
        for run in parameters.each_repetition
        for arm, device in _devices(parameters).items()
        for variant in parameters.variants
        for backing_scheduler in parameters.each_backing_scheduler
        for scheduler in parameters.each_scheduler
    ]


def _devices(parameters: Parameters) -> dict[str, Record]:
    """Return the devices, by the name of their arm."""
    if parameters.device != "null_blk":
        arm = "file_backed" if parameters.device == "file_backed" else "disk"
        return {arm: chosen_device(parameters, arm)}
    cache_ratio = parameters.size_mib / FILE_MIB
    return {
        Path(disk).stem: chosen_device(parameters, disk, cache_ratio) for disk in parameters.disks
    }


def _trial(
    parameters: Parameters,
    run: int,
    arm: str,
    device: Record,
    variant: Variant,
    backing_scheduler: str | None,
    scheduler: str,
) -> Trial:
    workload = {
        "name": "iozone",
        "group": "main",
        "tool": parameters.tool,
        "threads": tuple(range(1, parameters.threads + 1)),
        "size_mib": parameters.size_mib,
        "record_kib": parameters.record_kib,
        "direct": variant == "direct",
        "dirty_mib": parameters.dirty_mib,
    }
    return trial(
        parameters,
        NAME,
        run,
        labels={"arm": arm, "variant": variant, "tool": parameters.tool},
        device=device,
        scheduler=Scheduler(name=scheduler, tunables={"rotational": 1} if arm in TURNING else {}),
        backing_scheduler=backing_scheduler,
        groups=(Group(name="main"),),
        workloads=(checked(Iozone, workload, "iozone"),),
        sample_interval_ms=1000,
    )
