"""What every workload of a trial is."""

from __future__ import annotations

from typing import ClassVar

from ...records import Cache, Name, Record
from ..capabilities import Capability


class WorkloadModel(Record):
    """Base of all workloads.

    Attributes
    ----------
    endless : bool
        It runs until all those that end have ended.
    needs_filesystem : bool
        It works on files; the others can do without, on the bare device.
    bare_device : bool
        It works on the bare device alone.
    in_virtual_machines : bool
        All that it does, and all that it looks at, can be inside a virtual machine.
    agent : str
        ``"module:class"`` of what does it beside the disk, a subclass of
        `agent.workloads.base.Workload`; empty for what the agent itself does.
    measurements : type of Record or None
        What its part of a result is; None: anything.
    """

    agent: ClassVar[str] = ""
    measurements: ClassVar[type[Record] | None] = None
    endless: ClassVar[bool] = False
    needs_filesystem: ClassVar[bool] = True
    bare_device: ClassVar[bool] = False
    in_virtual_machines: ClassVar[bool] = False

    name: Name
    group: Name
    kind: str

    @property
    def requires(self) -> tuple[str, ...]:
        """What a testbed must have for it: names of findings (`testbeds.base.requirements`)."""
        return ()

    @property
    def duration_s(self) -> float:
        """How long the workload takes by its parameters; 0 if the machine decides that."""
        return 0

    @property
    def needed_mib(self) -> int:
        """What it takes of the device before anything is measured, where that is known."""
        return 0


def of_cache(cache: Cache) -> tuple[str, ...]:
    """Return what a state of the page cache requires."""
    return (Capability.PAGE_CACHE_DROP,) if cache == "dropped" else ()
