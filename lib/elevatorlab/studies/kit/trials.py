"""What the trials of all studies have in common: parameters that every user may choose."""

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
"""On what the processes of a trial run."""

DiskId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:+-]{1,128}$")]
"""What names a disk of the machine (/dev/disk/by-id/...)."""


class CommonParameters(Record):
    """What a user may choose in every study.

    Attributes
    ----------
    preset : str
    memory_mib : int
        Memory of the machine, where the testbed makes the machine.
    deadline_s : float
        A trial that has not ended by then has failed.
    repetitions : int
        How often every trial is repeated, each time with another seed.
    first_seed : int
        Seed of the first repetition; each further repetition adds one.
    """

    preset: Literal["smoke", "quick", "paper", "full"] = "quick"
    memory_mib: Count = 1024
    deadline_s: Positive
    repetitions: Repetitions
    first_seed: Count = 1

    @property
    def each_repetition(self) -> range:
        """The numbers of the repetitions, from 1 on."""
        return range(1, self.repetitions + 1)

    def seed(self, repetition: int) -> int:
        """Return the seed of a repetition."""
        return self.first_seed + repetition - 1


class DiskParameters(CommonParameters):
    """What a user may choose in a study of one disk.

    Attributes
    ----------
    schedulers : tuple of str
    reimplemented : tuple of str
        More of them, written by us, which run on the deterministic testbed alone.
    device : str
        ``null_blk``, the simulated disk; ``file_backed``, a block device over a file of the
        machine's own disk; or the id of a disk of the machine, which `destroy` must allow.
    destroy : bool
        Whether everything on that disk may be lost.
    backing_schedulers : tuple of str
        Schedulers of the physical disk below a file-backed device, crossed with `schedulers`;
        empty leaves that disk as it is.
    device_slowdown : float
        Factor on the simulated disk's times (see `elevatorlab.trial.profile`). 4 by default: one
        core of a desktop processor of the first study's time executes some four instructions a
        nanosecond, the deterministic testbed's one. Without it the processor, not the disk, is
        what requests wait for. Chosen before any comparison with published times, and not
        adjusted since.
    device_mib : int
        Size of the disk, where it is made for the trial.
    """

    schedulers: tuple[SchedulerName, ...]
    reimplemented: tuple[SchedulerName, ...] = ()
    device: DiskId = "null_blk"
    destroy: bool = False
    backing_schedulers: tuple[SchedulerName, ...] = ()
    device_slowdown: Positive = 4
    device_mib: Count

    @property
    def each_scheduler(self) -> tuple[str, ...]:
        """All schedulers, each once."""
        return tuple(dict.fromkeys((*self.schedulers, *self.reimplemented)))

    @property
    def each_backing_scheduler(self) -> tuple[str | None, ...]:
        """The physical disk's schedulers; None alone where it stays as it is."""
        return self.backing_schedulers or (None,)


def trial(parameters: CommonParameters, study: str, repetition: int, **fields: Any) -> Trial:
    """Return a trial with what all trials of a study take from its parameters.

    Parameters
    ----------
    parameters : CommonParameters
    study : str
        Its name.
    repetition : int
        From 1 on; it decides the seed, too.
    fields
        All other fields of the trial.

    Raises
    ------
    ElevatorLabError
        When a field is wrong.
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
    """Return the fields of a trial whose one group, ``main``, runs on an arm."""
    return {
        "machine": "virtual_machine" if arm == "vm" else "host",
        "groups": (Group(name="main", isolation="container" if arm == "container" else "process"),),
    }
