"""The record of a drive, with its fields, their bounds, and checks that they fit together."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from ..records import Record

#: Noise of a measured seek curve, in ms and as a ratio of the time. A fall by more than both
#: bounds is no noise.
NOISE_MS, NOISE_RATIO = 0.25, 0.05

#: A difference of more than this many times the noise is real, however badly a curve was measured.
FAR = 3

#: At most one in this many points of a seek curve may be a misreading.
POINTS_A_MISREADING = 20

#: Most zones, and most points of a seek curve: more would not fit into the module's argument.
LARGEST_ZONES, LARGEST_CURVE = 512, 2048

#: Bounds of the numbers that the driver multiplies by one another. Within the bounds no product
#: exceeds 64 bits, and every drive that was ever built lies within them.
LONGEST_MS, FEWEST_RPM, MOST_RPM = 10_000, 6, 1_000_000
MOST_SECTORS, MOST_CYLINDERS, MOST_SURFACES = 2**36, 2**24, 256
MOST_SECTORS_A_TRACK = 2**16


def _number(value: object) -> object:
    """Refuse `true` and text, which pydantic would convert to a number."""
    if isinstance(value, bool | str):
        raise PydanticCustomError("number", "expected a number")
    return value


_IsNumber = BeforeValidator(_number)
_Sectors = Annotated[int, Field(ge=0, le=MOST_SECTORS), _IsNumber]
_SomeSectors = Annotated[int, Field(ge=1, le=MOST_SECTORS), _IsNumber]
_Cylinder = Annotated[int, Field(ge=0, le=MOST_CYLINDERS), _IsNumber]
_Cylinders = Annotated[int, Field(ge=1, le=MOST_CYLINDERS), _IsNumber]
_Segments = Annotated[int, Field(ge=1, le=65536), _IsNumber]
_Skew = Annotated[float, Field(ge=0, allow_inf_nan=False), _IsNumber]
_Ms = Annotated[float, Field(ge=0, le=LONGEST_MS, allow_inf_nan=False), _IsNumber]
_SignedMs = Annotated[float, Field(ge=-LONGEST_MS, le=LONGEST_MS, allow_inf_nan=False), _IsNumber]


def _on(value: object) -> object:
    """Take DiskSim's settings -1 and 2 of a switch for on: the model has no finer settings."""
    return True if value in (-1, 2) else value


_Switch = Annotated[bool, BeforeValidator(_on)]


class _Aliased(Record):
    """Base of records whose fields have DiskSim's names in files, and our own in trials."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Zone(Record):
    """Cylinders whose tracks have the same number of sectors."""

    first_cylinder: _Cylinder
    last_cylinder: _Cylinder
    sectors_per_track: Annotated[int, Field(ge=1, le=MOST_SECTORS_A_TRACK), _IsNumber]
    #: Angle of the zone's first sector, in sectors.
    offset_of_first_sector: _Skew = 0
    #: Angle by which the first sector of the next track lies later, in sectors: on the same
    #: cylinder, and on the next cylinder.
    track_skew_sectors: _Skew = 0
    cylinder_skew_sectors: _Skew = 0
    #: Sectors of the zone that no sector number addresses.
    spare_sectors: _Sectors = 0


class Overheads(_Aliased):
    """Overheads in ms of the drive's electronics, by the kinds of two successive requests."""

    read_hit_after_read: _Ms = Field(0, alias="Read hit over. after read")
    read_hit_after_write: _Ms = Field(0, alias="Read hit over. after write")
    read_miss_after_read: _Ms = Field(0, alias="Read miss over. after read")
    read_miss_after_write: _Ms = Field(0, alias="Read miss over. after write")
    write_hit_after_read: _Ms = Field(0, alias="Write hit over. after read")
    write_hit_after_write: _Ms = Field(0, alias="Write hit over. after write")
    write_miss_after_read: _Ms = Field(0, alias="Write miss over. after read")
    write_miss_after_write: _Ms = Field(0, alias="Write miss over. after write")
    read_completion: _Ms = Field(0, alias="Read completion overhead")
    write_completion: _Ms = Field(0, alias="Write completion overhead")
    #: The disconnects end before the arm has arrived, so they add nothing to a request's time.
    read_disconnect_after_read: _Ms = Field(0, alias="Read disconnect afterread")
    read_disconnect_after_write: _Ms = Field(0, alias="Read disconnect afterwrite")
    write_disconnect: _Ms = Field(0, alias="Write disconnect overhead")
    data_preparation: _Ms = Field(0, alias="Data preparation overhead")
    first_reselect: _Ms = Field(0, alias="First reselect overhead")
    #: Not used: the model's bus waits if the buffer runs empty within a request.
    other_reselect: _Ms = Field(0, alias="Other reselect overhead")


