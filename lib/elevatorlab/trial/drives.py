"""A hard disk, from the file that describes it to the device of a trial."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar, Literal

from ..paths import ENVIRONMENTS
from ..plugins import module_folders
from ..plugins.drives import DRIVES
from ..plugins.module_folders import ModuleFolder
from .devices import DeviceModel
from .drive_files import read
from .drive_records import DriveRecord, Queue, held_sectors


class Drive(DeviceModel):
    """A hard disk: each request takes as long as the described drive would take.

    Written data is kept in memory. A sector that was never written reads as zeros.

    Attributes
    ----------
    profile : str
        Name of the drive in tables: the name by which the user chose it, or that of its file.
    """

    kind: Literal["drive"] = "drive"
    profile: str = ""
    drive: DriveRecord

    MODULE: ClassVar[str] = "elevatorlab-drive"

    @property
    def capacity_mib(self) -> int:
        """Capacity of the disk in whole MiB, rounded down."""
        return self.drive.capacity_sectors // 2048

    @property
    def modules(self) -> tuple[ModuleFolder, ...]:
        """Sources of the driver's module."""
        return (module_folders.read(ENVIRONMENTS / "kernel" / "drive", self.MODULE),)


def drive(name: str) -> Drive:
    """Return the device of a drive.

    Parameters
    ----------
    name : str
        One of `plugins.drives.DRIVES`, or the path of a file, which ends in ``.json`` or has a
        slash.

    Raises
    ------
    ElevatorLabError
        When no drive has this name, or the file does not describe a valid drive.
    """
    file = file_of(name)
    return Drive(profile=file.stem, drive=read(file))


def file_of(name: str) -> Path:
    """Return the file of a drive, by the drive's name or by the file's own path."""
    return Path(name) if name.endswith(".json") or "/" in name else DRIVES.get(name)


def outermost(device: Drive, size_mib: int) -> Drive:
    """Return a drive of which only the outermost `size_mib` MiB are used, in whole cylinders.

    This is like a partition at the rim: within it, seeks are as short as on the whole drive.
    """
    whole = device.drive
    held = sum(held_sectors(whole, zone) for zone in whole.zones)
    share = size_mib * 2048 / whole.array.members / whole.sectors
    zones, left = [], math.ceil(share * held)
    if share >= 1:
        return device
    for zone in whole.zones:
        a_cylinder = held_sectors(whole, zone) / (zone.last_cylinder - zone.first_cylinder + 1)
        last = min(zone.last_cylinder, zone.first_cylinder + math.ceil(left / a_cylinder) - 1)
        cylinders = last - zone.first_cylinder + 1
        spare = cylinders * whole.surfaces * zone.sectors_per_track - round(cylinders * a_cylinder)
        zones.append(zone.model_copy(update={"last_cylinder": last, "spare_sectors": spare}))
        left -= round(cylinders * a_cylinder)
        if left <= 0:
            break
    used = sum(held_sectors(whole, zone) for zone in zones)
    said = f"Only its outermost {size_mib} MiB are used, to the end of a cylinder."
    return _changed(device, said, zones=tuple(zones), sectors=used * whole.sectors // held)


def with_cache(device: Drive, ratio: float) -> Drive:
    """Return a drive with the share `ratio` of its cache, which has fewer and smaller segments."""
    if ratio >= 1:
        return device
    buffer, side = device.drive.buffer, math.sqrt(ratio)
    names = ["segments", "segment_sectors", "write_segments"]
    names += ["read_ahead_sectors"] if buffer.read_ahead_sectors else []
    scaled = {name: max(1, round(getattr(buffer, name) * side)) for name in names}
    said = f"Of its cache {ratio:.2%} are there, as of everything else that was scaled down."
    return _changed(device, said, buffer=buffer.model_copy(update=scaled))


def with_queue(device: Drive, queue: Queue) -> Drive:
    """Return the same drive with another queue inside."""
    return device.model_copy(update={"drive": device.drive.model_copy(update={"queue": queue})})


def _changed(device: Drive, sentence: str, **fields: Any) -> Drive:
    record = device.drive
    said = (*record.assumptions, sentence)
    changed = record.model_copy(update={**fields, "assumptions": said})
    return device.model_copy(update={"drive": DriveRecord.model_validate(changed.model_dump())})
