"""What the trials of all experiments share: one disk divided among containers that write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....trial import Group, Limits, PacedWrites, Phase, Scheduler, Trial
from ...kit import trials as kit
from ..published import NAME
from . import disks
from .parameters import Experiment, Parameters

NORMAL, OVERLOADED = "normal", "overloaded"


def names(role: str, count: int) -> list[str]:
    """Return the names of `count` containers: normal-01, normal-02 ..."""
    return [f"{role}-{number:02d}" for number in range(1, count + 1)]


def writes(
    name: str,
    duration_s: float,
    request_bytes: int = disks.REQUEST_BYTES,
    think_us: float = disks.THINK_US,
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


def load(
    name: str, phases: Sequence[Phase], request_bytes: int = disks.OVERLOAD_BYTES
) -> PacedWrites:
    """Return the workload of an overloaded container, whose number of writers may change."""
    return PacedWrites(
        name=f"writes-{name}", group=name, request_bytes=request_bytes, phases=tuple(phases)
    )


def trial(
    parameters: Parameters,
    experiment: Experiment,
    disk: str,
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
            "disk": disk,
            **{name: str(count) for name, count in counts.items()},
            **labels,
        },
        device=disks.disk(disk, parameters.seed(repetition)),
        scheduler=Scheduler(name=scheduler) if isinstance(scheduler, str) else scheduler,
        filesystem=None,
        divided=True,
        groups=groups,
        workloads=workloads,
        sample_interval_ms=500,
        **{"warm_up_s": parameters.warm_up_s, **more},
    )
