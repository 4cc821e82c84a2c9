"""The study's parameters and presets, and the trials that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from ...plugins.schedulers import OF_THE_KERNEL
from ...trial import (
    CommitPhase,
    Count,
    DiskName,
    Repetitions,
    Scheduler,
    SchedulerName,
    SysbenchInsert,
    Trial,
    chosen_device,
    has_arm,
)
from ..kit.reimplemented import REIMPLEMENTED
from ..kit.trials import Arm, DiskParameters, on_arm, slowdowns, trial
from .published import NAME

#: The article's name for each scheduler. Schedulers without an entry came later than the article.
MAPPING = {
    "mq-deadline": "deadline",
    "none": "noop",
    **{name: name for name in REIMPLEMENTED},
    "bfq": "bfq (not in it; cfq's successor)",
}

#: The simulated disks, with the RAID controller's write-behind cache and without it: first eight
#: drives, then, for contrast, a disk without an arm. A real machine uses its own device.
CACHED_DRIVE, UNCACHED_DRIVE = "array-of-eight", "array-of-eight-no-cache"
CACHED, UNCACHED = "raid_write_behind", "raid_no_cache"

Idling = Literal["as shipped", "low_latency off", "strict_guarantees"]

#: The configurations of bfq in which slice_idle is swept: as shipped, without preference for
#: interactive programs, and with strict_guarantees. In the last one, bfq always idles when a
#: process's queue runs empty, and lets only one request into the device (the kernel's
#: Documentation/block/bfq-iosched.rst). With it, the reference results have as much idle time with
#: slice_idle 0 as with 8. So slice_idle alone does not explain the idle time.
IDLING: dict[Idling, dict[str, int]] = {
    "as shipped": {},
    "low_latency off": {"low_latency": 0},
    "strict_guarantees": {"strict_guarantees": 1, "low_latency": 0},
}

#: Values of innodb_flush_log_at_trx_commit. With 1, each commit waits until the log is on the
#: device. With 0, the control, it does not wait. With 2, it writes the log, but does not flush it.
DURABLE: Final = 1
LAZY: Final = 0
WRITTEN: Final = 2

#: Factor on the deadline of a trial on a drive. cfq waits 8 ms after each of thousands of commits,
#: so its trials last much longer than others. Waiting costs no processor time.
PATIENCE_ON_DRIVES = 5

Threads = Annotated[int, Field(ge=1, le=64)]


class Parameters(DiskParameters):
    """What a user may choose.

    Attributes
    ----------
    arms : tuple of str
        The first arm runs everything. The others run only the article's table, on the last of
        `disks`.
    disks, uncached_disks : tuple of str
        What ``null_blk`` stands for, with the controller's cache and without it. If drives are
        among the disks, the verdicts are based on them.
    schedulers : tuple of str
        See `MAPPING`.
    threads : tuple of int
        Connections that insert at the same time; the article has 1 and 8.
    flush_settings : tuple of int
        ``innodb_flush_log_at_trx_commit``; the article has 1 and 0.
    commits : int
        Number of commits in each measurement; each commit inserts one row.
    drive_commits, uncached_drive_commits : dict of int to int
        By number of threads: used instead of `commits` where a commit waits for a drive. In the
        presets ``quick`` and ``paper``, each measurement then lasts 5 s: long enough for bfq to
        estimate the speed of the drive.
    drive_schedulers : tuple of str
        Those schedulers of the kernel, and reimplemented ones, that run on drives.
    drive_repetitions : int
        Largest number of repetitions on drives with the cache, whose commits take much processor
        time.
    slice_idles_ms : tuple of int
        Values of bfq's slice_idle, its time to wait for a process's next request. They are swept
        on the last of `disks`. The kernel's default is 8. Empty: no sweep.
    idlings : tuple of str
        The keys of `IDLING` with which slice_idle is swept.
    without_cache : bool
        Run the schedulers on `uncached_disks`, too.
    uncached_commits : int
        As `commits`, on `uncached_disks`.
    rotational : int
        Whether the device reports itself as rotational (1), as drives and a RAID of them do. bfq
        depends on it.
    buffer_pool_mib, log_mib : int
        Sizes of InnoDB's buffer pool and redo log; each can hold all that is inserted.
    """

    arms: Annotated[tuple[Arm, ...], Field(min_length=1)] = ("host", "container")
    disks: Annotated[tuple[DiskName, ...], Field(min_length=1)] = (CACHED_DRIVE, CACHED)
    uncached_disks: tuple[DiskName, ...] = (UNCACHED_DRIVE, UNCACHED)
    threads: Annotated[tuple[Threads, ...], Field(min_length=1)] = (1, 8)
    flush_settings: tuple[Literal[0, 1, 2], ...] = (DURABLE, LAZY, WRITTEN)
    commits: Count
    drive_commits: dict[Threads, Count]
    drive_schedulers: tuple[SchedulerName, ...] = ("none", "mq-deadline", "cfq", "bfq")
    drive_repetitions: Repetitions
    slice_idles_ms: tuple[Annotated[int, Field(ge=0, le=100)], ...]
    idlings: tuple[Idling, ...] = ("as shipped", "strict_guarantees")
    without_cache: bool
    uncached_commits: Count
    uncached_drive_commits: dict[Threads, Count]
    rotational: Literal[0, 1] = 1
    buffer_pool_mib: Annotated[int, Field(ge=8)] = 32
    log_mib: Annotated[int, Field(ge=4)] = 8


_ALL: dict[str, Any] = {
    "schedulers": OF_THE_KERNEL,
    "reimplemented": REIMPLEMENTED,
}

#: The numbers of commits with which each measurement on a drive lasts 5 s.
_FIVE_SECONDS = {
    "drive_commits": {1: 15000, 8: 26000},
    "uncached_drive_commits": {1: 1100, 8: 2800},
}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "schedulers": ("mq-deadline", "bfq"),
        "flush_settings": (DURABLE, LAZY),
        "commits": 100,
        "drive_commits": {},
        "drive_repetitions": 1,
        "uncached_drive_commits": {},
        "slice_idles_ms": (),
        "without_cache": False,
        "uncached_commits": 50,
        "device_mib": 160,
        "deadline_s": 60,
        "repetitions": 1,
    },
    "quick": {
        # The article's table alone. The drives are left to `paper`: with the cache, one repetition
        # of their four schedulers takes longer than all studies of this preset.
        "arms": ("host",),
        "schedulers": ("none", "mq-deadline", "bfq"),
        "reimplemented": ("cfq",),
        "disks": (CACHED,),
        "flush_settings": (DURABLE, LAZY),
        "commits": 200,
        "drive_commits": {},
        "drive_repetitions": 1,
        "uncached_drive_commits": {},
        "slice_idles_ms": (),
        "without_cache": False,
        "uncached_commits": 80,
        "device_mib": 160,
        "deadline_s": 120,
        "repetitions": 3,
    },
    "paper": {
        **_ALL,
        # As `quick`, but also with the drives behind the cache, and with more repetitions.
        "commits": 200,
        **_FIVE_SECONDS,
        "drive_repetitions": 8,
        "slice_idles_ms": (0, 2, 8),
        "without_cache": True,
        "uncached_commits": 80,
        "device_mib": 160,
        "deadline_s": 120,
        "repetitions": 8,
    },
    "full": {
        **_ALL,
        "commits": 20000,
        "drive_commits": {},
        "drive_repetitions": 5,
        "uncached_drive_commits": {},
        "slice_idles_ms": (0, 1, 2, 4, 8, 16),
        "idlings": tuple(IDLING),
        "without_cache": True,
        "uncached_commits": 1000,
        "device_mib": 1024,
        "memory_mib": 4096,
        "buffer_pool_mib": 256,
        "log_mib": 256,
        "deadline_s": 1200,
        "repetitions": 5,
    },
}


VARIATIONS = slowdowns(Parameters, "device_slowdown")


class Case(NamedTuple):
    """What distinguishes a trial from the others of the same arm and repetition."""

    #: ``table`` (the article's), ``no_cache`` or ``sweep``.
    experiment: str
    #: Name of the simulated disk.
    disk: str
    scheduler: str
    #: Tunables of the scheduler.
    tunables: dict[str, int]
    #: A key of `IDLING`.
    idling: Idling


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of `parameters`, repetition by repetition."""
    return [
        _trial(parameters, arm, backing_scheduler, repetition, case)
        for repetition in parameters.each_repetition
        for arm in parameters.arms
        for backing_scheduler in parameters.each_backing_scheduler
        for case in _cases(parameters, arm == parameters.arms[0], repetition)
    ]


