"""Commands about hard disks: the modelled ones, and how close they are to real ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from ..plugins.drives import DRIVES
from .base import JsonOption, app, tell

if TYPE_CHECKING:
    from ..trial.drive_records import DriveRecord

drive_app = typer.Typer(no_args_is_help=True)
app.add_typer(
    drive_app, name="drive", help="Show the modelled hard disks, or compare them with real ones."
)

DriveArgument = Annotated[
    str, typer.Argument(metavar="NAME|FILE.json", help=f"one of {', '.join(DRIVES.names())}")
]
FigureOption = Annotated[
    Path | None, typer.Option("--out", help="folder of the figure; by default below build/")
]


@drive_app.command("show")
def show(name: DriveArgument, as_json: JsonOption = False, out: FigureOption = None) -> None:
    """Show a drive: seek curve, zones, times of random reads, and the sources of the numbers."""
    from ..drives import drawing
    from ..paths import BUILD
    from ..showing.style import save
    from ..trial.drives import drive

    record = drive(name).drive
    told = drawing.as_json(record)
    if as_json:
        print(json.dumps(told, indent=1))
        return
    reads = told["random_read_ms"]
    rates = [zone["mib_s"] for zone in told["zones"]]
    print(f"{record.drive}: {record.evidence}")
    print(f"source      {record.source}")
    for field, source in record.sources.items():
        print(f"            {field}: {source}")
    _tell_assumptions(record)
    print(f"capacity    {told['capacity_bytes'] / 1e9:.2f} GB, {record.array.members} drive(s)")
    print(f"turn        {told['turn_ms']:.3f} ms, {record.surfaces} surfaces")
    curve = record.seek_curve_ms_by_cylinders
    print(
        f"seek        {curve[0].time_ms:g} ms for {curve[0].cylinders} cylinder(s), "
        f"{curve[-1].time_ms:g} ms for {curve[-1].cylinders}"
    )
    print(f"zones       {len(rates)}, {rates[0]:.1f} to {rates[-1]:.1f} MiB/s under the head")
    print("random read " + ", ".join(f"{name} {value:.2f} ms" for name, value in reads.items()))
    tell(save(drawing.figure(record), out or BUILD / "drives" / "figures", Path(name).stem))


@drive_app.command("replay")
def replay(
    name: DriveArgument,
    trace: Annotated[Path, typer.Argument(metavar="TRACE.csv", help="requests of a real drive")],
    as_json: JsonOption = False,
    out: FigureOption = None,
) -> None:
    """Replay the trace of a real drive on a modelled one; say how close the modelled times are."""
    from ..drives import drawing, replaying, traces
    from ..paths import BUILD
    from ..showing.style import save
    from ..trial.drives import drive

    device = drive(name)
    requests = traces.read(trace, device.drive)
    replayed = replaying.replay(device, requests, say=lambda text: print(text, file=sys.stderr))
    told = replayed.as_json()
    if as_json:
        _tell_assumptions(device.drive, sys.stderr)
        print(json.dumps(told))
        return
    print(f"{device.drive.drive}: {told['requests']} requests")
    print(f"mean        {told['mean_ms']:.3f} ms, of the real drive {told['real_mean_ms']:.3f} ms")
    _tell_assumptions(device.drive)
    known = device.drive.disksim_demerit_ms
    beside = f", DiskSim's {known:g} ms" if known is not None else ""
    print(f"demerit     {told['demerit_ms']:.3f} ms{beside}")
    figure = f"{Path(name).stem}-replay"
    tell(save(drawing.response_times([replayed]), out or BUILD / "drives" / "figures", figure))


@drive_app.command("replays")
def replays(out: FigureOption = None) -> None:
    """Replay every stored trace; show how close modelled drives are to real ones (docs/drives.md).

    A drive takes one to three minutes. A trace that was replayed before is not replayed again.
    """
    from ..drives import drawing, replaying, traces
    from ..paths import BUILD, DATA
    from ..showing.style import save
    from ..trial.drives import drive

    found = []
    for trace in sorted((DATA / "drives" / "traces").glob("*.csv.gz")):
        device = drive(trace.name.removesuffix(".csv.gz"))
        requests = traces.read(trace, device.drive)
        found.append(replaying.replay(device, requests, say=lambda text: print(text)))
    print(drawing.nearness(found))
    tell(save(drawing.response_times(found), out or BUILD / "drives" / "figures", "drives"))


def _tell_assumptions(record: DriveRecord, file: TextIO | None = None) -> None:
    for assumption in record.assumptions:
        print(f"assumed     {assumption}", file=file)
