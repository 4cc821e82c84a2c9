"""The base of every workload of a trial."""

from __future__ import annotations

from typing import ClassVar

from ...records import Cache, Name, Record
from ..capabilities import Capability


class WorkloadModel(Record):
    """Base of all workloads.

    Attributes
    ----------
    endless : bool
        The workload runs until all workloads that end have ended.
    needs_filesystem : bool
        The workload needs files. Otherwise it can also run on the bare device.
    bare_device : bool
        The workload runs on the bare device only.
    in_virtual_machines : bool
        The workload can run inside a virtual machine, with all that it observes.
    agent : str
        ``"module:class"`` of the class that runs the workload on the machine under test, a subclass
        of `agent.workloads.base.Workload`. Empty if the agent itself has the workload.
    measurements : type of Record or None
        Record of the workload's part of a result; None: the part may have any content.

    Examples
    --------
    >>> class Editor(WorkloadModel):
    ...     agent = "mine.editor:Editor"
    ...     saves: int = 10
    >>> Editor(kind="editor", name="writer", group="main").saves
    10
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
        """Names of what a testbed must have for this workload (`testbeds.base.requirements`)."""
        return ()

    @property
    def duration_s(self) -> float:
        """How long the workload takes by its parameters; 0 if the machine decides that."""
        return 0

    @property
    def needed_mib(self) -> int:
        """Space that the workload needs on the device; 0 if that is not known beforehand."""
        return 0


def of_cache(cache: Cache) -> tuple[str, ...]:
    """Return the requirements of a state of the page cache."""
    return (Capability.PAGE_CACHE_DROP,) if cache == "dropped" else ()
