"""The study's parameters and presets, and the trials that they stand for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...trial import (
    CommitPhase,
    Count,
    Group,
    Model,
    Positive,
    Repetitions,
    Scheduler,
    SysbenchInsert,
    Trial,
    checked,
    chosen_device,
)

NAME = "innodb_commit"

#: What a scheduler of the article is today; kyber came later.
MAPPING = {"mq-deadline": "deadline", "none": "noop", "bfq": "cfq", "kyber": "kyber (not in it)"}

#: The write-behind cache is there, or not; a real machine has the device that it has.
CACHED, UNCACHED = "raid_write_behind", "raid_no_cache"

#: Under what bfq's slice_idle is swept: as it comes; without its favour to interactive programs;
#: and with strict_guarantees, which always idles when a process's queue runs empty and lets only
#: one request into the device (the kernel's Documentation/block/bfq-iosched.rst). In the reference
#: the latter leaves the device as idle with slice_idle 0 as with 8, so it is not that waiting time
#: alone that idles it.
IDLING = {
    "as shipped": {},
    "low_latency off": {"low_latency": 0},
    "strict_guarantees": {"strict_guarantees": 1, "low_latency": 0},
}

#: What makes the log that waits for the device worth measuring, and the control without it.
DURABLE, LAZY, WRITTEN = 1, 0, 2

SchedulerName = Literal["none", "mq-deadline", "bfq", "kyber"]
Arm = Literal["host", "container", "vm"]
Threads = Annotated[int, Field(ge=1, le=64)]


class Parameters(Model):
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
    device : str
        ``null_blk``, the simulated disk; ``file_backed``, a block device over a file of the
        machine's own disk; or the id of a disk of the machine, which `destroy` must allow.
    rotational : int
        What the device says of itself; bfq looks. A RAID of disks says 1.
    device_slowdown : float
        See `elevatorlab.trial.profile`; 4 as in study 1, and for the same reason.
    buffer_pool_mib, log_mib : int
        InnoDB's memory and redo log; both hold all that is inserted.
    """

    preset: Literal["smoke", "quick", "full"] = "quick"
    arms: Annotated[tuple[Arm, ...], Field(min_length=1)] = ("host", "container")
    schedulers: tuple[SchedulerName, ...]
    threads: Annotated[tuple[Threads, ...], Field(min_length=1)] = (1, 8)
    flush_settings: tuple[Literal[0, 1, 2], ...] = (DURABLE, LAZY, WRITTEN)
    commits: Count
    slice_idles_ms: tuple[Annotated[int, Field(ge=0, le=100)], ...]
    idlings: tuple[Literal[tuple(IDLING)], ...] = ("as shipped", "strict_guarantees")
    without_cache: bool
    uncached_commits: Count
    device: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:+-]{1,128}$")] = "null_blk"
    destroy: bool = False
    backing_schedulers: tuple[SchedulerName, ...] = ()
    rotational: Literal[0, 1] = 1
    device_slowdown: Positive = 4
    device_mib: Count
    memory_mib: Count = 1024
    buffer_pool_mib: Annotated[int, Field(ge=8)] = 32
    log_mib: Annotated[int, Field(ge=4)] = 8
    deadline_s: Positive
    repetitions: Repetitions


_ALL = {"schedulers": ("none", "mq-deadline", "bfq", "kyber")}

PRESETS = {
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
        _trial(parameters, arm, backing, repetition, *choice)
        for repetition in range(1, parameters.repetitions + 1)
        for arm in parameters.arms
        for backing in parameters.backing_schedulers or (None,)
        for choice in _choices(parameters, arm == parameters.arms[0])
    ]


def _choices(parameters, first):
    """Yield (experiment, profile, scheduler, tunables, idling) of one arm and repetition."""
    for scheduler in parameters.schedulers:
        yield "table", CACHED, scheduler, {}, "as shipped"
    if not first:
        return
    if parameters.without_cache and parameters.device == "null_blk":
        for scheduler in parameters.schedulers:
            yield "no_cache", UNCACHED, scheduler, {}, "as shipped"
    for slice_idle in parameters.slice_idles_ms:
        for idling in parameters.idlings:
            tunables = {"slice_idle": slice_idle, **IDLING[idling]}
            yield "sweep", CACHED, "bfq", tunables, idling


def _trial(parameters, arm, backing, repetition, experiment, name, scheduler, tunables, idling):
    wide = experiment == "table"
    commits = parameters.uncached_commits if name == UNCACHED else parameters.commits
    phases = [
        CommitPhase(threads=threads, flush_log_at_trx_commit=flush, commits=commits)
        for flush in (parameters.flush_settings if wide else (DURABLE,))
        for threads in parameters.threads
    ]
    fields = dict(
        study=NAME,
        preset=parameters.preset,
        labels={"arm": arm, "experiment": experiment, "idling": idling},
        machine="virtual_machine" if arm == "vm" else "host",
        memory_mib=parameters.memory_mib,
        device=chosen_device(parameters, name),
        scheduler=Scheduler(
            name=scheduler, tunables={"rotational": parameters.rotational, **tunables}
        ),
        backing_scheduler=backing,
        groups=(Group(name="main", isolation="container" if arm == "container" else "process"),),
        workloads=(
            SysbenchInsert(
                name="inserts",
                group="main",
                phases=phases,
                buffer_pool_mib=parameters.buffer_pool_mib,
                log_mib=parameters.log_mib,
            ),
        ),
        deadline_s=parameters.deadline_s,
        seed=repetition,
        repetition=repetition,
    )
    return checked(Trial, fields, "trial")
