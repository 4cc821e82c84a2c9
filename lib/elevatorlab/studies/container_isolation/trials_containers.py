"""What a user may choose in study 3, and what all its trials share: one disk, and containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from ...plugins.schedulers import OF_THE_KERNEL
from ...plugins.trial_parts import POLICIES
from ...trial import (
    Count,
    DeviceModel,
    DriveName,
    Group,
    Limits,
    NotNegative,
    PacedDisk,
    PacedWrites,
    Phase,
    Positive,
    Repetitions,
    Scheduler,
    SchedulerName,
    Trial,
)
from ...trial.drive_records import Queue
from ...trial.drives import drive, outermost, with_queue
from ...trial.registry_fields import name_in
from ..kit import trials as kit
from ..kit.reimplemented import REIMPLEMENTED
from ..kit.trials import CommonParameters
from .published import NAME

Experiment = Literal["equal", "overload", "sweep", "open", "regulation", "comparison", "frontier"]
DiskName = Literal["write_behind", "single_server", "exponential_server"]
Containers = Annotated[int, Field(ge=1, le=20)]
_MILD = {"step": "mild"}
READINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "slae-paper": ("slae-paper", {}),
    "slae-paper-mild": ("slae-paper", _MILD),
    "slae-paper-speed": ("slae-paper", {"overload": "speed"}),
    "slae-paper-utilization": ("slae-paper", {"overload": "utilization"}),
    "ute-paper": ("ute-paper", {}),
    "ute-paper-mild": ("ute-paper", _MILD),
    "ute-paper-shared": ("ute-paper", {"system": "shared"}),
    "ute-paper-shared-mild": ("ute-paper", {"system": "shared", **_MILD}),
    "slae": ("slae", {}),
    "ute": ("ute", {}),
    "aimd": ("aimd", {}),
    "pi": ("pi", {}),
    "guard": ("guard", {}),
    "share": ("share", {}),
}
"""For each policy of the study: the regulator's name for it, and its options (the reading)."""
#: Policies of which neither the paper has a version nor its figures.
_ONLY_OURS = ("aimd", "pi", "guard", "share")
BY_HAND = "io_max"
"""A fixed limit, on containers that somebody names."""
KERNEL = ("io_max", "bfq", "io_cost")
"""What the kernel itself has against an overload."""
MECHANISMS = ("none", *READINGS, *KERNEL)
Load = Literal["step", "ramp", "burst", "two"]
FRONTIER_MECHANISMS = (
    *("alone", "none", "io_max", "io_cost", "io_class", "bfq", "bfq_tuned"),
    *READINGS,
)
#: The study's own names, and those of all policies that are installed or were registered. A name
#: that is both has the study's meaning.
Policy = Annotated[str, AfterValidator(name_in(POLICIES, (BY_HAND, *READINGS)))]
Mechanism = Annotated[str, AfterValidator(name_in(POLICIES, MECHANISMS))]
FrontierMechanism = Annotated[str, AfterValidator(name_in(POLICIES, FRONTIER_MECHANISMS))]
FrontierLoad = Literal["step", "ramp", "burst-0.2", "burst-1", "burst-5", "two", "many", "mixed"]
Percent = Annotated[float, Field(gt=0, le=10_000)]
Weight = Annotated[int, Field(ge=1, le=1000)]
EXPERIMENTS: tuple[Experiment, ...] = (
    "equal",
    "overload",
    "sweep",
    "open",
    "regulation",
    "comparison",
)
"""What every preset runs. ``frontier`` has hundreds of trials: a user must ask for it by name."""


