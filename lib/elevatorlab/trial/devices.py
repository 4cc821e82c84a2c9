"""The device under test, by kind, and profiles of simulated disks."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, SerializeAsAny, model_validator

from ..plugins.kinds import DEVICES
from ..plugins.module_folders import ModuleFolder
from ..plugins.profiles import PROFILES
from ..records import Count, NotNegative, Positive, Record
from . import capabilities
from .registered import OfKind, name_in

#: A profile that is installed or was registered.
ProfileName = Annotated[str, AfterValidator(name_in(PROFILES))]


class DeviceModel(Record):
    """Base of all kinds of device.

    Attributes
    ----------
    agent : str
        ``"module:function"`` of what makes it beside the disk, with the parameters, and the
        answer, of `agent.devices.block_device.create`; empty for what the agent itself makes.
    keeps_data : bool
        Whether what is written to it can be read again, so that it can have a file system.
    has_a_disk_below : bool
        Whether its requests pass another disk's scheduler.
    """

    agent: ClassVar[str] = ""
    keeps_data: ClassVar[bool] = True
    has_a_disk_below: ClassVar[bool] = False

    kind: str

    @property
    def requires(self) -> tuple[str, ...]:
        """What a testbed must have for it: names of findings (`testbeds.base.requirements`)."""
        return (capabilities.device(self.kind),)

    @property
    def modules(self) -> tuple[ModuleFolder, ...]:
        """Sources of the kernel modules that are built for it, and travel with the trial."""
        return ()

    @property
    def capacity_mib(self) -> int | None:
        """How much it holds; None where only the machine knows."""
        return getattr(self, "size_mib", None)

    @property
    def memory_mib(self) -> int:
        """How much memory the device takes from the machine that runs the trial."""
        return 0


class NullBlk(DeviceModel):
    """A simulated disk: `parallelism` servers that take `service_time_us` a request."""

    kind: Literal["null_blk"] = "null_blk"
    profile: str
    #: How much slower than the profile this disk is; its figures below say what that makes.
    slowdown: Positive = 1
    size_mib: Count
    service_time_us: NotNegative
    parallelism: Annotated[int, Field(ge=1, le=1024)]
    #: 0: no limit. null_blk hands it out in portions of 20 ms, so a request on a saturated disk
    #: waits for the next portion, whoever sent it.
    bandwidth_mib_s: Annotated[int, Field(ge=0)] = 0
    #: 0: no volatile write cache, so a flush costs nothing.
    write_cache_mib: Annotated[int, Field(ge=0)] = 0

    @property
    def memory_mib(self) -> int:
        """All that it holds lies in memory."""
        return self.size_mib

    @model_validator(mode="after")
    def _serves_the_largest_request(self) -> NullBlk:
        # null_blk hands out its bandwidth in fiftieths of a second, and a request that needs
        # more than one of them (at most 1280 KiB, so 63 MiB/s) is never served.
        if 0 < self.bandwidth_mib_s < 63:
            raise ValueError(
                "device.bandwidth_mib_s: expected 0 (no limit) or at least 63, since null_blk "
                f"never serves large requests with less; found {self.bandwidth_mib_s}"
            )
        return self


class PacedDisk(DeviceModel):
    """A disk with one server whose service takes a known time, on any machine.

    It is a loop device over a file whose FUSE server answers when the model says so; what is
    written to it is thrown away.

    Attributes
    ----------
    service_us : float
        Time that the server takes for each request, beside the time of its bytes.
    service : str
        ``constant``, or ``exponential`` with the same mean.
    bandwidth_kib_s : int
        What the bytes of a request take; 0: nothing.
    accept_us : float or None
        A disk with a memory for one write answers it `accept_us` after it came, or when the
        server is done with the write before, whichever is later, and serves it then. None: a
        write is answered when it has been served.
    seed : int
        Of the service times.
    """

    keeps_data: ClassVar[bool] = False

    kind: Literal["paced_disk"] = "paced_disk"
    profile: str
    size_mib: Count
    service_us: Positive
    service: Literal["constant", "exponential"] = "constant"
    bandwidth_kib_s: Annotated[int, Field(ge=0)] = 0
    accept_us: NotNegative | None = None
    seed: Annotated[int, Field(ge=0)] = 0


class Disk(DeviceModel):
    """A disk of the machine, by a name that stays the same; what is on it is lost.

    Attributes
    ----------
    id : str
        A name below ``/dev/disk/by-id``, or the disk's serial number.
    destroy : bool
        Must be true before anything is written.
    """

    kind: Literal["disk"] = "disk"
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:+-]{1,128}$")]
    destroy: bool = False


class Link(Record):
    """What is between an NVMe/TCP host and its target, in each direction.

    Attributes
    ----------
    rate_gbit_s : float
        10^9 bits a second, headers included.
    delay_us : float
        From the last bit that is sent until the other end takes the message in: cable, network
        cards, and whatever these wait for.
    queue_packets : int
        As many as wait to be sent; more are dropped.
    """

    rate_gbit_s: Annotated[float, Field(ge=0.001, le=1000)]
    delay_us: Annotated[float, Field(ge=0, le=1_000_000)]
    queue_packets: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000


class NvmeTcp(DeviceModel):
    """A disk that is served over NVMe/TCP: by another machine where the testbed has one.

    Otherwise target and host share the machine's processors, so their ratio is not that of two
    machines.

    Attributes
    ----------
    backing : NullBlk or Disk
        What the target serves.
    driver : str
        The host's: ``stock`` is Debian's, which sends a request as soon as it is given one;
        ``one_send`` is the same with one change, by which a batch leaves as one send
        (environments/kernel/nvme-tcp).
    mtu_bytes : int
        Of the cable between host and target. A network between two machines must have it already.
    link : Link or None
        What the cable is like, where target and host share the machine. None: it takes no time
        and carries whatever the processor sends. Two machines have a network of their own.
    """

    kind: Literal["nvme_tcp"] = "nvme_tcp"
    backing: Annotated[NullBlk | Disk, Field(discriminator="kind")]
    driver: Literal["stock", "one_send"]
    mtu_bytes: Annotated[int, Field(ge=1280, le=65535)] = 9000
    link: Link | None = None

    @property
    def requires(self) -> tuple[str, ...]:
        """The rig, the driver, and what the target serves, unless that is simulated."""
        served = (capabilities.device("disk"),) if self.backing.kind == "disk" else ()
        link = (capabilities.Capability.LINK,) if self.link else ()
        return (capabilities.device(self.kind), capabilities.driver(self.driver), *served, *link)

    @property
    def capacity_mib(self) -> int | None:
        """What the target serves."""
        return self.backing.capacity_mib

    @property
    def memory_mib(self) -> int:
        """Memory that the target takes, where host and target are one machine."""
        return self.backing.memory_mib


class FileBacked(DeviceModel):
    """A block device over a file of the machine's own disk: as fast as that disk is.

    On a host, and below a container, it is a loop device with direct I/O to the file; in a
    virtual machine it is a second virtual disk, whose file lies on the host's disk.
    """

    has_a_disk_below: ClassVar[bool] = True

    kind: Literal["file_backed"] = "file_backed"
    size_mib: Count


def profile(name: str, size_mib: int, slowdown: float = 1) -> NullBlk:
    """Return the device of a named profile.

    Parameters
    ----------
    name : str
        One of `plugins.profiles.PROFILES`.
    size_mib : int
        Capacity; it is held in the memory of the machine that runs the trial.
    slowdown : float
        Factor on all of the profile's times. The deterministic testbed's processor executes
        one instruction per nanosecond; a slower disk keeps its proportion to a faster processor.
    """
    figures = PROFILES.get(name)
    return NullBlk(
        profile=name,
        slowdown=slowdown,
        size_mib=size_mib,
        service_time_us=figures.service_time_us * slowdown,
        parallelism=figures.parallelism,
        bandwidth_mib_s=round(figures.bandwidth_mib_s / slowdown),
        write_cache_mib=size_mib if figures.volatile else 0,
    )


Device = Annotated[DeviceModel, SerializeAsAny(), OfKind(DEVICES)]
