"""Pictures of a drive, and the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..showing.style import BLUE, GREY, VERMILION, style
from ..trial.drive_records import DriveRecord, held_sectors
from .replaying import Replayed

#: Numbers of places on the drive, and of angles of the platter, that represent all of them.
PLACES, ANGLES = 400, 16

OURS, THEIRS = BLUE, VERMILION


def seek_ms(drive: DriveRecord, cylinders: NDArray[Any]) -> NDArray[np.float64]:
    """Return the seek times (ms) for distances in cylinders.

    Beyond the last point of the seek curve, its last line goes on.
    """
    curve = np.array(drive.seek_curve_ms_by_cylinders, float)
    found = np.interp(cylinders, curve[:, 0], curve[:, 1])
    if len(curve) > 1:
        (before, before_ms), (last, last_ms) = curve[-2:]
        beyond = last_ms + (cylinders - last) * (last_ms - before_ms) / (last - before)
        found = np.where(cylinders > last, beyond, found)
    return np.asarray(np.where(cylinders == 0, 0.0, found), float)


def random_read_ms(drive: DriveRecord) -> NDArray[np.float64]:
    """Return sorted service times (ms) of reads of 4 KiB at random places, without queue or buffer.

    The places are evenly spread over the drive, and each is combined with each. The angles of the
    platter are evenly spread, too. So the quantiles are those of all reads, not of a sample.
    """
    place = _cylinders(drive, (np.arange(PLACES) + 0.5) / PLACES)
    distance = np.abs(place[:, None] - place[None, :])
    turn_ms = 60_000 / drive.rotation_rpm
    rotation = turn_ms * (np.arange(ANGLES) + 0.5) / ANGLES
    zones = drive.zones
    at = np.searchsorted([zone.last_cylinder for zone in zones], place)
    sector_ms = turn_ms / np.array([zone.sectors_per_track for zone in zones])[at]
    bus_ms = drive.bus_ms_per_sector
    # The slower of platter and bus takes its time for all eight sectors, the other for one.
    pass_ms = np.maximum(sector_ms + 8 * bus_ms, 8 * sector_ms + bus_ms)
    fixed = drive.overheads_ms.read_miss_after_read + drive.overheads_ms.read_completion
    service = seek_ms(drive, distance) + pass_ms[None, :] + fixed
    return np.asarray(np.sort((service[:, :, None] + rotation).ravel()), float)


def _cylinders(drive: DriveRecord, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cylinder at which each share of the drive's sectors ends."""
    held = np.cumsum([held_sectors(drive, zone) for zone in drive.zones])
    edges = np.concatenate([[0], held]) / held[-1]
    zone = np.clip(np.searchsorted(edges, shares, "right") - 1, 0, len(drive.zones) - 1)
    first = np.array([one.first_cylinder for one in drive.zones])[zone]
    cylinders = np.array([one.last_cylinder - one.first_cylinder + 1 for one in drive.zones])[zone]
    within = (shares - edges[zone]) / (edges[zone + 1] - edges[zone])
    return np.asarray(np.floor(first + within * cylinders), float)


def zone_mib_s(drive: DriveRecord) -> list[float]:
    """Return the rate (MiB/s) under the head in each zone."""
    turns_s = drive.rotation_rpm / 60
    return [zone.sectors_per_track * 512 / 2**20 * turns_s for zone in drive.zones]