class Parameters(CommonParameters):
    """What a user may choose; everything else follows."""

    #: Experiments to run.
    experiments: tuple[Experiment, ...] = EXPERIMENTS
    #: Models of the disk (`DISKS`), for closed and for open load. The first of `disks` is the
    #: study's disk. Equal containers run on the others, too, for contrast.
    disks: tuple[DiskName, ...] = ("write_behind", "single_server")
    #: Drives on which equal containers run as well. The default is the model of a real drive
    #: without a write cache, so that each write goes to the platter.
    drives: tuple[DriveName, ...] = ("hp-c3323a",)
    open_disks: tuple[DiskName, ...] = ("single_server", "exponential_server")
    #: Numbers of equal containers: on the first disk, and on the other disks and the drives.
    containers: tuple[Containers, ...]
    contrast_containers: tuple[Containers, ...]
    #: Numbers of normal containers beside an overloaded one.
    normal_containers: tuple[Containers, ...]
    #: Further schedulers under which one container is overloaded, since the paper names none:
    #: beside the fewest and the most normal containers. Those that the paper's kernel had also run
    #: with the limit set by hand. The second ones are this project's.
    overload_schedulers: tuple[SchedulerName, ...] = ()
    reimplemented: tuple[SchedulerName, ...] = ()
    #: Experiment ``sweep``: numbers of writers in the overloaded container. The size of their
    #: writes follows from the number (`overload_bytes`).
    overload_writers: tuple[Literal[2, 3], ...] = (2, 3)
    #: Open load: the arrival rate, as a share of the rate that the disk can serve.
    open_ratios: tuple[Annotated[float, Field(gt=0, lt=1)], ...]
    schedulers: tuple[SchedulerName, ...] = ("none",)
    #: How long containers write under closed and under open load, and how much of the beginning is
    #: left out.
    duration_s: Positive
    open_duration_s: Positive
    warm_up_s: NotNegative
    #: Experiment ``regulation``: ``io_max`` (the limit that the paper set by hand) and the
    #: regulator's policies, by the names of `READINGS`, or of a policy that is installed or
    #: registered. `mechanisms` and `frontier_mechanisms` take the same names.
    policies: tuple[Policy, ...] = (BY_HAND, "slae-paper", "ute-paper", "slae", "ute")
    #: Experiment ``regulation``: when the regulator starts, and how long it works.
    regulate_from_s: Positive = 10
    regulation_s: Positive = 8
    #: Experiment ``comparison`` (see `comparison`).
    mechanisms: tuple[Mechanism, ...] = ("none", "slae", "ute", *KERNEL)
    loads: tuple[Load, ...] = get_args(Load)
    #: The longest mean wait that SLAE allows, and the highest utilisation that UTE allows.
    sla_wait_ms: Positive = 5
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.75
    #: Experiment ``comparison``: how long the overload lasts.
    overloaded_s: Positive = 8
    #: Experiment ``comparison``: used instead of `repetitions`, since it has many trials.
    comparison_repetitions: Repetitions = 1
    #: Experiment ``frontier`` (see `frontier`). A drive has another service time, so it needs
    #: another `sla_wait_ms`.
    frontier_mechanisms: tuple[FrontierMechanism, ...] = (
        *("alone", "none", "io_max", "io_cost", "io_class", "bfq", "bfq_tuned"),
        *("slae", "ute", "aimd", "pi", "guard", "share"),
    )
    frontier_loads: tuple[FrontierLoad, ...] = ("step",)
    frontier_disks: tuple[DiskName, ...] = ("write_behind",)
    frontier_drives: tuple[DriveName, ...] = ()
    #: Experiment ``frontier``: the settings of the mechanisms.
    frontier_limits_kb_s: tuple[Positive, ...] = (800, 1000, 1200, 1400, 1600)
    #: Weights of each offender under bfq.
    frontier_weights: tuple[Weight, ...] = (10, 30, 100)
    #: Weights of all offenders together under ``io_cost``: one suits loads with one and with many.
    frontier_total_weights: tuple[Weight, ...] = (10, 30, 100)
    frontier_vrates: tuple[tuple[Percent, Percent], ...] = ((25, 100), (80, 80), (100, 100))
    frontier_waits_ms: tuple[Positive, ...] = (5,)
    #: Experiment ``frontier``: how long the requests of offenders may wait under ``io_class``, in
    #: whole ticks of 4 ms, as the kernel keeps them.
    frontier_agings_ms: tuple[Count, ...] = (60, 80, 100, 200, 10_000)
    frontier_periods_s: tuple[Positive, ...] = (1, 0.25)
    #: Experiment ``frontier``: how long the overload lasts.
    frontier_s: Positive = 5.25
    #: Experiment ``frontier``: used instead of `repetitions`, since it has many trials.
    frontier_repetitions: Repetitions = 1


OVERLOAD_SCHEDULERS = ("none", *(one for one in OF_THE_KERNEL if one != "none"), REIMPLEMENTED[0])
"""The schedulers under which the overload runs; cfq is the last."""

