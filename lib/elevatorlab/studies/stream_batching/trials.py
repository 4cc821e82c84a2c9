"""Study 5 as trials: one trial is one scheduler on one rig, at all of its points."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ...trial import (
    Count,
    Disk,
    FioPoints,
    Group,
    Model,
    NvmeTcp,
    Positive,
    Repetitions,
    Scheduler,
    Trial,
    checked,
    profile,
)

NAME = "stream_batching"

Experiment = Literal["depth", "read_share", "request_size", "unscaled", "knobs", "local"]
Target = Literal["nvme_ssd", "ram"]
Driver = Literal["stock", "one_send"]
SchedulerName = Literal["none", "mq-deadline", "kyber", "sbq"]
Depth = Annotated[int, Field(ge=1, le=1024)]
Percent = Annotated[int, Field(ge=0, le=100)]
RequestKib = Annotated[int, Field(ge=1, le=1024)]
BatchNr = Annotated[int, Field(ge=1, le=1024)]

#: Profile of the target's disk (see `elevatorlab.trial.PROFILES`).
PROFILE = {"nvme_ssd": "nvme_ssd", "ram": "ram_disk"}

#: SBQ's own defaults, and the point at which the document varies everything else.
BATCH_NR, BATCH_TIMEOUT_US = 16, 50
DEPTH, REQUEST_KIB = 64, 4

#: So that no depth is cut off by what a scheduler may hold; `none` holds nothing.
NR_REQUESTS = 1024

LOCAL = "local"


class Parameters(Model):
    """What a user may choose; everything else follows.

    Attributes
    ----------
    experiments : tuple of str
        ``depth`` (the document's Figures 1 and 2, and one core of 3 and 4), ``read_share``
        (Figure 5), ``request_size`` (Figure 6); ``unscaled`` repeats depths 1 and 64 with
        time_scale 1; ``knobs`` crosses `batch_nrs` and `batch_timeouts_us`; ``local`` is the
        negative control, without a network.
    drivers : tuple of str
        Of NVMe/TCP (`elevatorlab.trial.NvmeTcp`).
    time_scale : float
        Factor on the disk's service time and SBQ's timeout, together. 7 by default: with `none`
        and a RAM target, which has no such times, the document's host core does 138 thousand
        requests a second at depth 64, the deterministic testbed's only core, which serves host
        and target, 20.3 thousand (stock driver). Chosen from these two figures alone. 1 on real
        machines.
    disk : str or None
        The id of a disk of the machine with the target, which replaces the simulated SSD; `destroy`
        must allow its loss. A real disk's time is not scaled, so time_scale must be 1.
    """

    preset: Literal["smoke", "quick", "full"] = "quick"
    experiments: tuple[Experiment, ...]
    targets: tuple[Target, ...] = ("nvme_ssd", "ram")
    drivers: tuple[Driver, ...] = ("stock", "one_send")
    schedulers: tuple[SchedulerName, ...] = ("none", "sbq", "mq-deadline", "kyber")
    depths: tuple[Depth, ...]
    read_percents: tuple[Percent, ...]
    request_kib: tuple[RequestKib, ...]
    batch_nrs: tuple[BatchNr, ...]
    batch_timeouts_us: tuple[Count, ...]
    time_scale: Annotated[float, Field(ge=1)] = 7
    mtu_bytes: Count = 9000
    disk: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:+-]{1,128}$")] | None = None
    destroy: bool = False
    ramp_ms: Count
    counted_ms: Count
    window_ms: Count
    device_mib: Count = 256
    memory_mib: Count = 1024
    deadline_s: Positive
    repetitions: Repetitions

    @model_validator(mode="after")
    def _takes_a_real_disk_as_it_is(self):
        if self.disk and self.time_scale != 1:
            raise ValueError(
                "time_scale: expected 1 (the default on real machines) with a disk, whose time is "
                f"its own; found {self.time_scale:g}"
            )
        return self


PRESETS = {
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
        "experiments": ("depth", "read_share", "request_size", "unscaled", "knobs", "local"),
        "depths": (1, 16, 32, 64),
        "read_percents": (0, 50, 100),
        "request_kib": (4, 16, 32),
        "batch_nrs": (4, 16, 64),
        "batch_timeouts_us": (12, 50),
        "ramp_ms": 5,
        "counted_ms": 40,
        "window_ms": 60,
        "deadline_s": 240,
        "repetitions": 2,
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
        _trial(parameters, repetition, **curve)
        for repetition in range(1, parameters.repetitions + 1)
        for curve in _curves(parameters)
    ]


def _curves(parameters):
    """Yield what tells a trial from the others of a repetition, and its points."""
    chosen = parameters.experiments
    scale = parameters.time_scale
    ends = [_point(depth=depth) for depth in (1, DEPTH)]
    for target in parameters.targets:
        for scheduler in parameters.schedulers:
            common = {"target": target, "scheduler": scheduler}
            for driver in parameters.drivers:
                points = _points(parameters, target, scheduler)
                # What is no part of the document is a comparison on Debian's own driver.
                beside = scheduler not in ("none", "sbq") and driver != "stock"
                if points and not (beside and "stock" in parameters.drivers):
                    yield {**common, "driver": driver, "scale": scale, "points": points}
                if "unscaled" in chosen and scale != 1 and scheduler in ("none", "sbq"):
                    yield {**common, "driver": driver, "scale": 1, "points": ends}
            simulated = target == "ram" or not parameters.disk
            if "local" in chosen and scheduler in ("none", "sbq") and simulated:
                yield {**common, "driver": LOCAL, "scale": scale, "points": ends}
    if "knobs" in chosen and "sbq" in parameters.schedulers:
        yield from _knobs(parameters)


def _points(parameters, target, scheduler):
    """Return the points of a curve: reads first, since what was written reads differently."""
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


def _knobs(parameters):
    """Yield SBQ with every pair of knobs, on the first target and the last driver, at one point.

    Beside it noop, which they are relative to. Both are left out where another experiment has them.
    """
    target, point = parameters.targets[0], _point()
    common = {"target": target, "driver": parameters.drivers[-1], "scale": parameters.time_scale}
    for scheduler in ("none", "sbq"):
        elsewhere = point in _points(parameters, target, scheduler)
        if scheduler in parameters.schedulers and not elsewhere:
            yield {**common, "scheduler": scheduler, "points": [point]}
    for batch_nr in parameters.batch_nrs:
        for timeout_us in parameters.batch_timeouts_us:
            if (batch_nr, timeout_us) != (BATCH_NR, BATCH_TIMEOUT_US):
                pair = {"scheduler": "sbq", "knobs": (batch_nr, timeout_us)}
                yield {**common, **pair, "points": [point]}


def _point(depth=DEPTH, read_percent=100, request_kib=REQUEST_KIB):
    return {"iodepth": depth, "rwmixread": read_percent, "bs": f"{request_kib}k"}


def _trial(
    parameters,
    repetition,
    target,
    scheduler,
    driver,
    scale,
    points,
    knobs=(BATCH_NR, BATCH_TIMEOUT_US),
):
    batch_nr, timeout_us = knobs
    tunables = {} if scheduler == "none" else {"nr_requests": NR_REQUESTS}
    if scheduler == "sbq":
        tunables |= {"batch_nr": batch_nr, "batch_timeout_us": max(1, round(timeout_us * scale))}
    fio = FioPoints(
        name="reader",
        group="main",
        # With a share of 100 or 0 this is what fio calls randread or randwrite.
        options={"rw": "randrw", "ioengine": "libaio", "direct": 1, "thread": 1},
        points=tuple(points),
        ramp_ms=parameters.ramp_ms,
        counted_ms=parameters.counted_ms,
        window_ms=parameters.window_ms,
        traced_points=_traced(points, scheduler, knobs),
    )
    labels = {"target": target, "driver": driver, "time_scale": f"{scale:g}"}
    if scheduler == "sbq":
        labels |= {"batch_nr": str(batch_nr), "batch_timeout_us": str(timeout_us)}
    fields = dict(
        study=NAME,
        preset=parameters.preset,
        labels=labels,
        memory_mib=parameters.memory_mib,
        device=_device(parameters, target, driver, scale),
        scheduler=Scheduler(name=scheduler, tunables=tunables),
        filesystem=None,
        groups=(Group(name="main"),),
        workloads=(fio,),
        settle_s=0.01,
        sample_interval_ms=60_000,  # a sample in fio's window would show in its latencies
        deadline_s=parameters.deadline_s,
        seed=repetition,
        repetition=repetition,
    )
    return checked(Trial, fields, "trial")


def _traced(points, scheduler, knobs):
    """Return where it is recorded whose work the processor does: where the gain is explained."""
    explained = scheduler in ("none", "sbq") and knobs == (BATCH_NR, BATCH_TIMEOUT_US)
    return tuple(number for number, point in enumerate(points) if explained and point == _point())


def _device(parameters, target, driver, scale):
    disk = profile(PROFILE[target], parameters.device_mib, scale)
    if driver == LOCAL:
        return disk
    if parameters.disk and target == "nvme_ssd":
        disk = Disk(id=parameters.disk, destroy=parameters.destroy)
    fields = {"backing": disk, "driver": driver, "mtu_bytes": parameters.mtu_bytes}
    return checked(NvmeTcp, fields, "device")
