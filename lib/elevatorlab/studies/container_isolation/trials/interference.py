"""Section 3 of the paper as trials: equal containers, one that overloads, and open arrivals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....trial import Trial
from .containers import NORMAL, OVERLOADED, names, trial, writes
from .disks import DISKS, overload_bytes, service_ms
from .parameters import Experiment, Parameters

OPEN_CONTAINERS = 2
OPEN_WRITERS = 48
"""Writers of each container under open load: more than ever wait at the same time."""

MEASURED_ON_A_DRIVE_S = 5
"""Shortest measurement on a drive, whose writes wait up to a hundred times as long as others."""

_WITHOUT_AND_WITH: tuple[tuple[Experiment, int], ...] = (("equal", 0), ("overload", 1))


def equal(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``equal``: containers that all do the same."""
    return [
        _beside(parameters, "equal", disk, scheduler, repetition, count, overloaded=0)
        for repetition, disk, scheduler in _each(
            parameters, (*parameters.disks, *parameters.drives)
        )
        for count in (
            parameters.containers if disk == parameters.disks[0] else parameters.contrast_containers
        )
    ]


def overload(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``overload``: an overloaded container, alone and with others.

    Trials of the other containers without the overloaded one are included. They belong to
    experiment ``equal``, too.
    """
    return [
        found
        for repetition, disk, scheduler in _each(parameters, parameters.disks[:1])
        for found in (
            _beside(parameters, "overload", disk, scheduler, repetition, 0, overloaded=1),
            *(
                _beside(parameters, experiment, disk, scheduler, repetition, count, overloaded)
                for count in parameters.normal_containers
                for experiment, overloaded in _WITHOUT_AND_WITH
            ),
        )
    ]


def sweep(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``sweep``: an overload by more writers with smaller writes.

    The trials without the overloaded container are those of experiment ``equal``.
    """
    return [
        _beside(parameters, "sweep", disk, scheduler, repetition, count, 1, writers)
        for repetition, disk, scheduler in _each(parameters, parameters.disks[:1])
        for writers in parameters.overload_writers
        for count in (0, *parameters.normal_containers)
    ]


def open_load(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``open``: writes arrive whether or not others have ended.

    Two containers write to a disk with one server. Together, their writes arrive at a given share
    of the rate that this server can do.
    """
    return [
        trial(
            parameters,
            "open",
            disk,
            scheduler,
            repetition,
            [
                writes(
                    name,
                    parameters.open_duration_s,
                    think_us=0,
                    writers=OPEN_WRITERS,
                    arrivals_per_s=ratio / (service_ms() / 1e3) / OPEN_CONTAINERS,
                )
                for name in names(NORMAL, OPEN_CONTAINERS)
            ],
            {"offered": f"{ratio:g}"},
        )
        for repetition, disk, scheduler in _each(parameters, parameters.open_disks)
        for ratio in parameters.open_ratios
    ]


def _each(parameters: Parameters, disks: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    for repetition in parameters.each_repetition:
        for disk in disks:
            for scheduler in parameters.schedulers:
                yield repetition, disk, scheduler


def _beside(
    parameters: Parameters,
    experiment: Experiment,
    disk: str,
    scheduler: str,
    repetition: int,
    normal: int,
    overloaded: int,
    writers: int = 1,
) -> Trial:
    """Return a trial with `normal` normal and `overloaded` overloaded containers.

    Each overloaded container has `writers` writers.
    """
    duration_s = parameters.duration_s
    if disk not in DISKS:
        duration_s = max(duration_s, parameters.warm_up_s + MEASURED_ON_A_DRIVE_S)
    workloads = [writes(name, duration_s) for name in names(NORMAL, normal)]
    workloads += [
        writes(name, duration_s, overload_bytes(writers), think_us=0, writers=writers)
        for name in names(OVERLOADED, overloaded)
    ]
    labels = {"load": f"{writers} writers"} if experiment == "sweep" else {}
    return trial(parameters, experiment, disk, scheduler, repetition, workloads, labels)