PAPERS_SCHEDULERS = ("none", "mq-deadline", REIMPLEMENTED[0])
"""Those that the paper's disk may have had, or what stands for them here: CentOS 7's kernel, Linux
3.10, has noop, deadline and cfq; kyber and bfq came with Linux 4.12."""

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "drives": (),
        "containers": (1, 2, 5),
        "contrast_containers": (1,),
        "normal_containers": (1,),
        "overload_writers": (),
        "open_ratios": (0.5,),
        "policies": ("slae-paper",),
        "regulate_from_s": 2,
        "regulation_s": 4,
        "mechanisms": ("io_cost",),
        "loads": ("step",),
        "overloaded_s": 3,
        "duration_s": 2,
        "open_duration_s": 2,
        "warm_up_s": 0.5,
        "deadline_s": 60,
        "repetitions": 1,
    },
    "quick": {
        "experiments": ("equal", "overload", "regulation"),
        "disks": ("write_behind",),
        "drives": (),
        "containers": (1, 2, 3, 6, 9, 20),
        "contrast_containers": (1, 9),
        "normal_containers": (1, 3),
        "open_ratios": (0.4, 0.8),
        "loads": ("step", "two"),
        "policies": (BY_HAND, "slae-paper", "ute-paper"),
        "duration_s": 4,
        "open_duration_s": 8,
        "warm_up_s": 0.5,
        "deadline_s": 120,
        "repetitions": 2,
    },
    "paper": {
        "containers": tuple(range(1, 21)),
        "contrast_containers": (1, 3, 9, 20),
        "normal_containers": tuple(range(1, 10)),
        "overload_schedulers": OVERLOAD_SCHEDULERS[1:-1],
        "reimplemented": OVERLOAD_SCHEDULERS[-1:],
        "open_ratios": (0.2, 0.4, 0.6, 0.8, 0.9),
        "duration_s": 8,
        "open_duration_s": 8,
        # Claims about the paper's policies are judged in every reading of its text.
        "policies": (BY_HAND, *(one for one in READINGS if one not in _ONLY_OURS)),
        "regulation_s": 10,
        "loads": ("step", "two"),
        "comparison_repetitions": 8,
        "frontier_mechanisms": (
            *("alone", "none", *KERNEL, "io_class", "bfq_tuned"),
            *("slae-paper", "ute-paper", "slae", "ute", *_ONLY_OURS),
        ),
        "frontier_loads": get_args(FrontierLoad),
        # Every 100 kB/s where some load turns, by an earlier image's results.
        "frontier_limits_kb_s": (
            *(300, 400, 500, 700, 900, *range(1000, 1601, 100), 1800, 2000, 2200, 2400),
        ),
        "frontier_weights": (10, 100),
        "frontier_total_weights": (2, 10, 20, *range(26, 39, 2), 45, 60),
        "frontier_vrates": ((25, 100), (75, 125), (85, 85), (100, 100)),
        "frontier_repetitions": 5,
        "warm_up_s": 1,
        "deadline_s": 300,
        "repetitions": 8,
    },
    "full": {
        "containers": tuple(range(1, 21)),
        "contrast_containers": tuple(range(1, 21)),
        "normal_containers": tuple(range(1, 10)),
        "open_ratios": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        "duration_s": 30,
        "open_duration_s": 60,
        "policies": (BY_HAND, *READINGS),
        "regulation_s": 30,
        "mechanisms": MECHANISMS,
        "overloaded_s": 30,
        "comparison_repetitions": 3,
        "warm_up_s": 2,
        "deadline_s": 600,
        "repetitions": 5,
    },
}


# The disk that all containers share, and which of its parameters are calibrated.
#
# The paper names no disk, but some of its numbers determine one. These numbers are the *calibration
# points*. A measurement at such a point shows only that the calibration was done:
#
# ===========================================  ==================================================
# total rate with 20 containers, 20 x 27 /s    1.85 ms of service for a write of 5 KiB
# wait and rate of one container, 0.82 ms and  2.23 ms of think time; and a buffer for one write,
# 328 /s                                       without which no write would take less than 1.85 ms
# wait of the overloaded container alone       time per byte, if its writes have 32 KiB (assumed:
#                                              the paper mentions `dd`, but no block size)
# ===========================================  ==================================================
#
# ``write_behind`` is that disk. ``single_server`` has the same server without the buffer, as the
# paper's model assumes. ``exponential_server`` is ``single_server`` with exponentially distributed
# service times.

REQUEST_BYTES = 5120
"""1658 KB/s at 328 writes/s are 5055 bytes per write (5176, if KB means KiB): about ten sectors."""
OVERLOAD_BYTES = 32 * 1024
THINK_US = 2230
_SECTOR_BYTES = 512
WRITERS = (1, 2, 3)
"""Numbers of writers that can overload the disk and, alone, wait as long as the paper says."""

SERVER = {"service_us": 1320, "bandwidth_kib_s": 9415}
DISKS: dict[str, dict[str, Any]] = {
    "write_behind": {**SERVER, "accept_us": 400},
    "single_server": SERVER,
    "exponential_server": {**SERVER, "service": "exponential"},
}
_SIZE_MIB = 64


