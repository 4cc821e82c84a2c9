"""Study 1 as trials: the article's two tests, in three states of the page cache."""

from typing import Annotated, Literal

from pydantic import Field

from ...trial import (
    PROFILES,
    Count,
    EndlessRead,
    EndlessWrite,
    Group,
    Model,
    Positive,
    Repetitions,
    Scheduler,
    TimedReads,
    TimedTreeRead,
    Trial,
    checked,
    chosen_device,
)

NAME = "vm_vs_container"

Arm = Literal["host", "container", "vm"]
Variant = Literal["as_published", "dropped", "direct"]
Test = Literal["writes_starving_reads", "high_read_latency"]
SchedulerName = Literal["none", "mq-deadline", "bfq", "kyber"]

#: State of the page cache before a read, by variant.
CACHE = {"as_published": "warm", "dropped": "dropped", "direct": "direct"}


class Parameters(Model):
    """What a user may choose; everything else follows.

    Attributes
    ----------
    sizes_mb : tuple of int
        The article's file sizes in MB. What is read is `scale` times as much, in MiB.
    tree_files : int
        Files in the tree of test 2.
    big_file_mib : int
        Size of the file that the background of test 2 reads.
    device : str
        ``null_blk``, the simulated disk; ``file_backed``, a block device over a file of the
        machine's own disk; or the id of a disk of the machine, which `destroy` must allow.
    backing_schedulers : tuple of str
        Schedulers of the physical disk below a file-backed device, crossed with `schedulers`;
        empty leaves that disk as it is.
    device_slowdown : float
        See `elevatorlab.trial.profile`. 4 by default: one core of a desktop processor of the
        article's time executes some four instructions a nanosecond, the deterministic
        testbed's one. Without it the processor, not the disk, is what requests wait for.
        Chosen before any comparison with the article's times, and not adjusted since.
    """

    preset: Literal["smoke", "quick", "full"] = "quick"
    arms: tuple[Arm, ...] = ("host", "container")
    schedulers: tuple[SchedulerName, ...]
    variants: tuple[Variant, ...]
    tests: tuple[Test, ...] = ("writes_starving_reads", "high_read_latency")
    sizes_mb: tuple[Annotated[int, Field(ge=10, le=100)], ...]
    scale: Positive
    tree_files: Count
    big_file_mib: Count
    device: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:+-]{1,128}$")] = "null_blk"
    destroy: bool = False
    backing_schedulers: tuple[SchedulerName, ...] = ()
    device_profile: Literal[tuple(PROFILES)] = "sata_ssd"
    device_slowdown: Positive = 4
    device_mib: Count
    memory_mib: Count
    deadline_s: Positive
    repetitions: Repetitions


_ALL = {
    "schedulers": ("none", "mq-deadline", "bfq", "kyber"),
    "variants": ("as_published", "dropped", "direct"),
    "sizes_mb": tuple(range(10, 101, 10)),
}

PRESETS = {
    "smoke": {
        **_ALL,
        "schedulers": ("none", "bfq"),
        "variants": ("as_published", "dropped"),
        "sizes_mb": (10, 50, 100),
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
        "scale": 0.1,
        "tree_files": 60,
        "big_file_mib": 96,
        "device_mib": 640,
        "memory_mib": 1280,
        "deadline_s": 120,
        "repetitions": 3,
    },
    "full": {
        **_ALL,
        "scale": 1.0,
        "tree_files": 4000,
        "big_file_mib": 512,
        "device_mib": 3072,
        "memory_mib": 5120,
        "deadline_s": 1200,
        "repetitions": 5,
    },
}


def trials(parameters):
    """Return the trials of `parameters`, repetitions outermost.

    Parameters
    ----------
    parameters : Parameters

    Returns
    -------
    list of Trial
    """
    return [
        _trial(parameters, test, variant, arm, backing_scheduler, scheduler, repetition)
        for repetition in range(1, parameters.repetitions + 1)
        for test in parameters.tests
        for variant in parameters.variants
        for arm in parameters.arms
        for backing_scheduler in parameters.backing_schedulers or (None,)
        for scheduler in parameters.schedulers
    ]


def _trial(parameters, test, variant, arm, backing_scheduler, scheduler, repetition):
    workloads = {"writes_starving_reads": _test_1, "high_read_latency": _test_2}[test]
    fields = dict(
        study=NAME,
        preset=parameters.preset,
        labels={
            "test": test,
            "variant": variant,
            "arm": arm,
            "scale": f"{parameters.scale:g}",
        },
        machine="virtual_machine" if arm == "vm" else "host",
        memory_mib=parameters.memory_mib,
        device=chosen_device(parameters, parameters.device_profile),
        scheduler=Scheduler(name=scheduler),
        backing_scheduler=backing_scheduler,
        groups=(Group(name="main", isolation="container" if arm == "container" else "process"),),
        workloads=workloads(parameters, CACHE[variant]),
        settle_s=0.2,
        deadline_s=parameters.deadline_s,
        seed=repetition,
        repetition=repetition,
    )
    return checked(Trial, fields, "trial")


def _test_1(parameters, cache):
    """*Writes starving reads*: an endless dd, then cat of files of growing size."""
    sizes_mib = tuple(size_mb * parameters.scale for size_mb in parameters.sizes_mb)
    return (
        EndlessWrite(name="writer", group="main", direct=cache == "direct"),
        TimedReads(name="reader", group="main", sizes_mib=sizes_mib, cache=cache),
    )


def _test_2(parameters, cache):
    """*Effects of high read latency*: an endless cat of a big file, then find over a tree.

    The article names neither the size of its big file nor that of its tree (an Android
    SDK). With a cold cache the background reads around the page cache, or its second
    pass would leave the disk idle.

    The tree's files: log-normal sizes with a median of 4 KiB, the median of the five-year
    study of Agrawal et al. (FAST 2007), and a shape of 1.8 that gives a mean of 20 KiB.
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
