"""Study 1 as trials: the article's two tests, in three states of the page cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from ...plugins.schedulers import OF_THE_KERNEL
from ...trial import (
    HOST_MIB,
    Cache,
    Count,
    DiskName,
    DriveName,
    EndlessRead,
    EndlessWrite,
    Positive,
    Repetitions,
    Scheduler,
    SchedulerName,
    TimedReads,
    TimedTreeRead,
    Trial,
    chosen_device,
)
from ..kit.trials import Arm, DiskParameters, on_arm, slowdowns, trial
from .measures import SCHEDULERS
from .published import NAME

Variant = Literal["as_published", "dropped", "direct", "dropped_drive", "direct_drive"]
Test = Literal["writes_starving_reads", "high_read_latency"]

#: State of the page cache before a read, by variant.
CACHE: dict[Variant, Cache] = {
    "as_published": "warm",
    "dropped": "dropped",
    "direct": "direct",
    "dropped_drive": "dropped",
    "direct_drive": "direct",
}
#: The host's scheduler that leaves the order of requests to the virtual machine's scheduler.
ALONE = "none"

#: The variant that combines each scheduler of the host with each of the virtual machine: its reads
#: reach both.
CROSSED: Variant = "dropped"

#: The end of the names of those variants that run on a disk with an arm.
DRIVE_SUFFIX = "_drive"


class Parameters(DiskParameters):
    """What a user may choose; everything else follows."""

    arms: tuple[Arm, ...] = ("host", "container", "vm")
    variants: tuple[Variant, ...]
    tests: tuple[Test, ...] = ("writes_starving_reads", "high_read_latency")
    #: The article's file sizes in MB. The files here have `scale` times these numbers, in MiB.
    sizes_mb: tuple[Annotated[int, Field(ge=10, le=100)], ...]
    scale: Positive
    #: Files in the tree of test 2.
    tree_files: Count
    #: Size of the file that the background of test 2 reads.
    big_file_mib: Count
    #: The disk that ``null_blk`` stands for, and the drive that it stands for in the variants on a
    #: drive. These variants run only in the first arm. The drive's cache is scaled down with the
    #: files.
    disk: DiskName = "sata_ssd"
    drive: DriveName = "desktop-7200"
    #: Largest number of repetitions on the drive.
    drive_repetitions: Repetitions = 1
    #: What the arm ``vm`` is: a virtual machine inside the machine under test, its host. If false,
    #: it is the machine under test itself. In a virtual machine inside, `schedulers` are those of
    #: its own disk. Its kernel has only its own schedulers, so all others are left out there.
    guest: bool = False
    #: Schedulers of the host's disk. The variant `CROSSED` combines each of them with each of
    #: `schedulers`, in the first `crossed_repetitions`. All else uses only the first one.
    guest_below: Annotated[tuple[SchedulerName, ...], Field(min_length=1)] = SCHEDULERS
    crossed_repetitions: Repetitions = 3
    #: Memory of the virtual machine. Its host has this much in addition to `memory_mib`.
    guest_mib: Count = 512


_ALL: dict[str, Any] = {
    "schedulers": ("none", "mq-deadline", "bfq", "kyber"),
    "variants": tuple(CACHE),
    "sizes_mb": tuple(range(10, 101, 10)),
}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        **_ALL,
        "schedulers": ("none", "bfq"),
        "variants": ("as_published", "dropped"),
        "sizes_mb": (10, 50, 100),
        "guest_below": (ALONE,),
        "scale": 0.04,
        "tree_files": 20,
        "big_file_mib": 32,
        "device_mib": 384,
        "memory_mib": 1024,
        "deadline_s": 60,
        "repetitions": 1,
    },
    "quick": {
        **_ALL,
        # The article's question in its first test, with its largest file.
        "arms": ("container", "vm"),
        "variants": ("as_published",),
        "tests": ("writes_starving_reads",),
        "sizes_mb": (100,),
        "scale": 1.0,
        "tree_files": 20,
        "big_file_mib": 32,
        "device_mib": 448,
        "memory_mib": 1280,
        "guest_mib": 640,
        "deadline_s": 120,
        "repetitions": 4,
    },
    "paper": {
        **_ALL,
        # Files are as large as the article's, which does not give the sizes of its tree and its
        # big file.
        "scale": 1.0,
        "tree_files": 300,
        "big_file_mib": 256,
        "device_mib": 1536,
        "memory_mib": 4096,
        "guest_mib": 2048,
        "deadline_s": 600,
        "repetitions": 8,
        "drive_repetitions": 8,
    },
    "full": {
        **_ALL,
        "scale": 1.0,
        "tree_files": 4000,
        "big_file_mib": 512,
        "device_mib": 3072,
        "memory_mib": 5120,
        "guest_mib": 2048,
        "deadline_s": 1200,
        "repetitions": 5,
    },
}


VARIATIONS = slowdowns(Parameters, "device_slowdown")


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of `parameters`, repetition by repetition."""
    return [
        _trial(parameters, test, variant, place, scheduler, repetition)
        for repetition in parameters.each_repetition
        for test in parameters.tests
        for variant in parameters.variants
        for place in _places(parameters, variant, repetition)
        for scheduler in parameters.schedulers
        if not place.guest or scheduler in OF_THE_KERNEL
    ]