def disk(name: str, seed: int) -> DeviceModel:
    """Return a disk by its name: one of `DISKS`, or a drive.

    A disk of `DISKS` draws its service times from `seed`. A drive gets a first-in, first-out queue
    of 32 requests, because the other disks have a queue, too. If a drive took one request at a
    time, the other requests would wait before it, where the kernel's counters do not see them.
    """
    if name not in DISKS:
        return with_queue(outermost(drive(name), _SIZE_MIB), Queue(depth=32))
    return PacedDisk(profile=name, size_mib=_SIZE_MIB, seed=seed, **DISKS[name])


IDLING = ("bfq", REIMPLEMENTED[0])
"""Schedulers that let a disk wait for a container's next write only if the disk turns."""


def scheduler_of(name: str, **tunables: int) -> Scheduler:
    """Return a scheduler of a disk that says of itself that it turns.

    The paper does not say that its disk does, but what needs 1.85 ms for a write of 5 KiB has an
    arm. Without the word, a scheduler of `IDLING` would treat the disk as a fast one.
    """
    if name in IDLING:
        tunables["rotational"] = 1
    return Scheduler(name=name, tunables=tunables)


def overload_bytes(writers: int) -> int:
    """Return the size of writes for which this many writers alone wait as long as the paper says.

    The paper gives neither the number of writers nor the size of their writes. The writers wait for
    one another, so more writers need shorter writes. For more than three writers, no write is short
    enough.

    >>> [overload_bytes(writers) for writers in WRITERS]
    [32768, 10240, 2560]
    """
    transfer_ms = service_ms(OVERLOAD_BYTES) / writers - SERVER["service_us"] / 1e3
    sectors = transfer_ms / 1e3 * SERVER["bandwidth_kib_s"] * 1024 / _SECTOR_BYTES
    return round(sectors) * _SECTOR_BYTES


def service_ms(request_bytes: int = REQUEST_BYTES) -> float:
    """Return the mean time in ms that the server takes for a write.

    >>> round(service_ms(), 3), round(service_ms(OVERLOAD_BYTES), 3)
    (1.851, 4.719)
    """
    return SERVER["service_us"] / 1e3 + request_bytes / 1024 / SERVER["bandwidth_kib_s"] * 1e3


# One disk, divided among containers that write.

NORMAL, OVERLOADED = "normal", "overloaded"


def names(role: str, count: int) -> list[str]:
    """Return the names of `count` containers: normal-01, normal-02 ..."""
    return [f"{role}-{number:02d}" for number in range(1, count + 1)]


def writes(
    name: str,
    duration_s: float,
    request_bytes: int = REQUEST_BYTES,
    think_us: float = THINK_US,
    writers: int = 1,
    arrivals_per_s: float | None = None,
) -> PacedWrites:
    """Return the workload of the container `name`, in one phase; by default the paper's script."""
    phase = Phase(
        duration_s=duration_s, writers=writers, think_us=think_us, arrivals_per_s=arrivals_per_s
    )
    return PacedWrites(
        name=f"writes-{name}", group=name, request_bytes=request_bytes, phases=(phase,)
    )


def load(name: str, phases: Sequence[Phase], request_bytes: int = OVERLOAD_BYTES) -> PacedWrites:
    """Return the workload of an overloaded container, whose number of writers may change."""
    return PacedWrites(
        name=f"writes-{name}", group=name, request_bytes=request_bytes, phases=tuple(phases)
    )


def trial(
    parameters: Parameters,
    experiment: Experiment,
    disk_name: str,
    scheduler: str | Scheduler,
    repetition: int,
    workloads: Sequence[PacedWrites],
    labels: Mapping[str, str],
    limits: Mapping[str, Mapping[str, Limits]] | None = None,
    **more: Any,
) -> Trial:
    """Return a trial in which each workload has a container and a part of the disk of its own.

    `workloads`: One for each container. The name of its group begins with the container's role.
    `labels`: Further labels of the trial, which become columns. `limits`: Further fields of a
    group, by the group's name.
    """
    groups = [
        Group(name=one.group, isolation="container", **(limits or {}).get(one.group, {}))
        for one in workloads
    ]
    roles = [group.name.split("-")[0] for group in groups]
    counts = {"containers": roles.count(NORMAL), "overloaded": roles.count(OVERLOADED)}
    return kit.trial(
        parameters,
        NAME,
        repetition,
        labels={
            "experiment": experiment,
            "disk": disk_name,
            **{name: str(count) for name, count in counts.items()},
            **labels,
        },
        device=disk(disk_name, parameters.seed(repetition)),
        scheduler=scheduler_of(scheduler) if isinstance(scheduler, str) else scheduler,
        filesystem=None,
        divided=True,
        groups=groups,
        workloads=workloads,
        sample_interval_ms=500,
        **{"warm_up_s": parameters.warm_up_s, **more},
    )
