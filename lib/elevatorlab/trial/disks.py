"""The disk that a study's parameters choose: with an arm, without one, or the machine's own."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from ..plugins.drives import DRIVES
from ..plugins.profiles import PROFILES
from .devices import DeviceModel, Disk, FileBacked, profile
from .drive_files import read
from .drives import drive, file_of, outermost, with_cache
from .registry_fields import name_in


def has_arm(name: str) -> bool:
    """Tell whether a simulated disk is a drive, with an arm."""
    return name not in PROFILES


def _drive(name: str) -> str:
    if not name.endswith(".json") and "/" not in name:
        return name_in(DRIVES)(name)
    read(file_of(name))
    return name


def _disk(name: str) -> str:
    if name in PROFILES or name in DRIVES or name.endswith(".json") or "/" in name:
        return name if name in PROFILES else _drive(name)
    expected = ", ".join(map(repr, (*PROFILES.names(), *DRIVES.names())))
    told = {"expected": f"{expected} or the file of a drive", "given": repr(name)}
    raise PydanticCustomError("unknown_name", "Input should be {expected}", told)


DriveName = Annotated[str, AfterValidator(_drive)]
"""A drive, or the file of one (``./mine.json``)."""

DiskName = Annotated[str, AfterValidator(_disk)]
"""A simulated disk: a profile without an arm, or a drive as in `DriveName`."""


def simulated(name: str, size_mib: int, slowdown: float = 1, cache_ratio: float = 1) -> DeviceModel:
    """Return a simulated disk.

    `size_mib`: Size of the disk. Of a drive, only this much is used, counted from its outer edge.
    `slowdown`: Factor on the times of a disk without an arm. The times of a drive are not scaled,
    because the kernel's own waits are not scaled either. `cache_ratio`: Share of a drive's cache
    that is left, for trials in which all sizes are scaled down.
    """
    if not has_arm(name):
        return profile(name, size_mib, slowdown)
    return with_cache(outermost(drive(name), size_mib), cache_ratio)


def chosen_device(parameters: Any, name: str, cache_ratio: float = 1) -> DeviceModel:
    """Return the device that a study's parameters choose.

    `parameters`: A study's parameters. `device` is ``null_blk``, ``file_backed`` or the id of a
    disk of the machine. `device_mib`, `device_slowdown` and `destroy` say more about the device.
    """
    if parameters.device == "null_blk":
        return simulated(name, parameters.device_mib, parameters.device_slowdown, cache_ratio)
    if parameters.device == "file_backed":
        return FileBacked(size_mib=parameters.device_mib)
    return Disk(id=parameters.device, destroy=parameters.destroy)
