"""Read the file of a drive, and fill in what the file leaves open."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import ElevatorLabError
from ..paths import DATA
from ..records import Record, sentence
from . import located_json
from .drive_records import (
    FAR,
    POINTS_A_MISREADING,
    Buffer,
    DriveRecord,
    Misfit,
    Overheads,
    SeekPoint,
    falls,
    within_noise,
)

CURVE = "seek_curve_ms_by_cylinders"
BUS = "bus_ms_per_sector"
WATER_MARK = "High (read) water mark"

#: Times on the bus for drives whose own file has none, by the drive's name.
BUSES = DATA / "drives/buses/disksim.json"

#: Parts of a file whose parameters have DiskSim's names; the model has only some of these.
DISKSIM_S: dict[str, type[Record]] = {"buffer": Buffer, "overheads_ms": Overheads}

#: Matches this project's names of parameters, and no name of DiskSim's.
OUR_NAME = re.compile("[a-z0-9_]+")

#: What messages call one item of a list.
ITEMS = {"zones": "zone", CURVE: f"{CURVE}: point"}


def read(file: Path) -> DriveRecord:
    """Read the file of a drive.

    These changes are made where the file needs them, and the record's `assumptions` name them:

    * Misread points of the seek curve are left out.
    * A time on the bus of 0 is replaced by that of the bus on which DiskSim has the drive, or else
      by the median of DiskSim's buses. The bus then also says when a read sets out, if the file
      does not.
    * A number of cylinders that is one too small for the last zone is raised by 1.
    * Parameters of DiskSim that the model does not have are left out.

    The assumptions also name the largest fall of the seek curve that is accepted.
    """
    content = located_json.read(file)
    if not isinstance(content, Mapping):
        raise ElevatorLabError(f"{file}:1: expected the description of a drive; found no mapping")
    left_out = _misreadings(content.get(CURVE))
    filled = _without(content, left_out)
    for assume in (_with_bus, _with_last_cylinder, _without_unmodelled, _naming_falls):
        filled = assume(filled)
    try:
        return DriveRecord.model_validate(filled)
    except ValidationError as problem:
        error = problem.errors()[0]
    place = _place(error, left_out)
    told = sentence({**error, "loc": [_in_words(place)]})
    raise ElevatorLabError(f"{file}:{located_json.line_of(file, place)}: {told}")


def _misreadings(curve: Any) -> list[int]:
    """Return the positions of points of a seek curve that were misread, if these are few.

    The program that extracts a curve from a drive now and then reports the time of another seek.
    A point counts as misread in two cases. Either it lies below both its neighbours, and its time
    is that of the shortest seek. Or it lies far above both its neighbours, but not above the
    longest seek. If more than one in `POINTS_A_MISREADING` points look like this, the curve itself
    is taken to fall, and no position is returned.
    """
    try:
        times_ms = [float(time_ms) for _, time_ms in curve]
    except (TypeError, ValueError):
        return []  # `DriveRecord` will refuse it
    found = [
        number
        for number in range(1, len(times_ms) - 1)
        if _is_too_short(times_ms, number) or _is_too_long(times_ms, number)
    ]
    return found if len(found) * POINTS_A_MISREADING <= len(curve) else []


def _is_too_short(times_ms: list[float], number: int) -> bool:
    own = times_ms[number]
    as_shortest = within_noise(times_ms[0], own)
    return as_shortest and all(falls(times_ms[number + side], own) for side in (-1, 1))


def _is_too_long(times_ms: list[float], number: int) -> bool:
    own = times_ms[number]
    up_to_longest = own <= times_ms[-1]
    return up_to_longest and all(falls(own, times_ms[number + side], FAR) for side in (-1, 1))


def _without(content: Mapping[str, Any], left_out: list[int]) -> Mapping[str, Any]:
    if not left_out:
        return content
    curve = content[CURVE]
    points = ", ".join(f"{curve[at][1]:g} ms for {curve[at][0]} cylinders" for at in left_out)
    kept = [point for number, point in enumerate(curve) if number not in left_out]
    said = f"Left out of the seek curve, as misread: {points}."
    return _assuming({**content, CURVE: kept}, said)


def _with_bus(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fill in the time on the bus of a drive whose file has 0 ms per sector.

    In DiskSim, a sector takes the longest of the drive's, the bus's and the controller's time. A
    drive with 0 leaves that time to the bus, which DiskSim describes in another file.
    """
    buffer = content.get("buffer")
    if content.get(BUS) != 0 or not isinstance(buffer, Mapping):
        return content
    known = located_json.read(BUSES)["drives"]
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


