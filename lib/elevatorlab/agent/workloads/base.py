"""What every workload knows."""

from __future__ import annotations

import pathlib
import random
import traceback
from typing import TYPE_CHECKING

from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..groups.connection import Worker
    from ..groups.isolation import Group
    from ..lifecycle.context import Context


class Workload:
    """One workload of a trial, in its group.

    `specification` is the workload as the trial describes it, `worker` the agent's hand inside the
    group, and `raw` a folder for the untouched output of tools.
    """

    #: Background workloads run until the foreground ones have ended.
    background = False

    #: The trial's, for what a workload changes on the machine.
    context: Context

    def __init__(
        self,
        specification: Mapping[str, Any],
        group: Group,
        worker: Worker,
        seed: int,
        raw: str | pathlib.Path,
    ) -> None:
        self.specification = specification
        self.name = specification["name"]
        self.group = group
        self.worker = worker
        self.device = group.device
        self.random = random.Random(f"{seed}/{self.name}")
        self.seed = seed
        self.raw = pathlib.Path(raw)

    @property
    def node(self) -> str:
        """The device's file, as the group's processes see it."""
        return f"/dev/{self.group.inside}"

    def path(self, name: str) -> str:
        """Return the path of a file on the device, as the group's processes see it."""
        return f"{self.group.work}/{name}"

    def prepare(self) -> None:
        """Make the files; nothing is measured yet."""

    def start(self) -> None:
        """Start what goes on until the trial ends (in the background)."""
        raise NotImplementedError

    def run(self) -> None:
        """Do what is measured, to its end (in the foreground)."""
        raise NotImplementedError

    def measurements(self) -> dict[str, Any]:
        """Return what the workload measured, for ``result.json``."""
        return {}


def do(workload: Workload, step: str) -> Any:
    """Call a method of a workload, and return what it returns.

    Whatever the workload's class raises becomes an `AgentError` that names the workload and the
    line, and the log has the traceback.
    """
    try:
        return getattr(workload, step)()
    except AgentError:
        raise
    except Exception as problem:
        traceback.print_exc()
        last = traceback.extract_tb(problem.__traceback__)[-1]
        where = "/".join(pathlib.PurePath(last.filename).parts[-2:])
        raise AgentError(
            f"workload {workload.name!r} ({workload.specification['kind']}): {step} raised "
            f"{type(problem).__name__}: {problem} (line {last.lineno} of {where})"
        ) from problem
