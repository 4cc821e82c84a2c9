"""What the benchmarks of processors in parallel bring to a trial: a device and a workload."""

from pathlib import Path
from typing import ClassVar, Literal

from elevatorlab.plugins import module_folders
from elevatorlab.plugins.module_folders import ModuleFolder
from elevatorlab.plugins.trial_parts import DEVICES, WORKLOADS
from elevatorlab.records import Count
from elevatorlab.trial import DeviceModel, WorkloadModel, capabilities

BESIDE_DISK = "multicore.beside_disk.parts"


class ManyQueues(DeviceModel):
    """null_blk without service time or memory, with a queue for each processor."""

    agent: ClassVar[str] = f"{BESIDE_DISK}:create"
    keeps_data: ClassVar[bool] = False

    kind: Literal["many_queues"] = "many_queues"
    profile: str = "x"
    size_mib: Count = 1024

    @property
    def requires(self) -> tuple[str, ...]:
        """What null_blk requires."""
        return (capabilities.device("null_blk"),)


class KnownTruths(ManyQueues):
    """The same, which brings the module whose experiments have known answers."""

    kind: Literal["known_truths"] = "known_truths"  # type: ignore[assignment]

    @property
    def modules(self) -> tuple[ModuleFolder, ...]:
        """The module `truths`."""
        return (module_folders.read(Path(__file__).with_name("truths"), "truths"),)


class Truths(WorkloadModel):
    """Experiments of the module `truths`, one after the other."""

    agent: ClassVar[str] = f"{BESIDE_DISK}:Truths"
    needs_filesystem: ClassVar[bool] = False

    kind: Literal["truths"] = "truths"
    experiments: tuple[str, ...]


for model in (ManyQueues, KnownTruths):
    DEVICES.register(model.model_fields["kind"].default, model)
WORKLOADS.register("truths", Truths)