class Buffer(_Aliased):
    """The drive's memory; `continuous_read` and `fast_write` are DiskSim's numbers."""

    segments: _Segments = Field(alias="Number of buffer segments")
    segment_sectors: _SomeSectors = Field(alias="Segment size (in blks)")
    write_segments: _Segments = Field(1, alias="Maximum number of write segments")
    caching: _Switch = Field(True, alias="Enable caching in buffer")
    #: How far the drive reads ahead. 0: not at all. 1: to the end of the track. 2: to the end of
    #: the cylinder. 3: until the segment is full. 4: to the end of the track, or of the next track
    #: if a stream has crossed into this one.
    continuous_read: Annotated[int, Field(ge=0, le=4)] = Field(0, alias="Buffer continuous read")
    read_ahead_sectors: _Sectors = Field(0, alias="Maximum read-ahead (blks)")
    read_ahead_over_requested: _Switch = Field(False, alias="Read-ahead over requested")
    #: 0: a write completes when it is on the platter. 1, 2: one sequential stream of writes
    #: completes in the buffer, and everything else waits until that stream is on the platter. 3,
    #: which DiskSim does not have: writes complete in the buffer while it has room, and reads
    #: overtake them.
    fast_write: Annotated[int, Field(ge=0, le=3)] = Field(0, alias="Fast write level")
    immediate_read: Annotated[int, Field(ge=0, le=2)] = Field(0, alias="Immediate buffer read")
    immediate_write: Annotated[int, Field(ge=0, le=2)] = Field(0, alias="Immediate buffer write")
    read_hits_on_written: bool = Field(True, alias="Allow read hits on write data")
    read_water_mark: Annotated[float, Field(ge=0, le=1)] = Field(0, alias="High (read) water mark")
    #: The model always behaves as if this field and the next three were true.
    combine_writes: bool = Field(True, alias="Combine seq writes")
    write_stops_read_ahead: bool = Field(True, alias="Write hit stop prefetch")
    read_directly: bool = Field(True, alias="Read directly to buffer")
    transfers_partial_hit: bool = Field(True, alias="Immed transfer partial hit")
    #: The model always behaves as if this field were false.
    sneaky_hits: bool = Field(False, alias="Allow sneaky full read hits")


class Queue(Record):
    """The queue inside the drive."""

    depth: Annotated[int, Field(ge=1, le=32)] = 1
    order: Literal["in_order", "shortest_positioning_time"] = "in_order"


class Array(Record):
    """`members` striped drives, each with an arm and a buffer of its own, as described."""

    members: Annotated[int, Field(ge=1, le=64)] = 1
    stripe_sectors: _Sectors = 0


class SeekPoint(NamedTuple):
    """A point of the seek curve: the time that the arm takes for a distance."""

    cylinders: _Cylinders
    time_ms: Annotated[float, Field(gt=0, le=LONGEST_MS, allow_inf_nan=False), _IsNumber]


