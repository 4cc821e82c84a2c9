"""The device under test, by kind, profiles of simulated disks, and the I/O scheduler."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, SerializeAsAny, model_validator

from ..plugins.module_folders import ModuleFolder
from ..plugins.profiles import PROFILES
from ..plugins.schedulers import SCHEDULERS
from ..plugins.trial_parts import DEVICES
from ..records import Count, Name, NotNegative, Positive, Record
from . import capabilities
from .registry_fields import OfKind, name_in

#: A profile that is installed or was registered.
ProfileName = Annotated[str, AfterValidator(name_in(PROFILES))]

#: A scheduler that is installed or was registered.
SchedulerName = Annotated[str, AfterValidator(name_in(SCHEDULERS))]


class Scheduler(Record):
    """An I/O scheduler, by the kernel's name, and its tunables.

    Attributes
    ----------
    tunables : dict
        Values by name: the files of ``queue/iosched``; ``nr_requests``, how many requests the
        scheduler may hold; ``rotational``, whether the kernel takes the disk for a rotating one
        (1) or not (0).

    Examples
    --------
    >>> Scheduler(name="none", tunables={"nr_requests": 64}).tunables
    {'nr_requests': 64}
    """

    name: SchedulerName
    tunables: dict[Name, int] = {}


class DeviceModel(Record):
    """Base of all kinds of device.

    Attributes
    ----------
    agent : str
        ``"module:function"`` of the function that makes the device on the machine under test. Its
        parameters and its answer are those of `agent.devices.block_device.create`. Empty if the
        agent itself makes the device.
    keeps_data : bool
        Whether written data can be read again, so that the device can have a file system.
    has_a_disk_below : bool
        Whether the device's requests also pass the scheduler of a disk below it.

    Examples
    --------
    >>> class Tape(DeviceModel):
    ...     agent = "mine.tape:create"
    ...     keeps_data = False
    >>> Tape(kind="tape").processors
    1
    """

    agent: ClassVar[str] = ""
    keeps_data: ClassVar[bool] = True
    has_a_disk_below: ClassVar[bool] = False

    kind: str

    @property
    def requires(self) -> tuple[str, ...]:
        """Names of what a testbed must have for this device (`testbeds.base.requirements`)."""
        return (capabilities.device(self.kind),)

    @property
    def modules(self) -> tuple[ModuleFolder, ...]:
        """Sources of the kernel modules that are built for the device and travel with the trial."""
        return ()

    @property
    def capacity_mib(self) -> int | None:
        """Capacity of the device; None if only the machine knows it."""
        return getattr(self, "size_mib", None)

    @property
    def memory_mib(self) -> int:
        """How much memory the device takes from the machine that runs the trial."""
        return 0

    @property
    def processors(self) -> int:
        """How many processors the machine that runs the trial must have."""
        return 1


class NullBlk(DeviceModel):
    """A simulated disk: `parallelism` servers that take `service_time_us` per request."""

    kind: Literal["null_blk"] = "null_blk"
    profile: str
    #: Factor by which this disk is slower than its profile; the figures below already include it.
    slowdown: Positive = 1
    size_mib: Count
    service_time_us: NotNegative
    parallelism: Annotated[int, Field(ge=1, le=1024)]
    #: 0: no limit. null_blk grants its bandwidth in portions, one every 20 ms. So a request on a
    #: saturated disk waits for the next portion, whoever sent it.
    bandwidth_mib_s: Annotated[int, Field(ge=0)] = 0
    #: 0: no volatile write cache, so a flush costs nothing.
    write_cache_mib: Annotated[int, Field(ge=0)] = 0

    @property
    def memory_mib(self) -> int:
        """The disk's whole capacity, which lies in memory."""
        return self.size_mib

    @model_validator(mode="after")
    def _serves_the_largest_request(self) -> NullBlk:
        # null_blk grants its bandwidth in portions, 50 per second, and never serves a request that
        # is larger than a portion. A request has up to 1280 KiB, so 63 MiB/s are needed.
        if 0 < self.bandwidth_mib_s < 63:
            raise ValueError(
                "device.bandwidth_mib_s: expected 0 (no limit) or at least 63, since null_blk "
                f"never serves large requests with less; found {self.bandwidth_mib_s}"
            )
        return self


class PacedDisk(DeviceModel):
    """A disk with one server whose service takes a known time, on any machine.

    The disk is a loop device over a file, whose FUSE server answers when the model says so.
    Written data is thrown away.

    Attributes
    ----------
    service_us : float
        Time that the server takes for each request, in addition to the time of its bytes.
    service : str
        ``constant``, or ``exponential`` with the same mean.
    bandwidth_kib_s : int
        Rate at which the server handles the bytes of a request; 0: the bytes take no time.
    accept_us : float or None
        Time in which a disk with memory for one write answers that write, before it is served.
        The answer comes `accept_us` after the write came, or when the server has finished the
        write before, whichever is later. None: a write is answered when it has been served.
    seed : int
        Seed of the service times.
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
    """A disk of the machine, identified by a name that stays the same. Its content is lost.

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
    """The link between an NVMe/TCP host and its target; the figures hold for each direction.

    Attributes
    ----------
    rate_gbit_s : float
        Rate in 10^9 bits per second, headers included.
    delay_us : float
        Time from the last bit sent until the other end receives the message. It covers the cable,
        the network cards, and whatever the cards wait for.
    queue_packets : int
        Most packets that may wait to be sent; further packets are dropped.
    """

    rate_gbit_s: Annotated[float, Field(ge=0.001, le=1000)]
    delay_us: Annotated[float, Field(ge=0, le=1_000_000)]
    queue_packets: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000


class NvmeTcp(DeviceModel):
    """A disk that is served over NVMe/TCP, by another machine if the testbed has one.

    Otherwise target and host share one machine's processors, so their speeds do not relate as
    those of two machines.

    Attributes
    ----------
    backing : NullBlk or Disk
        What the target serves.
    driver : str
        The host's driver. ``stock`` is Debian's, which sends each request as soon as it gets it.
        ``one_send`` is Debian's with one change: a batch of requests leaves as one send
        (environments/kernel/nvme-tcp).
    mtu_bytes : int
        MTU of the cable between host and target. A network between two machines must have this MTU
        already.
    link : Link or None
        The cable, if target and host share a machine. None: the cable takes no time, and carries
        whatever the processor sends. Two machines have a network of their own.
    """

    kind: Literal["nvme_tcp"] = "nvme_tcp"
    backing: Annotated[NullBlk | Disk, Field(discriminator="kind")]
    driver: Literal["stock", "one_send"]
    mtu_bytes: Annotated[int, Field(ge=1280, le=65535)] = 9000
    link: Link | None = None

    @property
    def requires(self) -> tuple[str, ...]:
        """The kind of device, the driver, the target's disk unless simulated, and any link."""
        served = (capabilities.device("disk"),) if self.backing.kind == "disk" else ()
        link = (capabilities.Capability.LINK,) if self.link else ()
        return (capabilities.device(self.kind), capabilities.driver(self.driver), *served, *link)

    @property
    def capacity_mib(self) -> int | None:
        """Capacity of the disk that the target serves."""
        return self.backing.capacity_mib

    @property
    def memory_mib(self) -> int:
        """Memory that the target takes, if host and target are one machine."""
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
        one instruction per nanosecond. A slower disk gives the ratio of disk time to processor
        time that a faster processor would give.
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