def _cases(parameters: Parameters, is_first_arm: bool, repetition: int) -> Iterator[Case]:
    """Yield the cases that run in one arm in one repetition."""
    last = parameters.disks[-1]
    simulated = is_first_arm and parameters.device == "null_blk"
    for disk in parameters.disks if simulated else (last,):
        if not has_arm(disk) or repetition <= parameters.drive_repetitions:
            for scheduler in _schedulers(parameters, disk):
                yield Case("table", disk, scheduler, {}, "as shipped")
    if parameters.without_cache and simulated:
        for disk in parameters.uncached_disks:
            for scheduler in _schedulers(parameters, disk):
                yield Case("no_cache", disk, scheduler, {}, "as shipped")
    for slice_idle in parameters.slice_idles_ms if is_first_arm else ():
        for idling in parameters.idlings:
            tunables = {"slice_idle": slice_idle, **IDLING[idling]}
            yield Case("sweep", last, "bfq", tunables, idling)


def _schedulers(parameters: Parameters, disk: str) -> Sequence[str]:
    """Return the schedulers that run on a disk; a user's own scheduler runs on every disk."""
    if not has_arm(disk):
        return parameters.each_scheduler
    left_out = {*OF_THE_KERNEL, *REIMPLEMENTED} - {*parameters.drive_schedulers}
    return [name for name in parameters.each_scheduler if name not in left_out]


