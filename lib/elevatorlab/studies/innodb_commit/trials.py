"""The study's parameters and presets, and the trials that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from ...plugins.schedulers import OF_THE_KERNEL
from ...trial import (
    CommitPhase,
    Count,
    DiskName,
    Positive,
    Processors,
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
from ..kit.turns import Turns
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

#: Part of a phase's length for which its rows are inserted before it, without being measured.
WARM_UP_SHARE = 0.1

#: Warm-up of the first phase on a drive. bfq estimates the speed of a drive from at least a second
#: of requests, and keeps the estimate for the phases that follow.
FIRST_WARM_UP_ON_DRIVES_S = 2

Threads = Annotated[int, Field(ge=1, le=64)]


class Parameters(Turns, DiskParameters):
    """What a user may choose; `MAPPING` says more of `schedulers`."""

    #: The first arm runs everything. The others run only the article's table, on the last of
    #: `disks`.
    arms: Annotated[tuple[Arm, ...], Field(min_length=1)] = ("host", "container")
    #: What ``null_blk`` stands for, with the controller's cache and without it. If drives are among
    #: the disks, the verdicts are based on them.
    disks: Annotated[tuple[DiskName, ...], Field(min_length=1)] = (CACHED_DRIVE, CACHED)
    uncached_disks: tuple[DiskName, ...] = (UNCACHED_DRIVE, UNCACHED)
    #: Connections that insert at the same time; the article has 1 and 8.
    threads: Annotated[tuple[Threads, ...], Field(min_length=1)] = (1, 8)
    #: ``innodb_flush_log_at_trx_commit``; the article has 1 and 0.
    flush_settings: tuple[Literal[0, 1, 2], ...] = (DURABLE, LAZY, WRITTEN)
    #: Longer turns hold up threads that wait for each other's locks (docs/multicore.md).
    slots_instructions: Annotated[tuple[Count, ...], Field(min_length=1)] = (100, 200)
    #: Processors of the server's machine, if the testbed makes it. With one, the processor is busy
    #: nearly all the time at 8 threads, and the disk hardly matters.
    processors: Processors = 1
    #: Length of each measurement, whatever the flush setting. Each commit inserts one row.
    phase_s: Positive
    #: The same on drives with the cache, and on `uncached_disks`, whose commits take longer.
    drive_phase_s: Positive = 0.6
    uncached_phase_s: Positive = 5
    #: Those schedulers of the kernel, and reimplemented ones, that run on drives.
    drive_schedulers: tuple[SchedulerName, ...] = ("none", "mq-deadline", "cfq", "bfq")
    #: Largest number of repetitions on drives with the cache, whose commits take much processor
    #: time.
    drive_repetitions: Repetitions
    #: Values of bfq's slice_idle, its time to wait for a process's next request. They are swept on
    #: the last of `disks`. The kernel's default is 8. Empty: no sweep.
    slice_idles_ms: tuple[Annotated[int, Field(ge=0, le=100)], ...]
    #: The keys of `IDLING` with which slice_idle is swept.
    idlings: tuple[Idling, ...] = ("as shipped", "strict_guarantees")
    #: Run the schedulers on `uncached_disks`, too.
    without_cache: bool
    #: Whether the device reports itself as rotational (1), as drives and a RAID of them do. bfq
    #: depends on it.
    rotational: Literal[0, 1] = 1
    #: Sizes of InnoDB's buffer pool and redo log; each can hold all that is inserted.
    buffer_pool_mib: Annotated[int, Field(ge=8)] = 32
    log_mib: Annotated[int, Field(ge=4)] = 32
    #: Whether the redo log is written through the page cache, as in the article's MySQL: there,
    #: innodb_flush_method opens the data files alone with O_DIRECT, and the log is flushed with
    #: fsync. (Texts that quote the manuals of 5.0 and 5.1 agree; the manuals were not at hand.)
    #: MariaDB 10.11 would open the log with O_DIRECT (MDEV-28111, MDEV-28766). The value was fixed
    #: on 27 November 2026 by that, not by a result.
    log_file_buffering: bool = True

    @model_validator(mode="after")
    def _has_turns_of_several_processors_alone(self) -> Self:
        given = self.model_fields_set & set(Turns.model_fields)
        if given and self.processors == 1:
            raise ValueError(
                f"{min(given)}: expected with several processors, which take turns; found "
                "processors 1. Name them, too: -p processors=4"
            )
        return self


_ALL: dict[str, Any] = {
    "schedulers": OF_THE_KERNEL,
    "reimplemented": REIMPLEMENTED,
}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "schedulers": ("mq-deadline", "bfq"),
        "flush_settings": (DURABLE, LAZY),
        "phase_s": 0.1,
        "drive_phase_s": 0.1,
        "drive_repetitions": 1,
        "slice_idles_ms": (),
        "without_cache": False,
        "device_mib": 160,
        "deadline_s": 60,
        "repetitions": 1,
    },
    "quick": {
        # The article's table alone, on one processor: two minutes. Its main claim is about cfq. The
        # drives are left to `paper`: one repetition of their four schedulers takes longer than all
        # studies of this preset.
        "arms": ("host",),
        "schedulers": ("none", "mq-deadline", "bfq"),
        "reimplemented": ("cfq",),
        "disks": (CACHED,),
        "flush_settings": (DURABLE, LAZY),
        "phase_s": 0.2,
        "drive_repetitions": 1,
        "slice_idles_ms": (),
        "without_cache": False,
        "device_mib": 160,
        "deadline_s": 120,
        "repetitions": 3,
    },
    "paper": {
        **_ALL,
        # With flush=0, some thousand commits a measurement, and with flush=1 some hundred.
        "processors": 4,
        "phase_s": 0.4,
        "drive_repetitions": 6,
        "slice_idles_ms": (0, 2, 8),
        "without_cache": True,
        "device_mib": 160,
        "deadline_s": 120,
        "repetitions": 6,
    },
    "full": {
        **_ALL,
        "processors": 4,
        "phase_s": 5,
        "drive_phase_s": 5,
        "uncached_phase_s": 20,
        "drive_repetitions": 5,
        "slice_idles_ms": (0, 1, 2, 4, 8, 16),
        "idlings": tuple(IDLING),
        "without_cache": True,
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


def _phases(parameters: Parameters, case: Case) -> Iterator[CommitPhase]:
    """Yield the measurements of a trial, all of the same length."""
    length_s = parameters.drive_phase_s if has_arm(case.disk) else parameters.phase_s
    if case.experiment == "no_cache":
        length_s = parameters.uncached_phase_s
    warm_up_s = WARM_UP_SHARE * length_s
    first_s = FIRST_WARM_UP_ON_DRIVES_S if has_arm(case.disk) else warm_up_s
    flush_settings = parameters.flush_settings if case.experiment == "table" else (DURABLE,)
    for number, (flush, threads) in enumerate(product(flush_settings, parameters.threads)):
        yield CommitPhase(
            threads=threads,
            flush_log_at_trx_commit=flush,
            warm_up_s=warm_up_s if number else first_s,
            duration_s=length_s,
        )


def _trial(
    parameters: Parameters, arm: Arm, backing_scheduler: str | None, repetition: int, case: Case
) -> Trial:
    inserts = SysbenchInsert(
        name="inserts",
        group="main",
        phases=tuple(_phases(parameters, case)),
        buffer_pool_mib=parameters.buffer_pool_mib,
        log_mib=parameters.log_mib,
        log_file_buffering=parameters.log_file_buffering,
    )
    tunables = {"rotational": parameters.rotational, **case.tunables}
    return trial(
        parameters,
        NAME,
        repetition,
        labels={"arm": arm, "experiment": case.experiment, "idling": case.idling},
        **on_arm(arm),
        processors=parameters.processors,
        rounds=parameters.rounds(repetition) if parameters.processors > 1 else None,
        device=chosen_device(parameters, case.disk),
        scheduler=Scheduler(name=case.scheduler, tunables=tunables),
        backing_scheduler=backing_scheduler,
        workloads=(inserts,),
    )
