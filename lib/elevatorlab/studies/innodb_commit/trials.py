"""The study's parameters and presets, and the trials that they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from ...trial import (
    CommitPhase,
    Count,
    Scheduler,
    SysbenchInsert,
    Trial,
    chosen_device,
)
from ..kit.reimplemented import REIMPLEMENTED
from ..kit.trials import Arm, DiskParameters, on_arm, trial
from .published import NAME

#: What a scheduler is in the article; kyber and bfq came later.
MAPPING = {
    "mq-deadline": "deadline",
    "none": "noop",
    "cfq": "cfq",
    "anticipatory": "anticipatory",
    "bfq": "bfq (not in it; cfq's successor)",
    "kyber": "kyber (not in it)",
}

#: The write-behind cache is there, or not; a real machine has the device that it has.
CACHED, UNCACHED = "raid_write_behind", "raid_no_cache"

Idling = Literal["as shipped", "low_latency off", "strict_guarantees"]

#: Under what bfq's slice_idle is swept: as it comes; without its favour to interactive programs;
#: and with strict_guarantees, which always idles when a process's queue runs empty and lets only
#: one request into the device (the kernel's Documentation/block/bfq-iosched.rst). In the reference
#: the latter leaves the device as idle with slice_idle 0 as with 8, so it is not that waiting time
#: alone that idles it.
IDLING: dict[Idling, dict[str, int]] = {
    "as shipped": {},
    "low_latency off": {"low_latency": 0},
    "strict_guarantees": {"strict_guarantees": 1, "low_latency": 0},
}

#: What makes the log that waits for the device worth measuring, and the control without it.
DURABLE: Final = 1
LAZY: Final = 0
WRITTEN: Final = 2

Threads = Annotated[int, Field(ge=1, le=64)]


class Parameters(DiskParameters):
    """What a user may choose.

    Attributes
    ----------
    arms : tuple of str
        The first one runs everything; the others the article's table alone.
    schedulers : tuple of str
        See `MAPPING`.
    threads : tuple of int
        Connections that insert at the same time; the article has 1 and 8.
    flush_settings : tuple of int
        ``innodb_flush_log_at_trx_commit``; the article has 1 and 0.
    commits : int
        Rows, and transactions, of each measurement.
    slice_idles_ms : tuple of int
        bfq's time to wait for a process's next request, swept; 8 is the kernel's own. Empty: no
        sweep.
    idlings : tuple of str
        Of `IDLING`: under which of them it is swept.
    without_cache : bool
        Run the schedulers on the profile without a write-behind cache, too.
    uncached_commits : int
        As `commits`, there.
    rotational : int
        What the device says of itself; bfq looks. A RAID of disks says 1.
    buffer_pool_mib, log_mib : int
        InnoDB's memory and redo log; both hold all that is inserted.
    """

    arms: Annotated[tuple[Arm, ...], Field(min_length=1)] = ("host", "container")
    threads: Annotated[tuple[Threads, ...], Field(min_length=1)] = (1, 8)
    flush_settings: tuple[Literal[0, 1, 2], ...] = (DURABLE, LAZY, WRITTEN)
    commits: Count
    slice_idles_ms: tuple[Annotated[int, Field(ge=0, le=100)], ...]
    idlings: tuple[Idling, ...] = ("as shipped", "strict_guarantees")
    without_cache: bool
    uncached_commits: Count
    rotational: Literal[0, 1] = 1
    buffer_pool_mib: Annotated[int, Field(ge=8)] = 32
    log_mib: Annotated[int, Field(ge=4)] = 8


_ALL: dict[str, Any] = {
    "schedulers": ("none", "mq-deadline", "bfq", "kyber"),
    "reimplemented": REIMPLEMENTED,
}

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "schedulers": ("mq-deadline", "bfq"),
        "flush_settings": (DURABLE, LAZY),
        "commits": 100,
        "slice_idles_ms": (),
        "without_cache": False,
        "uncached_commits": 50,
        "device_mib": 160,
        "deadline_s": 60,
        "repetitions": 1,
    },
    "quick": {
        **_ALL,
        "commits": 200,
        "slice_idles_ms": (0, 2, 8),
        "without_cache": True,
        "uncached_commits": 80,
        "device_mib": 160,
        "deadline_s": 120,
        "repetitions": 3,
    },
    "full": {
        **_ALL,
        "commits": 20000,
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


class Case(NamedTuple):
    """What tells a trial from the others of an arm and repetition.

    Attributes
    ----------
    experiment : str
        ``table`` (the article's), ``no_cache`` or ``sweep``.
    disk : str
        Which disk is simulated: `CACHED` or `UNCACHED`.
    tunables : dict
        Of the scheduler.
    idling : str
        Of `IDLING`.
    """

    experiment: str
    disk: str
    scheduler: str
    tunables: dict[str, int]
    idling: Idling


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of `parameters`, repetitions outermost."""
    return [
        _trial(parameters, arm, backing_scheduler, repetition, case)
        for repetition in parameters.each_repetition
        for arm in parameters.arms
        for backing_scheduler in parameters.each_backing_scheduler
        for case in _cases(parameters, arm == parameters.arms[0])
    ]


def _cases(parameters: Parameters, is_first_arm: bool) -> Iterator[Case]:
    """Yield what is run on one arm in one repetition."""
    for scheduler in parameters.each_scheduler:
        yield Case("table", CACHED, scheduler, {}, "as shipped")
    if not is_first_arm:
        return
    if parameters.without_cache and parameters.device == "null_blk":
        for scheduler in parameters.each_scheduler:
            yield Case("no_cache", UNCACHED, scheduler, {}, "as shipped")
    for slice_idle in parameters.slice_idles_ms:
        for idling in parameters.idlings:
            tunables = {"slice_idle": slice_idle, **IDLING[idling]}
            yield Case("sweep", CACHED, "bfq", tunables, idling)


def _trial(
    parameters: Parameters, arm: Arm, backing_scheduler: str | None, repetition: int, case: Case
) -> Trial:
    flush_settings = parameters.flush_settings if case.experiment == "table" else (DURABLE,)
    commits = parameters.uncached_commits if case.disk == UNCACHED else parameters.commits
    inserts = SysbenchInsert(
        name="inserts",
        group="main",
        phases=tuple(
            CommitPhase(threads=threads, flush_log_at_trx_commit=flush, commits=commits)
            for flush in flush_settings
            for threads in parameters.threads
        ),
        buffer_pool_mib=parameters.buffer_pool_mib,
        log_mib=parameters.log_mib,
    )
    tunables = {"rotational": parameters.rotational, **case.tunables}
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