def as_json(drive: DriveRecord) -> dict[str, Any]:
    """Return a drive's properties, as `elevatorlab drive show --json` prints them."""
    turn_ms = 60_000 / drive.rotation_rpm
    times_ms = random_read_ms(drive)
    quantiles = (0.05, 0.25, 0.5, 0.75, 0.95)
    return {
        "drive": drive.drive,
        "evidence": drive.evidence,
        "source": drive.source,
        "sources": drive.sources,
        "assumptions": list(drive.assumptions),
        "capacity_bytes": drive.capacity_sectors * 512,
        "members": drive.array.members,
        "turn_ms": turn_ms,
        "seek_curve_ms_by_cylinders": [list(point) for point in drive.seek_curve_ms_by_cylinders],
        "zones": [
            {
                "first_cylinder": zone.first_cylinder,
                "last_cylinder": zone.last_cylinder,
                "sectors_per_track": zone.sectors_per_track,
                "mib_s": rate,
            }
            for zone, rate in zip(drive.zones, zone_mib_s(drive), strict=True)
        ],
        "random_read_ms": {
            "mean": float(times_ms.mean()),
            **{f"{quantile:.0%}": float(np.quantile(times_ms, quantile)) for quantile in quantiles},
        },
    }


def figure(drive: DriveRecord) -> Figure:
    """Draw a drive: its seek curve, its zones, and the service times of random reads."""
    with style():
        drawn, (curve, zones, times) = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
        _draw_curve(curve, drive)
        _draw_zones(zones, drive)
        _draw_times(times, drive)
        drawn.suptitle(f"{drive.drive} ({drive.evidence})")
    return drawn


def _draw_curve(axes: Axes, drive: DriveRecord) -> None:
    points = np.array(drive.seek_curve_ms_by_cylinders, float)
    axes.plot(points[:, 0], points[:, 1], color=OURS)
    axes.set(title="Seek", xlabel="distance (cylinders)", ylabel="time (ms)", ylim=0)


def _draw_zones(axes: Axes, drive: DriveRecord) -> None:
    edges = [zone.first_cylinder for zone in drive.zones] + [drive.zones[-1].last_cylinder + 1]
    axes.stairs(zone_mib_s(drive), edges, color=OURS, linewidth=1.4)
    axes.set(
        title="Zones", xlabel="cylinder, from the rim", ylabel="under the head (MiB/s)", ylim=0
    )


def _draw_times(axes: Axes, drive: DriveRecord) -> None:
    times_ms = random_read_ms(drive)
    axes.hist(times_ms, bins=60, density=True, color=OURS)
    axes.axvline(times_ms.mean(), color=GREY, linestyle=":")
    axes.set(title="Random reads of 4 KiB", xlabel="service time (ms)", yticks=[])


def response_times(replayed: Sequence[Replayed]) -> Figure:
    """Draw the cumulative distributions of response time of real and modelled drives."""
    columns = min(3, len(replayed))
    rows = -(-len(replayed) // columns)
    size = (1.0 + 2.0 * columns, 0.4 + 2.0 * rows)
    with style():
        drawn, grid = plt.subplots(
            rows, columns, figsize=size, layout="constrained", sharey=True, squeeze=False
        )
        for axes, one in zip(grid.flat, replayed, strict=False):
            _draw_responses(axes, one)
        grid[0, 0].legend(loc="lower right")
        for axes in grid[-1]:
            axes.set_xlabel("response time (ms)")
        for axes in grid[:, 0]:
            axes.set_ylabel("share of requests (ratio)")
    return drawn


def _draw_responses(axes: Axes, replayed: Replayed) -> None:
    figures = replayed.as_json()
    modelled, real = replayed.compared_ms
    if len(real):
        apart = f"{figures['demerit_ms']:.3f} ms apart, mean {figures['real_mean_ms']:.2f} ms"
    else:  # the trace tells no response times
        modelled, apart = replayed.response_ms, f"mean {figures['mean_ms']:.2f} ms"
    for times_ms, label, colour, line in (
        (real, "the real drive", THEIRS, "-"),
        (modelled, "the modelled drive", OURS, "--"),
    ):
        if len(times_ms):
            share = np.arange(1, len(times_ms) + 1) / len(times_ms)
            axes.plot(np.sort(times_ms), share, line, color=colour, label=label)
    longest_ms = float((real if len(real) else modelled).quantile(0.999))
    axes.set(ylim=(0, 1), xlim=(0, longest_ms))
    name = replayed.drive.drive.drive
    axes.set_title(f"{name.replace('_', ' ')}\n{apart}")
