"""The schedulers: the kernel's, ours, and those of other packages or of a notebook.

Each scheduler has one record. The records of the kernel's schedulers are in one file. It is in the
agent's folder, because the agent needs a part of each record. A scheduler of ours has its record in
its own folder: environments/kernel/schedulers/NAME/scheduler.json (`scheduler_folders.ZOO`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .module_folders import ModuleFolder
from .registry import Registry

FILE = Path(__file__).resolve().parents[1] / "agent/devices/schedulers.json"

#: Fields of a record that the agent needs; the other fields are for figures and messages.
AGENT_FIELDS = ("module", "tunables", "signature", "counters", "weight_files")

#: Colours and markers for schedulers whose records have none. With any colour vision, they differ
#: from each other and from those of our records (after Tol, "Colour Schemes", 2021: bright and
#: muted).
OTHER_COLOURS = ("#56B4E9", "#882255", "#999933", "#332288", "#44AA99", "#661100")
OTHER_MARKERS = ("d", "+", "H", "1", "2", "3", "8")


@dataclass(frozen=True)
class SchedulerRecord:
    """A record of what this package needs to know of a scheduler.

    Attributes
    ----------
    name : str
        The kernel's name of the scheduler.
    module : str or None
        The kernel module that brings the scheduler; None if the scheduler is always there.
    tunables : str or None
        Folder of its tunables below the disk's ``queue``; None if the scheduler has no tunables.
    signature : str or None
        A tunable that only this scheduler has. Its presence shows whose code is running.
    counters : tuple of str
        Names of the scheduler's own counters, which are files beside its tunables.
    weight_files : dict
        The file that sets a group's weight, by the version of cgroups ("1", "2").
    former_name : str
        The scheduler that had its place before blk-mq, in Linux before 5.0; "" if none had.
    label : str
        The scheduler's name in figures; by default `name`.
    colour, marker : str
        Colour and marker in figures; "": see `colour_of` and `marker_of`.
    source : str
        Where the scheduler comes from: ``linux``, ``elevatorlab`` (environments/kernel), or another
        project.
    remedy : str
        What to do if the scheduler is missing, as the beginning of a sentence.
    folder : ModuleFolder or None
        The sources of its module, if the module is built for the machine that runs a trial.

    Examples
    --------
    >>> SchedulerRecord("adios", module="adios").label
    'adios'
    """

    name: str
    module: str | None = None
    tunables: str | None = "iosched"
    signature: str | None = None
    counters: tuple[str, ...] = ()
    weight_files: Mapping[str, str] = field(default_factory=dict)
    former_name: str = ""
    label: str = ""
    colour: str = ""
    marker: str = ""
    source: str = "another project"
    remedy: str = "install its module"
    folder: ModuleFolder | None = None

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name)

    @property
    def holds_requests(self) -> bool:
        """Whether it holds requests, so that ``nr_requests`` can say how many.

        Only the kernel's choice of no scheduler holds none: it has neither a module nor tunables.
        """
        return self.module is not None or self.tunables is not None

    def offered(self, facts: Mapping[str, Any]) -> bool:
        """Tell whether a machine with these facts (`agent.observe.facts`) can run it."""
        return self.name in facts["schedulers"] or bool(facts["modules"].get(self.module))

    def for_the_agent(self) -> dict[str, Any]:
        """Return the fields that the agent needs."""
        return {name: getattr(self, name) for name in AGENT_FIELDS}


def records(content: Mapping[str, Mapping[str, Any]]) -> dict[str, SchedulerRecord]:
    """Return the records that the content of `FILE` describes, by name."""
    return {
        name: SchedulerRecord(name, **{**told, "counters": tuple(told.get("counters", ()))})
        for name, told in content.items()
    }


#: Records of the schedulers in `FILE`, by name.
OURS = records(json.loads(FILE.read_text()))

#: Names of the schedulers that come with the kernel.
OF_THE_KERNEL = tuple(name for name, record in OURS.items() if record.source == "linux")

#: Sources of the schedulers in the deterministic image: its kernel, and this project's modules.
IN_THE_IMAGE = ("linux", "elevatorlab")

#: Every scheduler that is installed or was registered; those of this package first.
SCHEDULERS: Registry[SchedulerRecord] = Registry(
    "scheduler",
    "elevatorlab.schedulers",
    collections=True,
    former={record.former_name: name for name, record in OURS.items() if record.former_name},
)


def for_the_agent() -> bytes:
    """Return the content of `FILE`, reduced to the fields that the agent needs.

    A colour belongs to no result, so it must not change the agent's digest.
    """
    told = {name: record.for_the_agent() for name, record in OURS.items()}
    return json.dumps(told, indent=1).encode()


def modules() -> list[str]:
    """Return the kernel modules of all schedulers."""
    return sorted({record.module for record in SCHEDULERS.values() if record.module})


def room_for(name: str, requests: int) -> dict[str, int]:
    """Return the tunable that sets how many requests a scheduler holds, if it holds any."""
    return {"nr_requests": requests} if SCHEDULERS.get(name).holds_requests else {}


def colour_of(name: str) -> str:
    """Return a scheduler's colour: its own, or the first one that no other scheduler has.

    Schedulers without a colour get one in the order in which they were registered. A scheduler that
    nobody has registered gets a colour by the checksum of its name.
    """
    return _drawn(name, "colour", OTHER_COLOURS)


def label_of(name: str) -> str:
    """Return a scheduler's name in figures: its label, or `name` if it has no record."""
    return SCHEDULERS.get(name).label if name in SCHEDULERS else name


def shown_name(group: object) -> str:
    """Return the name of a group of rows in figures.

    A scheduler from another project is shown by its label. All other groups, such as the kernel's
    schedulers and ours, keep the names that the documents give them.
    """
    name = str(group)
    return label_of(name) if name in SCHEDULERS and name not in OURS else name


def marker_of(name: str) -> str:
    """Return a scheduler's marker; see `colour_of`."""
    return _drawn(name, "marker", OTHER_MARKERS)


def _drawn(name: str, attribute: str, choices: tuple[str, ...]) -> str:
    if name not in SCHEDULERS:
        return choices[zlib.crc32(name.encode()) % len(choices)]
    own = {one: str(getattr(record, attribute)) for one, record in SCHEDULERS.items()}
    without = [one for one in own if not own[one]]
    free = [one for one in choices if one not in own.values()] or choices
    return own[name] or free[without.index(name) % len(free)]
