"""A block trace as the workload of trials, on any testbed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ElevatorLabError
from ..plugins.drives import DRIVES
from ..plugins.profiles import PROFILES
from ..plugins.schedulers import room_for
from ..results import reading, replays, store
from ..running import estimate, jobs
from ..running.campaign import Share, plan
from ..testbeds.base import Testbed
from ..trial import DeviceModel, Disk, FileBacked, Trial, checked
from ..trial.disks import simulated
from . import block_traces
from .block_traces import Trace

STUDY = "trace"

#: The name of the workload, and of its group.
REPLAY, GROUP = "replay", "main"

#: Size of a disk that is made for the trial, unless somebody names another.
SIZE_MIB = 256

#: Requests that a scheduler may hold on a simulated disk. By default the kernel allows two on a
#: disk that takes one at a time: too few to choose among.
ROOM = 256

#: Memory of the deterministic machine, beside a disk that lives in it.
MEMORY_MIB = 512

#: Time for which a trial waits per request, on average, before it is stopped.
PATIENCE_S = 0.5


@dataclass(frozen=True)
class TraceReplay:
    """A trace, and the trials that replay it: one for each scheduler and repetition."""

    #: What of the trace is replayed, and what is not.
    trace: Trace
    #: The trials, and the testbed.
    share: Share
    #: Folder of the results.
    results: Path

    def announcement(self, workers: int | None = None) -> str:
        """Say in a line which trials are to run, and how long that will take."""
        cost = estimate.sentence([self.share], self.results, workers)
        return f"{plan([self.share], self.results)}; {cost}"

    def measure(self, workers: int | None = None) -> pd.DataFrame:
        """Run the trials that are not finished yet; return the table of all (`results.replays`).

        `workers`: How many trials may run at the same time; by default as many as the testbed
        allows.
        """
        jobs.run_shares([self.share], self.results, workers)
        place = store.folder(self.results, self.share.testbed)
        return replays.table(reading.read(place / one.hash) for one in self.share.trials)


def prepare(
    file: str | Path,
    testbed: Testbed,
    schedulers: Sequence[str] = ("none",),
    disk: str | None = None,
    size_mib: int | None = None,
    destroy: bool = False,
    format: str | None = None,
    device: str | None = None,
    requests: int | None = None,
    fast: bool = False,
    fold: bool = False,
    in_flight: int = 256,
    repetitions: int = 1,
    results: str | Path | None = None,
) -> TraceReplay:
    """Return the trials that replay a trace; nothing starts yet.

    Parameters
    ----------
    file : path
        The trace, in one of `block_traces.FORMATS`.
    testbed : Testbed
        Where the trials run (`elevatorlab.testbeds.get`).
    schedulers : sequence of str
        There is a trial for each.
    disk : str, optional
        A profile (``sata_ssd``), a drive or the file of one (``barracuda``, ``./mine.json``),
        ``file_backed``, or the id of a disk of the machine. By default ``sata_ssd`` on the
        deterministic testbed, and ``file_backed`` on others.
    size_mib : int, optional
        Size of the disk in MiB, or of its used part: the trace's addresses are fitted to it. By
        default 256, or a drive's own size. A disk of the machine needs it.
    destroy : bool
        Whether everything on a disk of the machine may be lost.
    format, device, requests, fast, fold
        See `block_traces.load`. With `fast`, requests are sent as fast as the disk answers.
    in_flight : int
        How many requests may be under way, 1 to 256.
    repetitions : int
        How often each trial is run.
    results : path, optional
        Folder of the results; by default one below ``build/`` for each image or machine.

    Raises
    ------
    ElevatorLabError
        If the trace cannot be read, with the line and the reason; if no disk can be made of what
        was given.
    """
    for name, number in (("size-mib", size_mib), ("repetitions", repetitions)):
        if number is not None and number < 1:
            raise ElevatorLabError(f"--{name}: expected at least 1; found {number}")
    file = Path(file)
    usual_disk = "sata_ssd" if testbed.anywhere else "file_backed"
    chosen = _device(disk or usual_disk, size_mib, destroy)
    if testbed.anywhere and isinstance(chosen, Disk):
        raise ElevatorLabError(
            f"--disk: expected one of {', '.join(PROFILES.names())}, a drive "
            f"({', '.join(DRIVES.names())}) or the file of one (./mine.json); found {disk!r}. A "
            "disk by its id is one of a real machine: --testbed host"
        )
    used_mib = chosen.capacity_mib or size_mib
    if used_mib is None:
        raise ElevatorLabError(
            "--size-mib: expected how much of the disk the trace may use, in MiB; found nothing"
        )
    trace = block_traces.load(file, used_mib * 2048, format, device, requests, fast, fold)
    replay = trace.workload(REPLAY, GROUP, in_flight)
    common = {
        **{"study": STUDY, "preset": "quick", "device": chosen, "workloads": (replay,)},
        "labels": {"trace": file.name, "addresses": trace.addresses},
        **_arm(testbed),
        **{"memory_mib": MEMORY_MIB + chosen.memory_mib, "filesystem": None, "settle_s": 0},
        "sample_interval_ms": 1000,
        "deadline_s": 60 + PATIENCE_S * len(replay.requests) + replay.duration_s,
    }
    trials = [
        checked(
            Trial,
            {**common, "scheduler": scheduler, "seed": number, "repetition": number},
            "trial",
        )
        for number in range(1, repetitions + 1)
        for scheduler in _schedulers(schedulers, testbed)
    ]
    place = Path(results) if results else store.default_results(testbed, "traces")
    return TraceReplay(trace, Share(testbed, trials), place)


def _schedulers(names: Sequence[str], testbed: Testbed) -> list[dict[str, Any]]:
    return [
        {"name": name, "tunables": room_for(name, ROOM) if testbed.anywhere else {}}
        for name in dict.fromkeys(names)
    ]


def _device(name: str, size_mib: int | None, destroy: bool) -> DeviceModel:
    if name == "file_backed":
        return FileBacked(size_mib=size_mib or SIZE_MIB)
    if name in PROFILES:
        return simulated(name, size_mib or SIZE_MIB)
    if name in DRIVES or name.endswith(".json") or "/" in name:
        # All of a drive: the parts of one are counted from its rim.
        return simulated(name, size_mib or 1 << 40)
    return checked(Disk, {"id": name, "destroy": destroy}, "disk")


def _arm(testbed: Testbed) -> dict[str, Any]:
    """Return in what the requests' process runs: what the testbed offers first."""
    arm = testbed.defaults.get("arms", ("host",))[0]
    return {
        "machine": "virtual_machine" if arm == "vm" else "host",
        "groups": ({"name": GROUP, "isolation": "container" if arm == "container" else "process"},),
    }
