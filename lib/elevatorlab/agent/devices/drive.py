"""A disk with an arm: the block device of the module elevatorlab-drive (environments/kernel/drive).

The module takes the drive as whole numbers: lengths in sectors, times in nanoseconds, skews in
thousandths of a sector.
"""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

from ..errors import AgentError
from .modules import load_module, loaded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..lifecycle.context import Context

MODULE = "elevatorlab-drive"
NAME = "drive0"
BLOCK = pathlib.Path("/sys/class/block")

#: Of `struct drive_description` (model.h), which begins with it.
FORMAT = 1

ORDERS = ("in_order", "shortest_positioning_time")


def numbers(drive: Mapping[str, Any]) -> list[int]:
    """Return a drive as the module takes it: `struct drive_description`, zones, seek curve.

    The trial describes it as `elevatorlab.trial.drive_records.DriveRecord` does.
    """
    zones, curve = drive["zones"], drive["seek_curve_ms_by_cylinders"]
    buffer, queue, array = drive["buffer"], drive["queue"], drive["array"]
    overheads = drive["overheads_ms"]
    return [
        FORMAT,
        drive["sectors"],
        drive["surfaces"],
        drive["layout_mapping"],
        round(60e9 / drive["rotation_rpm"]),
        _ns(drive["head_switch_ms"]),
        _ns(drive["write_settle_ms"]),
        _ns(drive["bus_ms_per_sector"]),
        _thousandths(buffer["read_water_mark"]),
        *(
            _ns(overheads[f"{asked}_{found}_after_{before}"])
            for asked in ("read", "write")
            for found in ("hit", "miss")
            for before in ("read", "write")
        ),
        _ns(overheads["read_completion"]),
        _ns(overheads["write_completion"]),
        _ns(overheads["data_preparation"]),
        _ns(overheads["first_reselect"]),
        buffer["segments"],
        buffer["segment_sectors"],
        buffer["write_segments"],
        int(buffer["caching"]),
        buffer["continuous_read"],
        buffer["read_ahead_sectors"],
        int(buffer["read_ahead_over_requested"]),
        int(buffer["read_hits_on_written"]),
        buffer["immediate_read"],
        buffer["immediate_write"],
        buffer["fast_write"],
        int(drive["volatile_write_cache"]),
        queue["depth"],
        ORDERS.index(queue["order"]),
        array["members"],
        array["stripe_sectors"],
        len(zones),
        len(curve),
        *(number for zone in _mapped(drive) for number in zone),
        *(number for cylinders, time_ms in curve for number in (cylinders, _ns(time_ms))),
    ]


def _mapped(drive: Mapping[str, Any]) -> list[list[int]]:
    """Return the zones with the sectors that each holds.

    What the zones have beyond the drive's sectors is spare: each zone has its share of it.
    """
    held = [
        (zone["last_cylinder"] - zone["first_cylinder"] + 1)
        * drive["surfaces"]
        * zone["sectors_per_track"]
        - zone["spare_sectors"]
        for zone in drive["zones"]
    ]
    mapped, first, until = [], 0, 0
    for zone, own in zip(drive["zones"], held):
        until += own
        end = until * drive["sectors"] // sum(held)
        mapped.append(
            [
                first,
                end - first,
                zone["first_cylinder"],
                zone["last_cylinder"] - zone["first_cylinder"] + 1,
                zone["sectors_per_track"],
                _thousandths(zone["offset_of_first_sector"]),
                _thousandths(zone["track_skew_sectors"]),
                _thousandths(zone["cylinder_skew_sectors"]),
            ]
        )
        first = end
    return mapped


def _ns(time_ms: float) -> int:
    return round(time_ms * 1e6)


def _thousandths(number: float) -> int:
    return round(number * 1000)


def create(device: Mapping[str, Any], context: Context) -> str:
    """Load the module, which makes the disk, and return the disk's kernel name."""
    if loaded(MODULE):
        raise AgentError(
            f"expected the module {MODULE} not to be loaded: it makes one disk; found it. "
            f"Unload it: rmmod {MODULE}"
        )
    drive = device["drive"]
    described = ",".join(map(str, numbers(drive)))
    load_module(MODULE, f"description={described}", journal=context.journal)
    folder = BLOCK / NAME
    proofs = context.proofs
    proofs.compare(folder / "size", capacity_sectors(drive), _read(folder / "size"))
    proofs.compare(folder / "queue/rotational", 1, _read(folder / "queue/rotational"))
    caches = drive["buffer"]["fast_write"] and drive["volatile_write_cache"]
    cache = "write back" if caches else "write through"
    proofs.compare(folder / "queue/write_cache", cache, _read(folder / "queue/write_cache"))
    return NAME


def capacity_sectors(drive: Mapping[str, Any]) -> int:
    """Return how much the disk holds; of an array's drives, whole stripes."""
    array = drive["array"]
    unused = drive["sectors"] % array["stripe_sectors"] if array["members"] > 1 else 0
    held: int = (drive["sectors"] - unused) * array["members"]
    return held


def _read(file: pathlib.Path) -> str:
    return file.read_text().strip()