def _commits(parameters: Parameters, case: Case, threads: int, flush: int) -> int:
    """Return how many transactions a measurement commits."""
    without_cache = case.experiment == "no_cache"
    if has_arm(case.disk) and flush == DURABLE:
        wanted = parameters.uncached_drive_commits if without_cache else parameters.drive_commits
        if threads in wanted:
            return wanted[threads]
    return parameters.uncached_commits if without_cache else parameters.commits


def _trial(
    parameters: Parameters, arm: Arm, backing_scheduler: str | None, repetition: int, case: Case
) -> Trial:
    flush_settings = parameters.flush_settings if case.experiment == "table" else (DURABLE,)
    inserts = SysbenchInsert(
        name="inserts",
        group="main",
        phases=tuple(
            CommitPhase(
                threads=threads,
                flush_log_at_trx_commit=flush,
                commits=_commits(parameters, case, threads, flush),
            )
            for flush in flush_settings
            for threads in parameters.threads
        ),
        buffer_pool_mib=parameters.buffer_pool_mib,
        log_mib=parameters.log_mib,
    )
    tunables = {"rotational": parameters.rotational, **case.tunables}
    if has_arm(case.disk):
        patient = {"deadline_s": PATIENCE_ON_DRIVES * parameters.deadline_s}
        parameters = parameters.model_copy(update=patient)
    return trial(
        parameters,
        NAME,
        repetition,
        labels={"arm": arm, "experiment": case.experiment, "idling": case.idling},
        **on_arm(arm),
        device=chosen_device(parameters, case.disk),
        scheduler=Scheduler(name=case.scheduler, tunables=tunables),
        backing_scheduler=backing_scheduler,
        workloads=(inserts,),
    )
