"""One fully specified run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ..records import Count, Name, NotNegative, Positive, Record, absent, checked
from . import kernel_modules, required_plugins
from .devices import Device, Scheduler, SchedulerName
from .groups import Group
from .kernel_modules import Module
from .policies import Regulator
from .required_plugins import Plugin
from .workloads import PacedWrites, Workload

SCHEMA_VERSION: Literal[1] = 1

Processors = Annotated[int, Field(ge=1, le=48)]
"""Number of processors; the deterministic testbed has no more than 48."""


class IoCost(Record):
    """The kernel's cost controller (version 2: ``io.cost.model``, ``io.cost.qos``).

    Attributes
    ----------
    model : dict
        What the device can do: ``rbps``, ``rseqiops``, ``rrandiops``, ``wbps``, ``wseqiops``,
        ``wrandiops`` (Documentation/admin-guide/cgroup-v2.rst of the kernel).
    qos : dict
        When the device is saturated: ``rpct``, ``rlat``, ``wpct``, ``wlat``, ``min``, ``max``.
    """

    model: dict[Name, Count]
    qos: dict[Name, NotNegative] = {}


class Rounds(Record):
    """How the emulated processors of the deterministic testbed take turns.

    Attributes
    ----------
    slot_instructions : int
        Most instructions that each processor executes in a round. One processor's work may reach
        another too early or too late, by up to this number of nanoseconds.
    transfer_instructions : int
        Extra cost of an atomic operation on a cache line that another processor used last.
    """

    # In slots above a millisecond, the times of locks and timers mean nothing.
    slot_instructions: Annotated[int, Field(ge=20, le=1_000_000)] = 1000
    transfer_instructions: Annotated[int, Field(ge=0, le=10_000)] = 0


#: Memory that a machine with a virtual machine inside keeps for its kernel, the agent and QEMU.
HOST_MIB = 384


#: Most workloads inside a virtual machine, where this many workers wait.
MOST_WORKLOADS_INSIDE = 4


class Trial(Record):
    """One fully specified run.

    Attributes
    ----------
    study, preset : str
        The study that the trial belongs to, and how large its trials are. Results of different
        studies or presets are never pooled.
    labels : dict
        The study's own columns in the table of results, such as the arm and the variant.
    machine : str
        What the processes run on: a host, or a virtual machine.
    memory_mib : int
        Memory of the machine, if the testbed makes the machine.
    processors : int
        Processors that the machine must have. Some devices need more (`needed_processors`).
    rounds : Rounds or None
        How emulated processors take turns. None: as the testbed's address says.
    backing_scheduler : str or None
        Scheduler of the physical disk below a file-backed device; None leaves it as it is.
    divided : bool
        Whether the device is divided into equal parts, one for each group. A part is a block
        device, whose counters are the group's. Otherwise all groups work on the whole device.
    settle_s : float
        Time for which background workloads run before the others start. It is multiplied by a
        factor of 1 to 2, which the seed chooses.
    trace : bool
        Whether each request's way through the block layer is recorded in ``trace.csv``, and the
        arm of a disk in ``arm.csv``. Recording takes processor time, so a traced trial differs
        from the same trial without a trace.
    warm_up_s : float
        Time at the foreground's beginning that the overall rates leave out.
    regulator : Regulator or None
    io_cost : IoCost or None
        None leaves the cost controller off.
    deadline_s : float
        The trial fails if it has not ended by then, in the testbed's own time. The deadline must
        be at least as long as each workload.
    seed, repetition : int
        Another repetition is the same trial with another seed.
    plugins : tuple of Plugin
        The plug-ins that the trial uses, which it finds itself (`trial.required_plugins`). Those
        that a stored trial names must be installed, with the same digests.
    modules : tuple of Module
        The kernel modules that are built for the trial, including this project's own. The trial
        finds these itself, too.

    Examples
    --------
    >>> reader = {"kind": "fio", "name": "reader", "group": "main", "options": {"rw": "randread"}}
    >>> disk = {"kind": "null_blk", "profile": "mine", "size_mib": 64}
    >>> trial = Trial(
    ...     study="mine",
    ...     preset="smoke",
    ...     device=disk | {"service_time_us": 100, "parallelism": 8},
    ...     scheduler={"name": "none"},
    ...     filesystem=None,
    ...     groups=[{"name": "main"}],
    ...     workloads=[reader],
    ...     deadline_s=60,
    ...     seed=1,
    ... )
    >>> trial.scheduler.name, len(trial.hash)
    ('none', 20)
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    study: Name
    preset: Literal["smoke", "quick", "paper", "full"]
    labels: dict[Name, str] = {}
    machine: Literal["host", "virtual_machine"] = "host"
    memory_mib: Annotated[int, Field(ge=512, le=16384)] = 1024
    processors: Processors = Field(1, exclude_if=lambda number: number == 1)
    rounds: Rounds | None = absent(None)
    device: Device
    scheduler: Scheduler
    backing_scheduler: SchedulerName | None = None
    filesystem: Literal["ext4"] | None = "ext4"
    divided: bool = False
    groups: Annotated[tuple[Group, ...], Field(min_length=1)]
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1)]
    regulator: Regulator | None = None
    io_cost: IoCost | None = None
    trace: bool = False
    settle_s: NotNegative = 0.2
    warm_up_s: NotNegative = 0
    sample_interval_ms: Count = 100
    deadline_s: Positive
    seed: Annotated[int, Field(ge=0)]
    repetition: Annotated[int, Field(ge=1)] = 1
    plugins: tuple[Plugin, ...] = absent(())
    modules: tuple[Module, ...] = absent(())

    @model_validator(mode="before")
    @classmethod
    def _plugins_are_here(cls, content: Any) -> Any:
        # Checked first: a name that only a missing plug-in knows would be refused as unknown.
        if isinstance(content, Mapping):
            named = [Plugin.model_validate(one) for one in content.get("plugins", ())]
            if sentence := required_plugins.lacking(named):
                raise ValueError(f"plugins: {sentence}")
            brought = [Module.model_validate(one) for one in content.get("modules", ())]
            scheduler = content.get("scheduler")
            if brought and isinstance(scheduler, Mapping):
                if sentence := kernel_modules.lacking(brought, scheduler.get("name")):
                    raise ValueError(f"modules: {sentence}")
        return content

    @model_validator(mode="after")
    def _names_what_it_uses(self) -> Trial:
        used_plugins = required_plugins.among(self._registered_parts())
        for field, used in (("plugins", used_plugins), ("modules", kernel_modules.used_by(self))):
            named = getattr(self, field)
            if named and set(named) != set(used):
                expected, found = (", ".join(map(str, some)) for some in (used, named))
                raise ValueError(f"{field}: expected {expected or 'none'}; found {found}")
            object.__setattr__(self, field, used)
        return self

    def _registered_parts(self) -> Iterator[tuple[str, str]]:
        """Yield what the trial names of the registries' entries: kind and name."""
        yield "device", self.device.kind
        for device in (self.device, getattr(self.device, "backing", None)):
            if profile := getattr(device, "profile", None):
                yield "profile", profile
        for name in kernel_modules.scheduler_names(self):
            yield "scheduler", name
        if self.regulator:
            yield "policy", self.regulator.policy
        for workload in self.workloads:
            yield "workload", workload.kind

    @model_validator(mode="after")
    def _consistent(self) -> Trial:
        groups = [group.name for group in self.groups]
        workloads = [workload.name for workload in self.workloads]
        for kind, names in (("groups", groups), ("workloads", workloads)):
            if len(set(names)) != len(names):
                raise ValueError(f"{kind}: expected different names; found {', '.join(names)}")
        if "device" in groups:
            raise ValueError(
                "groups: expected another name, since the disk's own samples are called so; "
                "found 'device'"
            )
        for workload in self.workloads:
            if workload.group not in groups:
                raise ValueError(
                    f"workload {workload.name}: expected a group among {', '.join(groups)}; "
                    f"found {workload.group!r}"
                )
            if isinstance(workload, PacedWrites) and workload.duration_s <= self.warm_up_s:
                raise ValueError(
                    f"warm_up_s: expected less than the {workload.duration_s:g} s of workload "
                    f"{workload.name}; found {self.warm_up_s:g}"
                )
            if workload.duration_s > self.deadline_s:
                raise ValueError(
                    f"deadline_s: expected at least the {workload.duration_s:g} s that workload "
                    f"{workload.name} takes; found {self.deadline_s:g}"
                )
            if self.filesystem is None and workload.needs_filesystem:
                raise ValueError(
                    f"workload {workload.name}: {workload.kind} needs a file system; found "
                    "filesystem null. Leave that field out, or name one"
                )
            if self.filesystem and workload.bare_device:
                raise ValueError(
                    f"workload {workload.name}: expected a bare device (filesystem null) for "
                    f"{workload.kind}; found {self.filesystem}"
                )
            capacity_mib = self.device.capacity_mib
            if capacity_mib is not None and capacity_mib < workload.needed_mib:
                raise ValueError(
                    f"device.size_mib: expected at least {workload.needed_mib} for the data of "
                    f"workload {workload.name}; found {capacity_mib}"
                )
        if self.divided and self.filesystem:
            raise ValueError(
                "divided: expected a bare device (filesystem null), since each group writes to its "
                f"own part of it; found {self.filesystem}"
            )
        if all(workload.endless for workload in self.workloads):
            raise ValueError("workloads: expected at least one that ends; found only endless ones")
        if self.backing_scheduler and not self.device.has_a_disk_below:
            raise ValueError(
                "backing_scheduler: expected with a file-backed device, below which there is "
                f"another one; found {self.device.kind}"
            )
        if self.filesystem and not self.device.keeps_data:
            raise ValueError(
                f"filesystem: expected none (null) on a {self.device.kind}, which keeps nothing; "
                f"found {self.filesystem}"
            )
        if self.device.memory_mib > max(0, self.memory_mib - 256):
            raise ValueError(
                f"device.size_mib: the disk lives in memory and leaves too little of it: expected "
                f"at most memory_mib - 256 = {self.memory_mib - 256}; found "
                f"{self.device.memory_mib}"
            )
        self._virtual_machine_fits()
        return self

    def _virtual_machine_fits(self) -> None:
        inside = [group for group in self.groups if group.virtual_machine]
        if not inside:
            return
        if len(self.groups) > 1:
            raise ValueError(
                f"groups: expected {inside[0].name} alone, since a virtual machine has the whole "
                f"disk; found {', '.join(group.name for group in self.groups)}"
            )
        machine = inside[0].virtual_machine
        assert machine
        most_mib = self.memory_mib - self.device.memory_mib - HOST_MIB
        if machine.memory_mib > most_mib:
            raise ValueError(
                f"groups.{inside[0].name}.virtual_machine.memory_mib: the machine lives in the "
                f"outer one's memory: expected at most {most_mib} of its {self.memory_mib} (less "
                f"{self.device.memory_mib} of the disk and {HOST_MIB} for the host); found "
                f"{machine.memory_mib}"
            )
        if len(self.workloads) > MOST_WORKLOADS_INSIDE:
            raise ValueError(
                f"workloads: expected at most {MOST_WORKLOADS_INSIDE} in a virtual machine; found "
                f"{len(self.workloads)}"
            )
        for workload in self.workloads:
            if not workload.in_virtual_machines:
                raise ValueError(
                    f"workload {workload.name}: expected one that can run in a virtual machine; "
                    f"found {workload.kind}"
                )

    def canonical_json(self) -> str:
        """Return the one spelling of this trial that is hashed."""
        return _canonical(self.model_dump(mode="json"))

    @property
    def needed_processors(self) -> int:
        """How many processors the machine must have for the trial and its device."""
        return max(self.processors, self.device.processors)

    @property
    def hash(self) -> str:
        """First 20 hexadecimal digits of the SHA-256 of `canonical_json`."""
        return content_hash(self.model_dump(mode="json"))


def content_hash(content: object) -> str:
    """Return the hash of a trial whose JSON has this content, be it valid here or not."""
    return hashlib.sha256(_canonical(content).encode()).hexdigest()[:20]


def _canonical(content: object) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def parse(content: object) -> Trial:
    """Make a trial from a dictionary.

    Parameters
    ----------
    content : mapping
        The fields of a `Trial`; unknown keys are refused.

    Raises
    ------
    ElevatorLabError
        In one sentence: each wrong field, what was given, and what is allowed.

    Examples
    --------
    >>> parse({"study": "mine", "colour": "blue"})
    Traceback (most recent call last):
    ...
    elevatorlab.errors.ElevatorLabError: trial: ...
    """
    return checked(Trial, content, "trial")
