"""Study 5 as trials. Each trial runs one scheduler on one rig, at all points of a curve."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import Field, model_validator

from ...plugins.profiles import PROFILES
from ...plugins.schedulers import OF_THE_KERNEL, room_for
from ...trial import (
    Count,
    Disk,
    FioPoints,
    Group,
    Link,
    NotNegative,
    NvmeTcp,
    Positive,
    Record,
    Repetitions,
    Scheduler,
    SchedulerName,
    Trial,
    checked,
    profile,
)
from ..kit.reimplemented import SUCCEEDS
from ..kit.trials import CommonParameters, DiskId, slowdowns, trial
from ..kit.turns import Turns
from .apart import Cores, FioPointsApart, NvmeTcpApart
from .published import KIB_BITS, LINK_DELAY_US, LINK_GBPS, NAME, SCHEDULER

Experiment = Literal["depth", "read_share", "request_size", "unscaled", "knobs", "local", "cores"]
Target = Literal["nvme_ssd", "ram"]
Driver = Literal["stock", "one_send"]
Depth = Annotated[int, Field(ge=1, le=1024)]
Percent = Annotated[int, Field(ge=0, le=100)]
RequestKib = Annotated[int, Field(ge=1, le=1024)]
BatchNr = Annotated[int, Field(ge=1, le=1024)]

#: In the order in which they are shown: the document's two schedulers, and the kernel's others
#: except bfq.
SCHEDULERS = tuple(
    dict.fromkeys((*SCHEDULER.values(), *(one for one in OF_THE_KERNEL if one not in SUCCEEDS)))
)

#: Profile of the target's disk (see `elevatorlab.plugins.profiles`).
PROFILE: dict[Target, str] = {"nvme_ssd": "nvme_ssd", "ram": "ram_disk"}

#: SBQ's default knobs, and the values that the document keeps while it varies something else.
BATCH_NR, BATCH_TIMEOUT_US = 16, 50
DEPTH, REQUEST_KIB = 64, 4

#: How many requests a scheduler may hold: enough for each depth. (`none` holds no requests.)
NR_REQUESTS = 1024

LOCAL = "local"

#: Times of a point on several processors, in ms: to warm up, to count, and to measure. A second of
#: guest time takes five seconds of wall time for each processor.
APART_MS = {"ramp_ms": 2, "counted_ms": 8, "window_ms": 20}

#: A point warms up, and is measured, for as many turnarounds: what was in flight before is then a
#: tenth of what is measured. A turnaround is the time of a request among all that are in flight.
TURNAROUNDS = 10

FEWEST_FOR_P99 = 299
"""The fewest requests from which a 99th percentile is taken. Among fewer, even the slowest may be
below the true percentile: all n requests are below it with a probability of 0.99^n. From 299 on,
this probability is below 5 %."""

#: Requests a second that a processor of the host makes at least, by size: less than any point of a
#: first run on the deterministic testbed. Real machines make more. Where the target has processors
#: of its own, the host's does more of them.
LEAST_IOPS, LEAST_IOPS_APART = 14_000, 20_000
LEAST_IOPS_LARGE, LARGE_KIB = 8_000, 16

#: The document's numbers of cores in Figure 5, by target, and in Figure 6, and the most in Figures
#: 3 and 4.
CORES_OF_MIX: dict[Target, int] = {"nvme_ssd": 4, "ram": 16}
CORES_OF_SIZES = 16
CORES_SHOWN: dict[Target, int] = {"nvme_ssd": 10, "ram": 24}

#: From this size on, the document's curves on 16 cores come near the link's rate. Only there have
#: cores of their own a link, because the kernel's emulation of one takes time of the processors:
#: on one core, SBQ's gain at 4 KiB was 1.23 with it and 1.37 without.
LINKED_KIB = 8


#: Parameters of the experiment ``cores`` alone.
OF_CORES = {"cores", "cores_repetitions", "cores_time_scale", *Turns.model_fields}


class Parameters(Turns, CommonParameters):
    """What a user may choose; everything else follows.

    Attributes
    ----------
    experiments : tuple of str
        ``depth`` (the document's Figures 1 and 2, and one core of 3 and 4), ``read_share``
        (Figure 5), and ``request_size`` (Figure 6). ``unscaled`` repeats depths 1 and 64 with
        time_scale 1. ``knobs`` combines each of `batch_nrs` with each of `batch_timeouts_us`.
        ``local`` is the negative control without a network: noop, SBQ, and a user's own
        schedulers. ``cores`` has all six figures, with host and target on processors of their own,
        which only the deterministic testbed has.
    drivers : tuple of str
        Drivers of NVMe/TCP (`elevatorlab.trial.NvmeTcp`).
    time_scale : float
        Factor on the disk's service time, SBQ's timeout and the link's times. The default of 7 is
        a ratio of two throughputs, with `none` and a RAM target at depth 64. The document's host
        core does 138 thousand requests per second. The deterministic testbed's only core, which
        serves host and target, does 20.3 thousand (stock driver, no link: nothing that the factor
        scales). No other numbers were used for the choice. On real machines, the default is 1.
    link : bool
        Whether the cable between host and target has the rate and the delay below, both scaled by
        time_scale. If false, the cable takes no time. On real machines, the default is false.
    link_gbit_s : float
        Rate of the cable; by default that of the document.
    link_delay_us : float
        Delay in each direction. The document gives none: `published.LINK_DELAY_US` explains it.
    cores : tuple of int
        Experiment ``cores``: numbers of processors of the host; the target has as many. Figures 1
        and 2 need 1, Figure 5 needs 4 and 16, and Figure 6 needs 16. The document's figures end at
        10 with the SSD; more are left out there. On real machines, none.
    cores_repetitions : int
        Experiment ``cores``: repeated so often at most, because every processor takes time.
    cores_time_scale : float
        Experiment ``cores``: used instead of time_scale, because there the host has a core to
        itself. It was chosen in the same way, from `none` and a RAM target at depth 64 on one core.
    disk : str or None
        The id of a disk of the target's machine, which replaces the simulated SSD. For this disk,
        `destroy` must be true. A real disk's time is not scaled, so time_scale must be 1.
    """

    experiments: tuple[Experiment, ...]
    targets: tuple[Target, ...] = ("nvme_ssd", "ram")
    drivers: tuple[Driver, ...] = ("stock", "one_send")
    schedulers: tuple[SchedulerName, ...] = SCHEDULERS
    depths: tuple[Depth, ...]
    read_percents: tuple[Percent, ...]
    request_kib: tuple[RequestKib, ...]
    batch_nrs: tuple[BatchNr, ...]
    batch_timeouts_us: tuple[Count, ...]
    time_scale: Annotated[float, Field(ge=1)] = 7
    mtu_bytes: Count = 9000
    link: bool = True
    link_gbit_s: Positive = LINK_GBPS
    link_delay_us: NotNegative = LINK_DELAY_US
    cores: tuple[Cores, ...] = (1, 2, 4)
    cores_repetitions: Repetitions = 3
    cores_time_scale: Annotated[float, Field(ge=1)] = 4.5
    disk: DiskId | None = None
    destroy: bool = False
    ramp_ms: Count
    counted_ms: Count
    window_ms: Count
    device_mib: Count = 256

    @model_validator(mode="after")
    def _takes_a_real_disk_as_it_is(self) -> Self:
        if self.disk and self.time_scale != 1:
            raise ValueError(
                "time_scale: expected 1 (the default on real machines) with a disk, whose time is "
                f"its own; found {self.time_scale:g}"
            )
        return self

    @model_validator(mode="after")
    def _has_cores_in_their_experiment_alone(self) -> Self:
        of_cores = {name: getattr(self, name) for name in self.model_fields_set & OF_CORES}
        usual = PRESETS[self.preset]
        # Of a testbed, it may be none.
        given = {name for name, one in of_cores.items() if one and one != usual.get(name)}
        if given and "cores" not in self.experiments:
            raise ValueError(
                f"{min(given)}: expected with the experiment cores, which alone uses it; found "
                f"{', '.join(self.experiments)}. Name it, too: -p experiments=cores"
            )
        return self


PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "experiments": ("depth", "local"),
        "targets": ("ram",),
        "schedulers": ("none", "sbq"),
        "depths": (1, 64),
        "read_percents": (0, 100),
        "request_kib": (4, 16),
        "batch_nrs": (16,),
        "batch_timeouts_us": (50,),
        "ramp_ms": 5,
        "counted_ms": 40,
        "window_ms": 60,
        "deadline_s": 120,
        "repetitions": 1,
    },
    "quick": {
        "experiments": ("depth", "local", "cores"),
        "targets": ("ram",),
        "drivers": ("stock",),
        "schedulers": ("none", "sbq"),
        "depths": (1, 64),
        "read_percents": (0, 100),
        "request_kib": (4,),
        "batch_nrs": (16,),
        "batch_timeouts_us": (50,),
        "ramp_ms": 5,
        "counted_ms": 40,
        "window_ms": 60,
        "deadline_s": 240,
        "repetitions": 2,
    },
    "paper": {
        "experiments": get_args(Experiment),
        "cores": (1, 2, 4, 8, 16, 24),
        "depths": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
        "read_percents": (0, 25, 50, 75, 100),
        "request_kib": (1, 2, 4, 8, 16, 32),
        "batch_nrs": (4, 16, 64),
        "batch_timeouts_us": (12, 50),
        "ramp_ms": 5,
        "counted_ms": 40,
        "window_ms": 60,
        "deadline_s": 600,
        "repetitions": 8,
    },
    "full": {
        "experiments": ("depth", "read_share", "request_size", "unscaled", "knobs", "local"),
        "depths": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
        "read_percents": (0, 25, 50, 75, 100),
        "request_kib": (1, 2, 4, 8, 16, 32),
        "batch_nrs": (1, 4, 8, 16, 32, 64),
        "batch_timeouts_us": (5, 12, 25, 50, 100, 200, 400),
        "ramp_ms": 200,
        "counted_ms": 500,
        "window_ms": 1000,
        "deadline_s": 1200,
        "repetitions": 5,
    },
}


#: A slower and a faster processor with the same disk and link, and the shortest and the longest
#: delay that the link may have (`LINK_DELAY_US`).
VARIATIONS: dict[str, dict[str, Any]] = {
    **slowdowns(Parameters, "time_scale"),
    "link delay 1 us": {"link_delay_us": 1},
    "link delay 9 us": {"link_delay_us": 9},
}


Point = dict[str, int | str]
"""The options of fio for a point: iodepth, rwmixread, bs."""


class Curve(NamedTuple):
    """The parameters in which a trial differs from others of its repetition, and its points."""

    target: Target
    scheduler: str
    driver: str
    #: Factor on all times.
    scale: float
    points: list[Point]
    #: SBQ's batch_nr and batch_timeout_us.
    knobs: tuple[int, int] = (BATCH_NR, BATCH_TIMEOUT_US)
    #: Processors of the host, and of the target; None: they share all.
    cores: int | None = None
    #: Whether processors of their own have a link between them.
    linked: bool = False


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of `parameters`, repetition by repetition."""
    return [
        _trial(parameters, repetition, curve)
        for repetition in parameters.each_repetition
        for curve in _curves(parameters)
        if curve.cores is None or repetition <= parameters.cores_repetitions
    ]


def _curves(parameters: Parameters) -> Iterator[Curve]:
    chosen = parameters.experiments
    scale = parameters.time_scale
    ends = [_point(depth=depth) for depth in (1, DEPTH)]
    for target in parameters.targets:
        for scheduler in parameters.schedulers:
            for driver in parameters.drivers:
                points = _points(parameters, target, scheduler)
                # Schedulers that the document lacks run with Debian's own driver alone.
                beside = scheduler not in ("none", "sbq") and driver != "stock"
                if points and not (beside and "stock" in parameters.drivers):
                    yield Curve(target, scheduler, driver, scale, points)
                if "unscaled" in chosen and scale != 1 and scheduler in ("none", "sbq"):
                    yield Curve(target, scheduler, driver, 1, ends)
            simulated = target == "ram" or not parameters.disk
            if "local" in chosen and _is_local(scheduler) and simulated:
                yield Curve(target, scheduler, LOCAL, scale, ends)
    if "knobs" in chosen and "sbq" in parameters.schedulers:
        yield from _knobs(parameters)
    if "cores" in chosen:
        yield from _apart(parameters)


def _is_local(scheduler: str) -> bool:
    """Tell whether a scheduler is also measured without a network.

    The document's two schedulers are, and so is a user's own: its author must know what it costs
    on a local disk. The kernel's other schedulers are only compared over the network.
    """
    return scheduler in SCHEDULER.values() or scheduler not in OF_THE_KERNEL


def _apart(parameters: Parameters) -> Iterator[Curve]:
    """Yield the curves of experiment ``cores``, one number of cores after the other."""
    scale = parameters.cores_time_scale
    own = [name for name in parameters.schedulers if name in ("none", "sbq")]
    # Schedulers that the document lacks run only at the point that its figures share.
    # The preset of all numbers of cores leaves them out.
    others = [name for name in parameters.schedulers if name not in own]
    others = [] if parameters.preset == "paper" else others
    for cores in parameters.cores:
        for target in parameters.targets:
            if cores > CORES_SHOWN[target]:
                continue
            points = _points_of_cores(parameters, target, cores)
            large = _large_points(parameters, target, cores)
            for scheduler in own:
                yield Curve(target, scheduler, "stock", scale, points, cores=cores)
                if large:
                    yield Curve(target, scheduler, "stock", scale, large, cores=cores, linked=True)
            for scheduler in others:
                yield Curve(target, scheduler, "stock", scale, [_point()], cores=cores)


def _points_of_cores(parameters: Parameters, target: Target, cores: int) -> list[Point]:
    """Return the points that the document shows for `cores` cores: reads first, as in `_points`."""
    shares = parameters.read_percents if cores == CORES_OF_MIX[target] else (100, 0)
    sizes = [size for size in _sizes(parameters, target, cores) if size < LINKED_KIB]
    points = [_point()]
    points += [_point(depth=depth) for depth in (parameters.depths if cores == 1 else ())]
    points += [_point(request_kib=size) for size in sizes]
    points += [_point(read_percent=share) for share in sorted(shares, reverse=True)]
    points += [_point(request_kib=size, read_percent=0) for size in sizes]
    return [point for place, point in enumerate(points) if point not in points[:place]]


def _large_points(parameters: Parameters, target: Target, cores: int) -> list[Point]:
    """Return the document's points at which the link is nearly full: reads first."""
    sizes = [size for size in _sizes(parameters, target, cores) if size >= LINKED_KIB]
    return [_point(request_kib=size, read_percent=part) for part in (100, 0) for size in sizes]


def _sizes(parameters: Parameters, target: Target, cores: int) -> tuple[int, ...]:
    return parameters.request_kib if target == "ram" and cores == CORES_OF_SIZES else ()


def _points(parameters: Parameters, target: Target, scheduler: str) -> list[Point]:
    """Return the points of a curve: reads first, since blocks once written are read differently."""
    chosen = parameters.experiments
    points = []
    if "depth" in chosen:
        ours = scheduler in ("none", "sbq") or parameters.preset == "full"
        points += [_point(depth=depth) for depth in (parameters.depths if ours else (1, DEPTH))]
    if scheduler in ("none", "sbq"):
        if "request_size" in chosen and target == "ram":
            points += [_point(request_kib=size) for size in parameters.request_kib]
        if "read_share" in chosen:
            shares = sorted(parameters.read_percents, reverse=True)
            points += [_point(read_percent=share) for share in shares]
        if "request_size" in chosen and target == "ram":
            sizes = parameters.request_kib
            points += [_point(request_kib=size, read_percent=0) for size in sizes]
    return [point for place, point in enumerate(points) if point not in points[:place]]


def _knobs(parameters: Parameters) -> Iterator[Curve]:
    """Yield SBQ with every pair of knobs, on the first target and the last driver, at one point.

    Yield noop at that point, too, because the results are relative to it. Noop, and SBQ with its
    default knobs, are left out if another experiment measures them.
    """
    target, driver, point = parameters.targets[0], parameters.drivers[-1], _point()
    for scheduler in ("none", "sbq"):
        elsewhere = point in _points(parameters, target, scheduler)
        if scheduler in parameters.schedulers and not elsewhere:
            yield Curve(target, scheduler, driver, parameters.time_scale, [point])
    for batch_nr in parameters.batch_nrs:
        for timeout_us in parameters.batch_timeouts_us:
            knobs = (batch_nr, timeout_us)
            if knobs != (BATCH_NR, BATCH_TIMEOUT_US):
                yield Curve(target, "sbq", driver, parameters.time_scale, [point], knobs)


def _point(depth: int = DEPTH, read_percent: int = 100, request_kib: int = REQUEST_KIB) -> Point:
    return {"iodepth": depth, "rwmixread": read_percent, "bs": f"{request_kib}k"}


def _trial(parameters: Parameters, repetition: int, curve: Curve) -> Trial:
    batch_nr, timeout_us = curve.knobs
    tunables = room_for(curve.scheduler, NR_REQUESTS)
    labels = {"target": curve.target, "driver": curve.driver, "time_scale": f"{curve.scale:g}"}
    if curve.scheduler == "sbq":
        scaled_us = max(1, round(timeout_us * curve.scale))
        tunables |= {"batch_nr": batch_nr, "batch_timeout_us": scaled_us}
        labels |= {"batch_nr": str(batch_nr), "batch_timeout_us": str(timeout_us)}
    if curve.cores:
        labels["cores"] = str(curve.cores)
    return trial(
        parameters,
        NAME,
        repetition,
        labels=labels,
        device=_device(parameters, curve),
        rounds=parameters.rounds(repetition) if curve.cores else None,
        scheduler=Scheduler(name=curve.scheduler, tunables=tunables),
        filesystem=None,
        groups=(Group(name="main"),),
        workloads=(_fio(parameters, curve),),
        settle_s=0.01,
        sample_interval_ms=60_000,  # a sample in fio's window would show in its latencies
    )


def _fio(parameters: Parameters, curve: Curve) -> FioPoints | FioPointsApart:
    # With a share of 100 or 0 this is what fio calls randread or randwrite.
    options: dict[str, str | int] = {
        **{"rw": "randrw", "ioengine": "libaio", "direct": 1, "thread": 1}
    }
    common: dict[str, Any] = {"name": "reader", "group": "main", "points": tuple(curve.points)}
    link = _link(parameters, curve.scale) if curve.linked else None
    common["least_ms"] = tuple(_turnarounds_ms(point, curve, link) for point in curve.points)
    if curve.cores is None:
        windows = {name: getattr(parameters, name) for name in APART_MS}
        traced = _traced(curve)
        return FioPoints(**common, **windows, options=options, traced_points=traced)
    options |= {"numjobs": curve.cores, "group_reporting": 1}
    options |= {"cpus_allowed": f"0-{curve.cores - 1}", "cpus_allowed_policy": "split"}
    if curve.linked:
        # A large write from two huge pages side by side arrives at the target, on the same machine,
        # as one fragment. Linux 6.1 takes that for an attack (HARDENED_USERCOPY), and the target
        # dies. System V's shared memory has no huge pages (fio 3.33 maps `mmapshared` privately).
        options["iomem"] = "shm"
    return FioPointsApart(**common, **APART_MS, options=options, cores=curve.cores)


def _turnarounds_ms(point: Point, curve: Curve, link: Link | None) -> int:
    """Return how long `TURNAROUNDS` of the requests take at most that a processor has in flight.

    A request waits for the processors or the link, which serve one after the other, and for the
    disk. On one core, Figures 1 and 2 have 99th percentiles of few requests in flight, so there it
    is as long as the requests of such a percentile take, which wait for SBQ and the link.
    """
    depth, request_kib = int(point["iodepth"]), int(str(point["bs"]).removesuffix("k"))
    least_iops: float = LEAST_IOPS_APART if curve.cores else LEAST_IOPS
    if request_kib >= LARGE_KIB:
        least_iops = LEAST_IOPS_LARGE
    if link and curve.cores:
        least_iops = min(
            least_iops, link.rate_gbit_s * 1e9 / curve.cores / (request_kib * KIB_BITS)
        )
    disk_us = PROFILES.get(PROFILE[curve.target]).service_time_us * curve.scale
    turnaround_ms = 1000 * depth / least_iops + disk_us / 1000
    if curve.cores not in (None, 1):
        return math.ceil(TURNAROUNDS * turnaround_ms)
    wait_ms = (BATCH_TIMEOUT_US + 2 * LINK_DELAY_US) * curve.scale / 1000
    of_percentile_ms = FEWEST_FOR_P99 / depth * (turnaround_ms + wait_ms)
    return math.ceil(max(TURNAROUNDS * turnaround_ms, of_percentile_ms))


def _traced(curve: Curve) -> tuple[int, ...]:
    """Return the numbers of the points at which the processor's work is traced."""
    own_knobs = curve.knobs == (BATCH_NR, BATCH_TIMEOUT_US)
    if curve.scheduler not in ("none", "sbq") or not own_knobs:
        return ()
    return tuple(number for number, point in enumerate(curve.points) if point == _point())


def _device(parameters: Parameters, curve: Curve) -> Record:
    disk: Record = profile(PROFILE[curve.target], parameters.device_mib, curve.scale)
    if curve.driver == LOCAL:
        return disk
    if curve.cores is not None:
        rig = {"backing": disk, "mtu_bytes": parameters.mtu_bytes, "cores": curve.cores}
        link = _link(parameters, curve.scale) if curve.linked else None
        return checked(NvmeTcpApart, {**rig, "link": link}, "device")
    if parameters.disk and curve.target == "nvme_ssd":
        disk = Disk(id=parameters.disk, destroy=parameters.destroy)
    fields = {"backing": disk, "driver": curve.driver, "mtu_bytes": parameters.mtu_bytes}
    return checked(NvmeTcp, {**fields, "link": _link(parameters, curve.scale)}, "device")


def _link(parameters: Parameters, scale: float) -> Link | None:
    if not parameters.link:
        return None
    figures = {
        "rate_gbit_s": parameters.link_gbit_s / scale,
        "delay_us": parameters.link_delay_us * scale,
    }
    return checked(Link, figures, "link")