class _Place(NamedTuple):
    """An arm, and the scheduler of the disk below the one that its processes see."""

    arm: Arm
    below: str | None
    guest: bool = False


def _places(parameters: Parameters, variant: Variant, repetition: int) -> Iterator[_Place]:
    """Yield the places in which a variant runs in a repetition."""
    is_crossed = variant == CROSSED and repetition <= parameters.crossed_repetitions
    crossed = parameters.guest_below if is_crossed else parameters.guest_below[:1]
    for arm in _arms(parameters, variant, repetition):
        guest = arm == "vm" and parameters.guest
        for below in crossed if guest else parameters.each_backing_scheduler:
            yield _Place(arm, below, guest)


def _arms(parameters: Parameters, variant: Variant, repetition: int) -> tuple[Arm, ...]:
    """Return the arms on which a variant runs in a repetition."""
    if not variant.endswith(DRIVE_SUFFIX):
        return parameters.arms
    there = repetition <= parameters.drive_repetitions and parameters.device == "null_blk"
    return parameters.arms[:1] if there else ()


def _trial(
    parameters: Parameters,
    test: Test,
    variant: Variant,
    place: _Place,
    scheduler: str,
    repetition: int,
) -> Trial:
    workloads = {"writes_starving_reads": _test_1, "high_read_latency": _test_2}[test]
    labels = {"test": test, "variant": variant, "arm": place.arm, "scale": f"{parameters.scale:g}"}
    return trial(
        parameters,
        NAME,
        repetition,
        labels=labels,
        **_in_guest(parameters, place, scheduler) if place.guest else _outside(place, scheduler),
        device=chosen_device(
            parameters,
            parameters.drive if variant.endswith(DRIVE_SUFFIX) else parameters.disk,
            min(1, parameters.scale),
        ),
        workloads=workloads(parameters, CACHE[variant]),
        settle_s=0.2,
    )


def _outside(place: _Place, scheduler: str) -> dict[str, Any]:
    """Return the fields of a trial whose processes see the device under test."""
    fields = {"scheduler": Scheduler(name=scheduler), "backing_scheduler": place.below}
    return {**on_arm(place.arm), **fields}


def _in_guest(parameters: Parameters, place: _Place, scheduler: str) -> dict[str, Any]:
    """Return the fields of a trial in a virtual machine, whose disk is the device under test."""
    machine = {
        "memory_mib": parameters.guest_mib,
        "scheduler": {"name": scheduler},
    }
    group = {"name": "main", "isolation": "virtual_machine", "virtual_machine": machine}
    return {
        "groups": (group,),
        "scheduler": {"name": place.below},
        "memory_mib": parameters.memory_mib + parameters.guest_mib + HOST_MIB,
    }


def _test_1(parameters: Parameters, cache: Cache) -> tuple[EndlessWrite, TimedReads]:
    """Return the workloads of *Writes starving reads*: an endless dd, and cat of growing files."""
    sizes_mib = tuple(size_mb * parameters.scale for size_mb in parameters.sizes_mb)
    return (
        EndlessWrite(name="writer", group="main", direct=cache == "direct"),
        TimedReads(name="reader", group="main", sizes_mib=sizes_mib, cache=cache),
    )


def _test_2(parameters: Parameters, cache: Cache) -> tuple[EndlessRead, TimedTreeRead]:
    """Return the workloads of *Effects of high read latency*.

    They are an endless cat of a big file, and find over a tree. The article names neither the size
    of its big file nor that of its tree (an Android SDK). With a cold cache, the read of the big
    file bypasses the page cache, because otherwise its second pass would leave the disk idle.

    The sizes of the tree's files are log-normal. Their median is 4 KiB, the median of the five-year
    study of Agrawal et al. (FAST 2007). A shape of 1.8 gives a mean of 20 KiB.
    """
    return (
        EndlessRead(
            name="bigfile", group="main", size_mib=parameters.big_file_mib, direct=cache != "warm"
        ),
        TimedTreeRead(
            name="tree",
            group="main",
            files=parameters.tree_files,
            median_kib=4,
            sigma=1.8,
            largest_kib=1024,
            cache=cache,
        ),
    )
