"""A disk with an arm, from its file to the device of a trial."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ValidationError

from .. import json_lines
from ..errors import ElevatorLabError
from ..paths import DATA, ENVIRONMENTS
from ..plugins import module_folders
from ..plugins.drives import DRIVES
from ..plugins.module_folders import ModuleFolder
from ..records import sentence
from .devices import DeviceModel
from .drive_records import DriveRecord, Misfit, Queue, falls, held_sectors, within_noise

#: One point of a seek curve in so many may be a misreading, which is left out.
POINTS_A_MISREADING = 50

CURVE = "seek_curve_ms_by_cylinders"
BUS = "bus_ms_per_sector"
WATER_MARK = "High (read) water mark"

#: Of drives whose own file leaves the time on the bus to the bus, by name.
BUSES = DATA / "drives/buses/disksim.json"


class Drive(DeviceModel):
    """A disk with an arm: a request takes what a described drive would take for it.

    What is written is kept in memory, where it was written; a read of the rest gives zeros.

    Attributes
    ----------
    profile : str
        What it is called in tables: the name by which it was asked for.
    """

    kind: Literal["drive"] = "drive"
    profile: str = ""
    drive: DriveRecord

    MODULE: ClassVar[str] = "elevatorlab-drive"

    @property
    def capacity_mib(self) -> int:
        """What the disk holds."""
        return self.drive.capacity_sectors // 2048

    @property
    def modules(self) -> tuple[ModuleFolder, ...]:
        """The driver."""
        return (module_folders.read(ENVIRONMENTS / "kernel" / "drive", self.MODULE),)


def drive(name: str) -> Drive:
    """Return the device of a drive.

    Parameters
    ----------
    name : str
        One of `plugins.drives.DRIVES`, or a file: what ends in ``.json`` or has a slash.
    """
    file = file_of(name)
    return Drive(profile=file.stem, drive=read(file))


def file_of(name: str) -> Path:
    """Return the file of a drive: of that name, or the file itself."""
    return Path(name) if name.endswith(".json") or "/" in name else DRIVES.get(name)


def outermost(device: Drive, size_mib: int) -> Drive:
    """Return a drive of which only the rim is used: so much, up to the end of a cylinder.

    That is a partition. Seeks within it are as short as on the whole drive.
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
    """Return a drive with so much of its cache: fewer segments, and smaller ones, alike."""
    if ratio >= 1:
        return device
    buffer, side = device.drive.buffer, math.sqrt(ratio)
    names = ["segments", "segment_sectors", "write_segments"]
    names += ["read_ahead_sectors"] if buffer.read_ahead_sectors else []
    scaled = {name: max(1, round(getattr(buffer, name) * side)) for name in names}
    said = f"Of its cache {ratio:.2%} are there, as of everything else that was scaled down."
    return _changed(device, said, buffer=buffer.model_copy(update=scaled))


def with_queue(device: Drive, queue: Queue) -> Drive:
    """Return a drive with another queue inside."""
    return device.model_copy(update={"drive": device.drive.model_copy(update={"queue": queue})})


def _changed(device: Drive, sentence: str, **fields: Any) -> Drive:
    record = device.drive
    said = (*record.assumptions, sentence)
    changed = record.model_copy(update={**fields, "assumptions": said})
    return device.model_copy(update={"drive": DriveRecord.model_validate(changed.model_dump())})


def read(file: Path) -> DriveRecord:
    """Read the file of a drive.

    Misread points of the seek curve are left out, and a bus that the file does not tell is
    assumed; both are named among the assumptions.

    Raises
    ------
    ElevatorLabError
        When it is none; the sentence says where, what was expected, and what was found.
    """
    content = json_lines.read(file)
    if not isinstance(content, Mapping):
        raise ElevatorLabError(f"{file}:1: expected the description of a drive; found no mapping")
    left_out = misreadings(content.get(CURVE))
    try:
        return DriveRecord.model_validate(_with_bus(_without(content, left_out)))
    except ValidationError as problem:
        error = problem.errors()[0]
    line = json_lines.line_of(file, _place(error, left_out))
    raise ElevatorLabError(f"{file}:{line}: {sentence(error)}")


def misreadings(curve: Any) -> list[int]:
    """Return the positions of points that are the shortest seek's over again, if they are few.

    They lie far below both their neighbours. An extractor now and then takes the time of an arm
    that has hardly moved for that of a long seek; a curve that falls is something else.
    """
    try:
        times_ms = [float(time_ms) for _, time_ms in curve]
    except (TypeError, ValueError):
        return []  # it will be refused
    found = [
        number
        for number in range(1, len(times_ms) - 1)
        if within_noise(times_ms[0], times_ms[number])
        and all(falls(times_ms[number + side], times_ms[number]) for side in (-1, 1))
    ]
    return found if len(found) * POINTS_A_MISREADING <= len(curve) else []


def _without(content: Mapping[str, Any], left_out: list[int]) -> Mapping[str, Any]:
    if not left_out:
        return content
    curve = content[CURVE]
    points = ", ".join(f"{curve[at][1]:g} ms for {curve[at][0]} cylinders" for at in left_out)
    kept = [point for number, point in enumerate(curve) if number not in left_out]
    said = f"Left out of the seek curve, as misread: {points}."
    return _assuming({**content, CURVE: kept}, said)


def _with_bus(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a drive whose file has 0 ms a sector on the bus the time of a bus.

    DiskSim carries a sector in the longest of the drive's, the bus's and the controller's time,
    so that a drive with 0 leaves it to the bus, which is described in another file.
    """
    buffer = content.get("buffer")
    if content.get(BUS) != 0 or not isinstance(buffer, Mapping):
        return content
    known = json_lines.read(BUSES)["drives"]
    own = known.get(str(content.get("drive")).removesuffix("_validate"))
    if own:
        told, said = own, "as where DiskSim's distribution has this drive"
    else:
        told = {BUS: statistics.median(one[BUS] for one in known.values()), WATER_MARK: 0}
        said = f"the median of the {len(known)} buses at which DiskSim has such drives"
    if not {WATER_MARK, "read_water_mark"} & set(buffer):
        buffer = {**buffer, WATER_MARK: told[WATER_MARK]}
        said += f"; it sets out when {told[WATER_MARK]:.0%} of a request is read"
    filled = {**content, BUS: told[BUS], "buffer": buffer}
    return _assuming(filled, f"Not in the file: the bus, {told[BUS]:g} ms a sector, {said}.")


def _assuming(content: Mapping[str, Any], sentence: str) -> Mapping[str, Any]:
    said = content.get("assumptions", [])
    # What is no list will be refused.
    return {**content, "assumptions": [*said, sentence] if isinstance(said, list) else said}


def _place(error: Mapping[str, Any], left_out: list[int]) -> list[str | int]:
    """Return where in the file an error is: keys and positions."""
    misfit = error.get("ctx", {}).get("error")
    place = list(misfit.place if isinstance(misfit, Misfit) else error["loc"])
    if place[:1] == [CURVE] and len(place) > 1:
        for number in left_out:
            place[1] += number <= place[1]
    return place
