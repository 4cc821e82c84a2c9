"""The file of a drive: what it says, and what it leaves to be assumed."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .. import json_lines
from ..errors import ElevatorLabError
from ..paths import DATA
from ..records import Record, sentence
from .drive_records import (
    FAR,
    LONGEST_MS,
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
SETTLE = "write_settle_ms"
WATER_MARK = "High (read) water mark"

#: Of drives whose own file leaves the time on the bus to the bus, by name.
BUSES = DATA / "drives/buses/disksim.json"

#: Where a file has DiskSim's names of parameters, of which the model does not have all.
DISKSIM_S: dict[str, type[Record]] = {"buffer": Buffer, "overheads_ms": Overheads}

#: What a name of ours looks like, and none of DiskSim's.
OUR_NAME = re.compile("[a-z0-9_]+")

#: What one item of a list is called.
ITEMS = {"zones": "zone", CURVE: f"{CURVE}: point"}


def read(file: Path) -> DriveRecord:
    """Read the file of a drive.

    What the file leaves open, and what the model cannot do, is named among the assumptions:
    misread points of the seek curve, a bus that it does not tell, a write that shortens a seek,
    a last zone that counts one cylinder more than the drive, parameters that are not modelled.

    Raises
    ------
    ElevatorLabError
        When it is none; the sentence says where, what was expected, and what was found.
    """
    content = json_lines.read(file)
    if not isinstance(content, Mapping):
        raise ElevatorLabError(f"{file}:1: expected the description of a drive; found no mapping")
    left_out = misreadings(content.get(CURVE))
    filled = _without(content, left_out)
    for assume in (_with_bus, _settling_at_once, _with_last_cylinder, _without_unmodelled):
        filled = assume(filled)
    try:
        return DriveRecord.model_validate(filled)
    except ValidationError as problem:
        error = problem.errors()[0]
    place = _place(error, left_out)
    told = sentence({**error, "loc": [_in_words(place)]})
    raise ElevatorLabError(f"{file}:{json_lines.line_of(file, place)}: {told}")


def misreadings(curve: Any) -> list[int]:
    """Return the positions of points that are another seek's over again, if they are few.

    They lie below both their neighbours, and are the shortest seek's: an extractor now and then
    takes the time of an arm that has hardly moved for that of a long seek. Or they lie far above
    both their neighbours, and not above the longest seek's. A curve that falls is something else.
    """
    try:
        times_ms = [float(time_ms) for _, time_ms in curve]
    except (TypeError, ValueError):
        return []  # it will be refused
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


def _settling_at_once(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a drive whose writes seek faster than its reads no write settling."""
    settle = content.get(SETTLE)
    if not isinstance(settle, int | float) or not -LONGEST_MS <= settle < 0:
        return content
    said = (
        f"The file's write settling of {settle:g} ms was taken as 0: the model has no seek that a "
        "write shortens."
    )
    return _assuming({**content, SETTLE: 0}, said)


def _with_last_cylinder(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Count the last cylinder of a drive whose file gives its number as the number of them."""
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


def _in_words(place: list[str | int]) -> str:
    """Return the name of a field: of one in a list with the item's number, from 1."""
    match place:
        case [str(part), int(number), *field] if part in ITEMS:
            names = [SeekPoint._fields[step] if isinstance(step, int) else step for step in field]
            return ": ".join([f"{ITEMS[part]} {number + 1}", *names])
    return ".".join(str(step) for step in place)
