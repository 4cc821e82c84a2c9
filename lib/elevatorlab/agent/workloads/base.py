"""What every workload knows."""

import pathlib
import random


class Workload:
    """One workload of a trial, in its group.

    Parameters
    ----------
    specification : dict
        The workload as the trial describes it.
    group : ProcessGroup or ContainerGroup
    worker : Worker
        The agent's hand inside the group.
    seed : int
    raw : pathlib.Path
        Folder for the untouched output of tools.
    """

    #: Background workloads run until the foreground ones have ended.
    background = False

    #: The trial's journal and proofs, for what a workload changes on the machine.
    journal = proofs = None

    def __init__(self, specification, group, worker, seed, raw):
        self.specification = specification
        self.name = specification["name"]
        self.group = group
        self.worker = worker
        self.device = group.device
        self.random = random.Random(f"{seed}/{self.name}")
        self.seed = seed
        self.raw = pathlib.Path(raw)

    def path(self, name):
        """Return the path of a file on the device, as the group's processes see it."""
        return f"{self.group.work}/{name}"

    def prepare(self):
        """Make the files; nothing is measured yet."""

    def figures(self):
        """Return what the workload measured, for ``result.json``."""
        return {}
