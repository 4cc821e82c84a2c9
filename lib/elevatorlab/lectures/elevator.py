"""Lecture 1: the order in which requests leave, merges, starvation and deadlines."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ..plugins.schedulers import OF_THE_KERNEL, room_for
from ..showing.style import COLOURS, GREY, VERMILION, style
from ..showing.travel import MIB_SECTORS, draw_places, travel_mib
from ..trial import Trial
from . import experiments
from .experiments import FinishedTrial

#: In `deadlines`, the stream begins at the first place; the far reader reads below the second.
STREAM_MIB, FAR_MIB = 32, 16

#: How many requests a scheduler may hold (``nr_requests``). By default, the kernel allows twice the
#: disk's queue depth. That would be 2 here; disks with a depth of 32 or more have 64 or more.
ROOM = 64


def orders(
    schedulers: Sequence[str] = OF_THE_KERNEL, depth: int = 32, requests: int = 96
) -> dict[str, Trial]:
    """Return a trial for each scheduler: the same random reads, `depth` of them at a time."""
    reads = experiments.fio("reader", rw="randread", iodepth=depth, number_ios=requests)
    return {name: _traced(name, (reads,)) for name in schedulers}


def rooms(values: Sequence[int] = (4, 8, 32)) -> dict[str, Trial]:
    """Return a trial of mq-deadline for each number of requests that it may hold."""
    reads = experiments.fio("reader", rw="randread", iodepth=32, number_ios=96)
    return {f"room for {room}": _traced("mq-deadline", (reads,), room=room) for room in values}


def merges(schedulers: Sequence[str] = OF_THE_KERNEL) -> dict[str, Trial]:
    """Return a trial for each scheduler: 128 reads of 4 KiB, each where the last one ended."""
    reads = experiments.fio("reader", rw="read", iodepth=32, number_ios=128)
    return {name: _traced(name, (reads,)) for name in schedulers}


def deadlines(read_expire_ms: Sequence[int] = (500, 100, 20)) -> dict[str, Trial]:
    """Return trials of mq-deadline with different deadlines, and a trial of the scheduler none.

    A stream reads upwards, and leaves gaps so that no requests merge. A second program, the far
    reader, reads one block at a time, at places below the stream's.
    """
    stream = experiments.fio(
        "stream", rw="read:12k", iodepth=16, offset=f"{STREAM_MIB}m", **_for("900ms")
    )
    far = experiments.fio("far", rw="randread", iodepth=1, size=f"{FAR_MIB}m", **_for("900ms"))
    trials = {"none": _traced("none", (stream, far))}
    for expire_ms in read_expire_ms:
        tunables = {"read_expire": expire_ms}
        trials[f"{expire_ms} ms"] = _traced("mq-deadline", (stream, far), tunables)
    return trials


def writes_starved(values: Sequence[int] = (1, 2, 8)) -> dict[str, Trial]:
    """Return trials of mq-deadline with different `writes_starved`: readers against writers."""
    both = tuple(
        experiments.fio(name, rw=f"rand{name}", iodepth=16, **_for("500ms"))
        for name in ("read", "write")
    )
    return {
        f"writes_starved {value}": _traced("mq-deadline", both, {"writes_starved": value})
        for value in values
    }


def _for(runtime: str) -> dict[str, Any]:
    return {"runtime": runtime, "time_based": 1}


def _traced(
    scheduler: str,
    workloads: Sequence[Mapping[str, Any]],
    tunables: Mapping[str, int] | None = None,
    room: int = ROOM,
) -> Trial:
    return experiments.trial(
        "elevator",
        scheduler={
            "name": scheduler,
            "tunables": {**room_for(scheduler, room), **(tunables or {})},
        },
        workloads=workloads,
        trace=True,
    )


def draw_orders(ran: Mapping[str, FinishedTrial]) -> Figure:
    """Draw the place of each request over time, at its insert and at its dispatch."""
    traced = {name: one.requests for name, one in ran.items()}
    colours = {name: COLOURS[one.trial.scheduler.name] for name, one in ran.items()}
    return draw_places(traced, colours)


def order_table(ran: Mapping[str, FinishedTrial]) -> pd.DataFrame:
    """Return the number, direction and travel of each trial's requests."""
    rows = {}
    for name, one in ran.items():
        found, events = one.requests, one.events["event"]
        rows[name] = {
            "requests": len(found),
            "given to a scheduler": int((events == "rq_insert").sum()),
            "moves upwards (%)": round(100 * (found["sector"].diff().dropna() > 0).mean()),
            "travel (MiB)": round(travel_mib(found)),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def merge_table(ran: Mapping[str, FinishedTrial]) -> pd.DataFrame:
    """Return how many requests each trial's reads became."""
    rows = {}
    for name, one in ran.items():
        events, sizes_kib = one.events["event"].value_counts(), one.requests["bytes"] / 1024
        rows[name] = {
            "merges": int(events.filter(like="merge").sum()),
            "requests issued": len(sizes_kib),
            "mean size (KiB)": round(sizes_kib.mean(), 1),
            "largest (KiB)": int(sizes_kib.max()),
            "all done after (ms)": round(1000 * _lasted_s(one.requests), 1),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _lasted_s(requests: pd.DataFrame) -> float:
    return float(requests["completed_s"].max() - requests["issued_s"].min())


def draw_deadlines(ran: Mapping[str, FinishedTrial]) -> Figure:
    """Draw the places of the stream and of the far reader over time, one panel per trial."""
    with style():
        figure = Figure(figsize=(8, 2 + 1.3 * len(ran)))
        panels = figure.subplots(len(ran), 1, sharex=True, sharey=True)
        for panel, (name, one) in zip(panels, ran.items(), strict=True):
            of = by_place(one.requests)
            for label, colour in (("stream", GREY), ("far reader", VERMILION)):
                some = one.requests[of == label]
                times_ms = 1000 * (some["issued_s"] - one.requests["issued_s"].min())
                places_mib = some["sector"] / MIB_SECTORS
                panel.plot(times_ms, places_mib, ".", color=colour, ms=4, label=label)
            title = name if name == "none" else f"mq-deadline, read_expire {name}"
            panel.set_title(f"{title}: far reader served {len(some)} times")
        panels[1].legend(loc="lower right", ncols=2, bbox_to_anchor=(1, 0.25))
        panels[-1].set_xlabel("time of issue (ms)")
        figure.supylabel("place on the disk (MiB)", fontsize=9)
    return figure


def wait_table(
    ran: Mapping[str, FinishedTrial], kinds: Callable[[pd.DataFrame], pd.Series]
) -> pd.DataFrame:
    """Return the waits in the scheduler, and the times from issue to end, by trial and kind.

    `kinds`: Takes a table of requests; returns the kind of each request, as a Series.
    """
    rows = []
    for name, one in ran.items():
        found = one.requests
        waits_ms = 1000 * (found["issued_s"] - found["inserted_s"])
        served_ms = 1000 * (found["completed_s"] - found["issued_s"])
        for kind, some in waits_ms.groupby(kinds(found)):
            served = served_ms[some.index].mean()
            rows.append((name, kind, len(some), some.mean(), some.max(), served))
    columns = ["trial", "kind", "requests", "mean wait (ms)", "longest wait (ms)"]
    columns += ["issue to end (ms)"]
    return pd.DataFrame(rows, columns=columns).round(1).set_index(["trial", "kind"])


#: Why `wait_table` has empty cells.
NO_WAIT = (
    "no scheduler holds a request under none. It goes to the driver at once, and all of its time "
    "is between issue and end. A request that finds no room there waits in its own program."
)


def by_place(requests: pd.DataFrame) -> pd.Series:
    """Tell the far reader's requests from the stream's."""
    far = requests["sector"] < STREAM_MIB * MIB_SECTORS
    return far.map({True: "far reader", False: "stream"})


def by_operation(requests: pd.DataFrame) -> pd.Series:
    """Tell reads from writes."""
    return requests["operation"].str[0].map({"R": "reads", "W": "writes"})
