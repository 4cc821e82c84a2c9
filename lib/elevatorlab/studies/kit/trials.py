"""Parameters and fields that the trials of all studies have in common."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ...trial import (
    Count,
    Group,
    Positive,
    Record,
    Repetitions,
    SchedulerName,
    Trial,
    checked,
)

Arm = Literal["host", "container", "vm"]
"""What the processes of a trial run in."""

DiskId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:+-]{1,128}$")]
"""The id of a disk of the machine: its name in /dev/disk/by-id."""


class CommonParameters(Record):
    """What a user may choose in every study."""

    preset: Literal["smoke", "quick", "paper", "full"] = "quick"
    #: Memory of the machine, if the testbed makes the machine.
    memory_mib: Count = 1024
    #: A trial that takes longer than this has failed.
    deadline_s: Positive
    #: How often each trial is run, each time with another seed.
    repetitions: Repetitions
    #: Seed of the first repetition; each further repetition adds one.
    first_seed: Count = 1

    @property
    def each_repetition(self) -> range:
        """The numbers of the repetitions, from 1 on."""
        return range(1, self.repetitions + 1)

    def seed(self, repetition: int) -> int:
        """Return the seed of a repetition."""
        return self.first_seed + repetition - 1


class DiskParameters(CommonParameters):
    """What a user may choose in a study of one disk."""

    schedulers: tuple[SchedulerName, ...]
    #: Further schedulers, reimplemented by this project. They run only on the deterministic
    #: testbed.
    reimplemented: tuple[SchedulerName, ...] = ()
    #: ``null_blk``, the simulated disk; ``file_backed``, a block device over a file of the
    #: machine's own disk; or the id of a disk of the machine, for which `destroy` must be true.
    device: DiskId = "null_blk"
    #: Whether everything on that disk may be lost.
    destroy: bool = False
    #: Schedulers of the physical disk below a file-backed device, crossed with `schedulers`. Empty:
    #: that disk keeps its scheduler.
    backing_schedulers: tuple[SchedulerName, ...] = ()
    #: Factor on the simulated disk's times (see `elevatorlab.trial.profile`). A desktop processor's
    #: core of the first study's time executes about four instructions per nanosecond, and the
    #: deterministic testbed's core executes one. So the default is 4: without this factor, requests
    #: would wait for the processor and not for the disk. The default was chosen before any
    #: comparison with published times, and not adjusted since.
    device_slowdown: Positive = 4
    #: Size of the disk, if it is made for the trial.
    device_mib: Count

    @property
    def each_scheduler(self) -> tuple[str, ...]:
        """All schedulers, each once."""
        return tuple(dict.fromkeys((*self.schedulers, *self.reimplemented)))

    @property
    def each_backing_scheduler(self) -> tuple[str | None, ...]:
        """The physical disk's schedulers; only None if the disk keeps its scheduler."""
        return self.backing_schedulers or (None,)


def trial(parameters: CommonParameters, study: str, repetition: int, **fields: Any) -> Trial:
    """Return a trial: the fields that every trial takes from the parameters, and `fields`.

    `repetition`: Number of the repetition, from 1 on; the seed depends on it, too.
    """
    common = {
        "study": study,
        "preset": parameters.preset,
        "memory_mib": parameters.memory_mib,
        "deadline_s": parameters.deadline_s,
        "seed": parameters.seed(repetition),
        "repetition": repetition,
    }
    return checked(Trial, {**common, **fields}, "trial")


def on_arm(arm: Arm) -> dict[str, Any]:
    """Return the fields of a trial with one group, ``main``, that runs in the given arm."""
    return {
        "machine": "virtual_machine" if arm == "vm" else "host",
        "groups": (Group(name="main", isolation="container" if arm == "container" else "process"),),
    }


def slowdowns(parameters: type[Record], name: str) -> dict[str, dict[str, Any]]:
    """Return two variations: half the slowdown that a study assumes, and twice that slowdown.

    `name`: The parameter that is the factor on the times of disks and links.
    """
    usual = parameters.model_fields[name].default
    return {f"slowdown x {factor:g}": {name: usual * factor} for factor in (0.5, 2)}