class Misfit(ValueError):
    """Parts of a drive that do not fit together."""

    def __init__(self, place: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.place = place


class DriveRecord(Record):
    """A drive: lengths in sectors of 512 bytes, times in ms."""

    #: The drive's name, and where the numbers come from.
    drive: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    #: Whether the numbers were measured on a real drive.
    evidence: Literal["measured", "data sheet, not measured"] = "measured"
    #: Where numbers come from that are not from `source`, by their fields.
    sources: dict[str, str] = {}
    #: What had to be assumed, one sentence for each assumption.
    assumptions: tuple[str, ...] = ()
    sector_bytes: Literal[512] = 512
    surfaces: Annotated[int, Field(ge=1, le=MOST_SURFACES), _IsNumber]
    cylinders: _Cylinders
    sectors: _SomeSectors
    rotation_rpm: Annotated[float, Field(ge=FEWEST_RPM, le=MOST_RPM), _IsNumber]
    head_switch_ms: _Ms
    #: Time that a write adds to a seek or a head switch. If it is negative, a write's seek is
    #: shorter than a read's, and at least 0.
    write_settle_ms: _SignedMs
    #: 0: every cylinder begins at the first head. 1: a cylinder begins at the head at which the one
    #: before ended, and a zone at the first head. 2: likewise, but odd cylinders always run from
    #: the last head to the first.
    layout_mapping: Annotated[int, Field(ge=0, le=2)] = 0
    zones: Annotated[tuple[Zone, ...], Field(min_length=1, max_length=LARGEST_ZONES)]
    #: Seek time in ms by distance. The time is linear between the points, and beyond the last.
    seek_curve_ms_by_cylinders: Annotated[
        tuple[SeekPoint, ...], Field(min_length=1, max_length=LARGEST_CURVE)
    ]
    overheads_ms: Overheads
    bus_ms_per_sector: _Ms
    buffer: Buffer
    queue: Queue = Queue()
    array: Array = Array()
    #: Whether writes in the buffer are lost with the power, so that a flush takes time.
    volatile_write_cache: bool = True
    #: DiskSim's own demerit figure for the drive's trace.
    disksim_demerit_ms: _Ms | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> DriveRecord:
        for misfit in _misfits(self):
            raise misfit
        return self

    @property
    def capacity_sectors(self) -> int:
        """Capacity of the disk. Each drive of an array is used up to its last whole stripe."""
        array = self.array
        unused = self.sectors % array.stripe_sectors if array.members > 1 else 0
        return (self.sectors - unused) * array.members


def held_sectors(drive: DriveRecord, zone: Zone) -> int:
    """Return how many sectors the tracks of a zone hold, without the zone's spare sectors."""
    cylinders = zone.last_cylinder - zone.first_cylinder + 1
    return cylinders * drive.surfaces * zone.sectors_per_track - zone.spare_sectors


def _misfits(drive: DriveRecord) -> Iterator[Misfit]:
    before = -1
    for number, zone in enumerate(drive.zones):
        for key, message in _zone_misfits(drive, zone, before):
            yield Misfit(("zones", number, key), f"zone {number + 1}: {message}")
        before = zone.last_cylinder
    held = sum(held_sectors(drive, zone) for zone in drive.zones)
    if drive.sectors > held:
        yield Misfit(
            ("sectors",),
            f"sectors: expected at most the {held} that the zones hold; found {drive.sectors}",
        )
    for number, message in _curve_misfits(drive.seek_curve_ms_by_cylinders):
        yield Misfit(("seek_curve_ms_by_cylinders", number), f"seek curve: {message}")
    if drive.array.members > 1 and not 0 < drive.array.stripe_sectors <= drive.sectors:
        yield Misfit(
            ("array", "stripe_sectors"),
            "array: expected stripes of 1 sector to the drive's size; "
            f"found {drive.array.stripe_sectors}",
        )


def _zone_misfits(drive: DriveRecord, zone: Zone, before: int) -> Iterator[tuple[str, str]]:
    if zone.first_cylinder <= before:
        yield (
            "first_cylinder",
            f"expected to begin behind cylinder {before}, where the zone before it ends; "
            f"found cylinder {zone.first_cylinder}: they overlap",
        )
    if not zone.first_cylinder <= zone.last_cylinder < drive.cylinders:
        yield (
            "last_cylinder",
            f"expected to end at cylinder {zone.first_cylinder} to {drive.cylinders - 1}; "
            f"found {zone.last_cylinder}",
        )
    elif held_sectors(drive, zone) <= 0:
        yield "spare_sectors", f"expected fewer than it holds; found {zone.spare_sectors}"
    for key in ("offset_of_first_sector", "track_skew_sectors", "cylinder_skew_sectors"):
        if (found := getattr(zone, key)) >= zone.sectors_per_track:
            yield (
                key,
                f"{key}: expected less than a track, which has {zone.sectors_per_track} sectors; "
                f"found {found:g}",
            )


def _curve_misfits(curve: tuple[SeekPoint, ...]) -> Iterator[tuple[int, str]]:
    for number, point in enumerate(curve[1:], start=1):
        before = curve[number - 1]
        if point.cylinders <= before.cylinders:
            yield (
                number,
                f"expected a longer distance than the {before.cylinders} cylinders before; "
                f"found {point.cylinders}",
            )
    for number, higher in fallen(curve):
        yield (
            number,
            f"expected it not to fall; found {curve[number].time_ms:g} ms for "
            f"{curve[number].cylinders} cylinders after {higher.time_ms:g} ms for "
            f"{higher.cylinders}",
        )


def fallen(curve: tuple[SeekPoint, ...]) -> Iterator[tuple[int, SeekPoint]]:
    """Yield the position of each point that lies too low, with an earlier point that shows this.

    A point lies too low if it is far (`FAR`) below the highest point before it. It also lies too
    low if it is below the earlier points by more than the noise. In a curve of many points, this
    second comparison skips one in `POINTS_A_MISREADING` of the points, the highest ones, since a
    few readings that are too high do not make the rest of a curve fall.
    """
    too_high = len(curve) // POINTS_A_MISREADING
    ranked = [curve[0]]
    for number, point in enumerate(curve[1:], start=1):
        highest, level = ranked[-1], ranked[max(0, len(ranked) - 1 - too_high)]
        if falls(highest.time_ms, point.time_ms, FAR):
            yield number, highest
        elif falls(level.time_ms, point.time_ms):
            yield number, level
        insort(ranked, point, key=lambda one: one.time_ms)


def falls(from_ms: float, to_ms: float, times: float = 1) -> bool:
    """Tell whether a seek curve falls by more than `times` the noise of its measurement."""
    return from_ms > to_ms and not within_noise(from_ms, to_ms, times)


def within_noise(time_ms: float, other_ms: float, times: float = 1) -> bool:
    """Tell whether two seek times differ by at most `times` the noise of their measurement."""
    return abs(time_ms - other_ms) <= times * max(NOISE_MS, NOISE_RATIO * time_ms)