def _naming_falls(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Name the largest fall of the seek curve, if it is larger than the measurement's noise.

    `DriveRecord` accepts a few of them, since one reading that is too high makes the next one look
    too low.
    """
    try:
        curve = [SeekPoint(int(cylinders), float(time_ms)) for cylinders, time_ms in content[CURVE]]
    except (KeyError, TypeError, ValueError):
        return content  # `DriveRecord` will refuse it
    pairs = itertools.pairwise(curve)
    found = [(one, other) for one, other in pairs if falls(one.time_ms, other.time_ms)]
    if not found:
        return content
    before, point = max(found, key=lambda pair: pair[0].time_ms - pair[1].time_ms)
    said = (
        f"The seek curve falls at {len(found)} of {len(curve)} points. The largest fall is from "
        f"{before.time_ms:g} ms for {before.cylinders} cylinders to {point.time_ms:g} ms for "
        f"{point.cylinders}. These points were taken as measured."
    )
    return _assuming(content, said)


def _with_last_cylinder(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raise the number of cylinders by 1 if it is the number of the last one, counted from 0."""
    zones, cylinders = content.get("zones"), content.get("cylinders")
    last = zones[-1] if isinstance(zones, list) and zones else None
    if not isinstance(last, Mapping) or type(cylinders) is not int:
        return content
    if last.get("last_cylinder") != cylinders:
        return content
    said = (
        f"The file has {cylinders} cylinders, and its last zone ends at cylinder {cylinders}, "
        f"counted from 0: {cylinders + 1} were taken."
    )
    return _assuming({**content, "cylinders": cylinders + 1}, said)


def _without_unmodelled(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out, and name, the parameters of DiskSim that the model does not have."""
    kept, unmodelled = dict(content), []
    for part, record in DISKSIM_S.items():
        given = content.get(part)
        if not isinstance(given, Mapping):
            continue
        names = {name for key, field in record.model_fields.items() for name in (key, field.alias)}
        unknown = [key for key in given if key not in names and not OUR_NAME.fullmatch(key)]
        kept[part] = {key: value for key, value in given.items() if key not in unknown}
        unmodelled += [f"{key} ({given[key]!r:.20})" for key in unknown]
    if not unmodelled:
        return content
    return _assuming(kept, f"Not modelled: {', '.join(unmodelled)}.")


def _assuming(content: Mapping[str, Any], assumption: str) -> Mapping[str, Any]:
    said = content.get("assumptions", [])
    # `DriveRecord` will refuse what is no list.
    return {**content, "assumptions": [*said, assumption] if isinstance(said, list) else said}


def _place(error: Mapping[str, Any], left_out: list[int]) -> list[str | int]:
    """Return the keys and positions that lead to an error in the file."""
    misfit = error.get("ctx", {}).get("error")
    place = list(misfit.place if isinstance(misfit, Misfit) else error["loc"])
    if place[:1] == [CURVE] and len(place) > 1:
        for number in left_out:
            place[1] += number <= place[1]
    return place


def _in_words(place: list[str | int]) -> str:
    """Return the name of a field for a message; items of a list are numbered from 1."""
    match place:
        case [str(part), int(number), *field] if part in ITEMS:
            names = [SeekPoint._fields[step] if isinstance(step, int) else step for step in field]
            return ": ".join([f"{ITEMS[part]} {number + 1}", *names])
    return ".".join(str(step) for step in place)
