"""Host and target on processors of their own, as a trial says it: a device and a workload.

What does it beside the disk is in the folder ``beside_disk``, which travels with the trials that
name these kinds.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from ...trial import DeviceModel, FioPoints, Link, NullBlk, capabilities

_BESIDE_DISK = "elevatorlab.studies.stream_batching.beside_disk.apart"

#: Processors of one side: the emulated machine has at most 48 in all.
MOST_CORES = 24


def _fits_twice(cores: int) -> int:
    if cores > MOST_CORES:
        raise ValueError(
            f"cores: expected at most {MOST_CORES}, since the target has as many as the host and "
            f"the largest machine has {2 * MOST_CORES}; found {cores}"
        )
    return cores


Cores = Annotated[int, Field(ge=1), AfterValidator(_fits_twice)]


class NvmeTcpApart(DeviceModel):
    """A disk that is served over NVMe/TCP by other processors of the same machine.

    The link is divided among the processors: each has a queue of its own with an equal part of the
    rate, since all processors would wait for one queue. So no processor uses what others leave.

    Attributes
    ----------
    backing : NullBlk
        What the target serves: without a service time a RAM disk, else null_blk.
    driver : str
        The host's (`elevatorlab.trial.NvmeTcp`).
    link : Link or None
        The cable's rate in all, and its delay. None: the cable takes no time.
    cores : int
        Processors of the host, and as many of the target.
    """

    agent: ClassVar[str] = f"{_BESIDE_DISK}:create"

    kind: Literal["nvme_tcp_apart"] = "nvme_tcp_apart"
    backing: NullBlk
    driver: Literal["stock", "one_send"] = "stock"
    mtu_bytes: Annotated[int, Field(ge=1280, le=65535)] = 9000
    link: Link | None = None
    cores: Cores

    @property
    def requires(self) -> tuple[str, ...]:
        """The rig of a target on the same machine."""
        there = capabilities.device("nvme_tcp"), capabilities.driver(self.driver)
        return (*there, str(capabilities.Capability.LINK)) if self.link else there

    @property
    def processors(self) -> int:
        """Processors for both sides."""
        return 2 * self.cores

    @property
    def capacity_mib(self) -> int | None:
        """What the target serves."""
        return self.backing.capacity_mib

    @property
    def memory_mib(self) -> int:
        """What the target takes."""
        return self.backing.memory_mib


class FioPointsApart(FioPoints):
    """``fio_points`` with a job on each of the host's processors, after a proof of who works where.

    Attributes
    ----------
    cores : int
        As the device has it.
    """

    agent: ClassVar[str] = f"{_BESIDE_DISK}:FioPointsApart"

    kind: Literal["fio_points_apart"] = "fio_points_apart"  # type: ignore[assignment]
    cores: Cores

    @property
    def requires(self) -> tuple[str, ...]:
        """Fio, and what the proof is made of."""
        return (*super().requires, capabilities.Capability.TRACEPOINTS)
