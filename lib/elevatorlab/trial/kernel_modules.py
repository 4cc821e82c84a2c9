"""The kernel modules that are built for a trial; their sources belong to the trial's hash."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..plugins.module_folders import ModuleFolder
from ..plugins.schedulers import SCHEDULERS
from ..records import Record
from .devices import DeviceModel, Scheduler


class UsesModules(Protocol):
    """What of a trial decides which modules it uses."""

    @property
    def device(self) -> DeviceModel:
        """It may need modules."""

    @property
    def scheduler(self) -> Scheduler:
        """It may be one."""

    @property
    def backing_scheduler(self) -> str | None:
        """It may be one, too."""


class Module(Record):
    """A kernel module that is built for the machine that runs the trial.

    Attributes
    ----------
    name : str
        The kernel's name of the module.
    digest : str
        SHA-256 over the module's name, its sources, and all else that decides what it does.
    """

    name: str
    digest: str

    def __str__(self) -> str:
        return f"the module {self.name} (sources' digest {self.digest[:12]})"


def folders(trial: UsesModules) -> dict[str, ModuleFolder]:
    """Return the sources of the modules that are built for a trial, by the modules' names."""
    records = (SCHEDULERS.get(name) for name in scheduler_names(trial))
    of_schedulers = [record.folder for record in records if record.folder is not None]
    return {folder.module: folder for folder in (*of_schedulers, *trial.device.modules)}


def scheduler_names(trial: UsesModules) -> list[str]:
    """Return the names of the schedulers that a trial uses, each once."""
    return list(dict.fromkeys(filter(None, (trial.scheduler.name, trial.backing_scheduler))))


def used_by(trial: UsesModules) -> tuple[Module, ...]:
    """Return the modules that are built for a trial, each with the digest of its sources."""
    found = sorted(folders(trial).items())
    return tuple(Module(name=name, digest=folder.digest) for name, folder in found)


def lacking(modules: Iterable[Module], scheduler: object) -> str:
    """Say that the scheduler of a stored trial with modules is unknown here; "" if it is known."""
    if scheduler in SCHEDULERS:
        return ""
    named = ", ".join(map(str, modules))
    return (
        f"expected the folder of scheduler {scheduler}, with {named}; found none of that name. "
        "Name it: --scheduler FOLDER"
    )
