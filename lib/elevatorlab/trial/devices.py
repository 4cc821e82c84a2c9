"""The device under test, by kind, and profiles of simulated disks."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..errors import ElevatorLabError
from .model import Count, Model, NotNegative, Positive


class NullBlk(Model):
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

    @model_validator(mode="after")
    def _serves_the_largest_request(self):
        # null_blk hands out its bandwidth in fiftieths of a second, and a request that needs
        # more than one of them (at most 1280 KiB, so 63 MiB/s) is never served.
        if 0 < self.bandwidth_mib_s < 63:
            raise ValueError(
                "device.bandwidth_mib_s: expected 0 (no limit) or at least 63, since null_blk "
                f"never serves large requests with less; found {self.bandwidth_mib_s}"
            )
        return self


class PacedDisk(Model):
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

    kind: Literal["paced_disk"] = "paced_disk"
    profile: str
    size_mib: Count
    service_us: Positive
    service: Literal["constant", "exponential"] = "constant"
    bandwidth_kib_s: Annotated[int, Field(ge=0)] = 0
    accept_us: NotNegative | None = None
    seed: Annotated[int, Field(ge=0)] = 0


class Disk(Model):
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


class NvmeTcp(Model):
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
    """

    kind: Literal["nvme_tcp"] = "nvme_tcp"
    backing: Annotated[NullBlk | Disk, Field(discriminator="kind")]
    driver: Literal["stock", "one_send"]
    mtu_bytes: Annotated[int, Field(ge=1280, le=65535)] = 9000


class FileBacked(Model):
    """A block device over a file of the machine's own disk: as fast as that disk is.

    On a host, and below a container, it is a loop device with direct I/O to the file; in a
    virtual machine it is a second virtual disk, whose file lies on the host's disk.
    """

    kind: Literal["file_backed"] = "file_backed"
    size_mib: Count


#: Profiles by name. They stand for classes of device, not for one product: the figures are
#: round numbers within the range of data sheets of each class (SATA SSD: 32 queued commands,
#: 600 MB/s, after encoding, less the protocol; NVMe SSD: four PCIe 3.0 lanes; disk with one
#: server: at 7200 turns a minute half a turn is 4.2 ms, and a short seek about as long).
#:
#: The two of a RAID are for the article on InnoDB. Write-behind: a request ends when it is in the
#: controller's memory. 80 us is what the article's own table leaves for it: a commit took 1/6850 s
#: with the device and 1/15000 s without, 79 us less. Eight disks: so many requests at once; nothing
#: volatile, so a flush costs nothing. Without that memory every write waits for a platter: a log is
#: appended to, so the place comes round a turn later, 4 ms at 15000 turns a minute; and the disks'
#: own caches are flushed, for which null_blk takes the same time as for a write (a test measures
#: it). Its cache is as large as the disk: null_blk never empties it but for a flush.
PROFILES = {
    "sata_ssd": {"service_time_us": 90, "parallelism": 32, "bandwidth_mib_s": 530},
    "nvme_ssd": {"service_time_us": 80, "parallelism": 256, "bandwidth_mib_s": 3200},
    "ram_disk": {"service_time_us": 0, "parallelism": 64},
    "single_server_disk": {"service_time_us": 8000, "parallelism": 1},
    "raid_write_behind": {"service_time_us": 80, "parallelism": 8},
    "raid_no_cache": {"service_time_us": 4000, "parallelism": 8, "volatile": True},
}


def profile(name, size_mib, slowdown=1):
    """Return the device of a named profile.

    Parameters
    ----------
    name : str
        One of `PROFILES`.
    size_mib : int
        Capacity; it is held in the memory of the machine that runs the trial.
    slowdown : float
        Factor on all of the profile's times. The deterministic testbed's processor executes
        one instruction a nanosecond; a slower disk keeps its proportion to a faster processor.
    """
    if name not in PROFILES:
        raise ElevatorLabError(
            f"device profile: expected one of {', '.join(PROFILES)}; found {name!r}"
        )
    figures = PROFILES[name]
    return NullBlk(
        profile=name,
        slowdown=slowdown,
        size_mib=size_mib,
        service_time_us=figures["service_time_us"] * slowdown,
        parallelism=figures["parallelism"],
        bandwidth_mib_s=round(figures.get("bandwidth_mib_s", 0) / slowdown),
        write_cache_mib=size_mib if figures.get("volatile") else 0,
    )


def chosen_device(parameters, profile_name):
    """Return the device that a study's parameters choose.

    Parameters
    ----------
    parameters : Model
        With `device`: ``null_blk``, ``file_backed`` or the id of a disk of the machine; and
        `device_mib`, `device_slowdown` and `destroy`, which say more about it.
    profile_name : str
        Of `PROFILES`: which simulated disk ``null_blk`` is.
    """
    if parameters.device == "null_blk":
        return profile(profile_name, parameters.device_mib, parameters.device_slowdown)
    if parameters.device == "file_backed":
        return FileBacked(size_mib=parameters.device_mib)
    return Disk(id=parameters.device, destroy=parameters.destroy)


Device = Annotated[NullBlk | PacedDisk | NvmeTcp | FileBacked | Disk, Field(discriminator="kind")]
