"""Commands about hard disks: the modelled ones, and how close they are to real ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from ..plugins import testbeds
from ..plugins.drives import DRIVES
from .base import JsonOption, ResultsOption, WorkersOption, app, tell

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


TraceArgument = Annotated[Path, typer.Argument(metavar="TRACE", help="requests of a real drive")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        help="elevatorlab, blktrace, blkparse, fio, msr, spc or alibaba; by default found out"
    ),
]
DeviceOption = Annotated[
    str | None, typer.Option(help="which device, if the trace has several, as named there")
]
RequestsOption = Annotated[
    int | None,
    typer.Option(help="how many from the beginning, at most", show_default="10000; all"),
]


@app.command("replay")
def replay_in_trials(
    trace: TraceArgument,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(help="a scheduler's name, by default none; may be repeated"),
    ] = None,
    disk: Annotated[
        str | None,
        typer.Option(
            help="a profile, a drive or FILE.json, file_backed, or the id of a disk of the "
            "machine; by default sata_ssd, on real machines file_backed"
        ),
    ] = None,
    size_mib: Annotated[
        int | None, typer.Option(min=1, help="its size; by default 256, or the drive's own")
    ] = None,
    destroy: Annotated[
        bool, typer.Option("--destroy", help="everything on the machine's disk may be lost")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="as fast as the disk answers, not as it came")
    ] = False,
    in_flight: Annotated[
        int, typer.Option(min=1, max=256, help="how many requests may be under way")
    ] = 256,
    fold: Annotated[
        bool, typer.Option("--fold", help="fold addresses to the disk's size; do not scale them")
    ] = False,
    format: FormatOption = None,
    device: DeviceOption = None,
    requests: RequestsOption = None,
    repetitions: Annotated[int, typer.Option(min=1, help="how often each trial is run")] = 1,
    testbed: Annotated[
        str, typer.Option(help=f"one of {', '.join(testbeds.forms())}")
    ] = testbeds.DEFAULT,
    results: ResultsOption = None,
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a block trace as the workload of trials on any testbed; print their table as CSV.

    docs/drives.md has the formats of traces and the columns of the table.
    """
    from .. import testbeds as known
    from ..drives import block_traces, trace_trials

    chosen = trace_trials.prepare(
        trace,
        known.get(testbed, say=lambda text: print(text, file=sys.stderr)),
        scheduler or ["none"],
        disk=disk,
        size_mib=size_mib,
        destroy=destroy,
        format=format,
        device=device,
        requests=requests,
        fast=fast,
        fold=fold,
        in_flight=in_flight,
        repetitions=repetitions,
        results=results,
    )
    for what, said in chosen.trace.said(block_traces.AS_IT_CAME).items():
        print(f"{what:11} {said}", file=sys.stderr)
    print(chosen.announcement(workers), file=sys.stderr)
    table = chosen.measure(workers)
    print(
        table.to_json(orient="records", indent=1) if as_json else table.to_csv(index=False),
        end="" if not as_json else "\n",
    )


@drive_app.command("replay")
def replay(
    name: DriveArgument,
    trace: TraceArgument,
    format: FormatOption = None,
    device: DeviceOption = None,
    requests: RequestsOption = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="leave out the times in which the device was idle")
    ] = False,
    as_json: JsonOption = False,
    out: FigureOption = None,
) -> None:
    """Replay the trace of a real drive on a modelled one; say how close the modelled times are.

    docs/drives.md has the formats of traces.
    """
    from ..drives import block_traces, drawing, replaying
    from ..paths import BUILD
    from ..showing.style import save
    from ..trial.drives import drive

    model = drive(name)
    sectors = model.drive.capacity_sectors
    read = block_traces.load(trace, sectors, format, device, requests, fast)
    replayed = replaying.replay(model, read.requests, say=lambda text: print(text, file=sys.stderr))
    told = replayed.as_json() | {"trace": read.as_json()}
    told["kinds"] = replayed.kinds.to_dict("records")
    if as_json:
        _tell_assumptions(model.drive, sys.stderr)
        print(json.dumps(told))
        return
    print(f"{model.drive.drive}: {told['requests']} requests")
    for what, said in read.said(block_traces.SERIALLY).items():
        print(f"{what:11} {said}")
    _tell_times(told, model.drive)
    if told["compared"]:
        print(replayed.kinds.round(3).to_string(index=False))
    figure = f"{Path(name).stem}-replay"
    tell(save(drawing.response_times([replayed]), out or BUILD / "drives" / "figures", figure))


@drive_app.command("replays")
def replays(out: FigureOption = None) -> None:
    """Replay every stored trace; show how close modelled drives are to real ones (docs/drives.md).

    A drive takes one to three minutes. A trace that was replayed before is not replayed again.
    """
    import pandas as pd

    from ..drives import drawing, replaying, traces
    from ..paths import BUILD, DATA
    from ..showing.style import save
    from ..trial.drives import drive

    found = []
    for trace in sorted((DATA / "drives" / "traces").glob("*.csv.gz")):
        device = drive(trace.name.removesuffix(".csv.gz"))
        requests = traces.read(trace, device.drive.capacity_sectors)
        found.append(replaying.replay(device, requests, say=lambda text: print(text)))
    kinds = pd.concat([one.kinds.assign(drive=one.drive.profile) for one in found])
    print(replaying.nearness(found), replaying.nearness_by_kind(kinds), sep="\n\n")
    folder = out or BUILD / "drives" / "figures"
    tell(save(drawing.response_times(found), folder, "drives"))
    kinds.to_csv(folder / "kinds.csv", index=False)
    tell({"kinds": folder / "kinds.csv"})


def _tell_times(told: dict[str, Any], record: DriveRecord) -> None:
    if not told["compared"]:
        print(f"mean        {told['mean_ms']:.3f} ms; the trace tells no response times")
        _tell_assumptions(record)
        return
    if told["compared"] < told["requests"]:
        print(f"compared    {told['compared']} requests, whose real response time is known")
    print(
        f"mean        {told['compared_mean_ms']:.3f} ms, "
        f"of the real drive {told['real_mean_ms']:.3f} ms"
    )
    _tell_assumptions(record)
    # DiskSim's figure is of the trace that was recorded on this drive.
    known = record.disksim_demerit_ms if told["trace"]["format"] == "elevatorlab" else None
    beside = f", DiskSim's {known:g} ms" if known is not None else ""
    print(f"demerit     {told['demerit_ms']:.3f} ms{beside}")


def _tell_assumptions(record: DriveRecord, file: TextIO | None = None) -> None:
    for assumption in record.assumptions:
        print(f"assumed     {assumption}", file=file)
