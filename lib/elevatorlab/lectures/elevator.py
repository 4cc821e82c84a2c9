"""Lecture 1: the order in which requests leave, merges, starvation and deadlines."""

import pandas as pd
from matplotlib.figure import Figure

from ..figures import COLOURS, GREY, style
from . import laboratory

SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
MIB_SECTORS = 2048

#: Where the stream of `deadlines` is, and where the far reader is.
STREAM_MIB, FAR_MIB = 32, 16

#: Requests that a scheduler may hold (``nr_requests``). The kernel gives it twice what the disk
#: takes, which would be 2 here; disks that take 32 or more have 64 and more.
ROOM = 64


def orders(schedulers=SCHEDULERS, depth=32, requests=96):
    """Return a trial for each scheduler: the same random reads, `depth` of them at a time."""
    reads = laboratory.fio("reader", rw="randread", iodepth=depth, number_ios=requests)
    return {name: _traced(name, (reads,)) for name in schedulers}


def rooms(values=(4, 8, 32)):
    """Return trials of mq-deadline with room for so many requests."""
    reads = laboratory.fio("reader", rw="randread", iodepth=32, number_ios=96)
    return {f"room for {room}": _traced("mq-deadline", (reads,), room=room) for room in values}


def merges(schedulers=SCHEDULERS):
    """Return a trial for each scheduler: 128 reads of 4 KiB, each where the last one ended."""
    reads = laboratory.fio("reader", rw="read", iodepth=32, number_ios=128)
    return {name: _traced(name, (reads,)) for name in schedulers}


def deadlines(read_expire_ms=(500, 100, 20)):
    """Return trials of mq-deadline with different deadlines, and one of none.

    A stream reads upwards, with holes, so that nothing merges; behind it a second program asks
    for one block at a time.
    """
    stream = laboratory.fio(
        "stream", rw="read:12k", iodepth=16, offset=f"{STREAM_MIB}m", **_for("900ms")
    )
    far = laboratory.fio("far", rw="randread", iodepth=1, size=f"{FAR_MIB}m", **_for("900ms"))
    trials = {"none": _traced("none", (stream, far))}
    for expire_ms in read_expire_ms:
        tunables = {"read_expire": expire_ms}
        trials[f"{expire_ms} ms"] = _traced("mq-deadline", (stream, far), tunables)
    return trials


def writes_starved(values=(1, 2, 8)):
    """Return trials of mq-deadline with different `writes_starved`: readers against writers."""
    both = tuple(
        laboratory.fio(name, rw=f"rand{name}", iodepth=16, **_for("500ms"))
        for name in ("read", "write")
    )
    return {
        f"writes_starved {value}": _traced("mq-deadline", both, {"writes_starved": value})
        for value in values
    }


def _for(runtime):
    return {"runtime": runtime, "time_based": 1}


def _traced(scheduler, workloads, tunables=None, room=ROOM):
    # None holds nothing, so that there is no room to give it.
    tunables = {} if scheduler == "none" else {"nr_requests": room, **(tunables or {})}
    return laboratory.trial(
        "elevator",
        scheduler={"name": scheduler, "tunables": tunables},
        workloads=workloads,
        trace=True,
    )


def draw_orders(ran):
    """Draw where each request was on the disk over the time at which it was issued."""
    rows = -(-len(ran) // 2)
    with style():
        figure = Figure(figsize=(8, 0.6 + 2 * rows))
        panels = list(figure.subplots(rows, 2, sharex=True, sharey=True).flat)
        for spare in panels[len(ran) :]:
            spare.remove()
        for panel, (name, one) in zip(panels, ran.items(), strict=False):
            issued = one.requests
            times_ms = (issued["issued_s"] - issued["issued_s"].min()) * 1000
            panel.plot(
                times_ms,
                issued["sector"] / MIB_SECTORS,
                "o-",
                color=COLOURS[one.trial.scheduler.name],
                ms=3,
                lw=0.6,
            )
            panel.set_title(f"{name}: {travel_mib(issued):,.0f} MiB of travel")
        figure.supxlabel("time of issue (ms after the first)", fontsize=9)
        figure.supylabel("place on the disk (MiB)", fontsize=9)
    return figure


def travel_mib(requests):
    """Return how far a head would have moved, from each request's place to the next one's."""
    return requests["sector"].diff().abs().sum() / MIB_SECTORS


def order_table(ran):
    """Return what each scheduler made of the same requests."""
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


def merge_table(ran):
    """Return how many of 128 reads of 4 KiB became how many requests."""
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


def _lasted_s(requests):
    return requests["completed_s"].max() - requests["issued_s"].min()


def draw_deadlines(ran):
    """Draw stream and far reader: place over time, one panel a trial."""
    with style():
        figure = Figure(figsize=(8, 2 + 1.3 * len(ran)))
        panels = figure.subplots(len(ran), 1, sharex=True, sharey=True)
        for panel, (name, one) in zip(panels, ran.items(), strict=True):
            far = one.requests["sector"] < STREAM_MIB * MIB_SECTORS
            for chosen, colour, label in ((~far, GREY, "stream"), (far, "#D55E00", "far reader")):
                some = one.requests[chosen]
                times_ms = 1000 * (some["issued_s"] - one.requests["issued_s"].min())
                places_mib = some["sector"] / MIB_SECTORS
                panel.plot(times_ms, places_mib, ".", color=colour, ms=4, label=label)
            title = name if name == "none" else f"mq-deadline, read_expire {name}"
            panel.set_title(f"{title}: far reader served {far.sum()} times")
        panels[1].legend(loc="lower right", ncols=2, bbox_to_anchor=(1, 0.25))
        panels[-1].set_xlabel("time of issue (ms)")
        figure.supylabel("place on the disk (MiB)", fontsize=9)
    return figure


def wait_table(ran, kinds):
    """Return how long requests of each kind waited in the scheduler.

    Parameters
    ----------
    ran : dict of str to Ran
    kinds : callable
        Requests -> the kind of each, as a Series.
    """
    rows = []
    for name, one in ran.items():
        waits_ms = 1000 * (one.requests["issued_s"] - one.requests["inserted_s"])
        for kind, some in waits_ms.groupby(kinds(one.requests)):
            longest, mean = (None, None) if some.isna().all() else (some.max(), some.mean())
            rows.append((name, kind, len(some), mean, longest))
    columns = ["trial", "kind", "requests", "mean wait (ms)", "longest wait (ms)"]
    return pd.DataFrame(rows, columns=columns).round(1).set_index(["trial", "kind"])


def by_place(requests):
    """Tell the far reader's requests from the stream's."""
    far = requests["sector"] < STREAM_MIB * MIB_SECTORS
    return far.map({True: "far reader", False: "stream"})


def by_operation(requests):
    """Tell reads from writes."""
    return requests["operation"].str[0].map({"R": "reads", "W": "writes"})
