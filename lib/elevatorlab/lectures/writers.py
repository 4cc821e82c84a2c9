"""Lecture 2: who reads and writes, and when; the page cache before the scheduler."""

from collections.abc import Mapping, Sequence
from typing import Literal

import pandas as pd
from matplotlib.figure import Figure

from ..analysis.intervals import ratio_interval
from ..judging.matching import runs
from ..plugins import studies
from ..results.store import load
from ..showing.style import COLOURS, GREY, style
from ..trial import EndlessWrite, TimedReads, Trial, profile
from . import experiments
from .experiments import FinishedTrial

SIZES_MIB = (4, 8, 16)

#: The test of study 1 in which files of growing size are read during an endless write.
TEST = "writes_starving_reads"


def cats(
    cache: Literal["warm", "dropped"],
    schedulers: Sequence[str] = ("none", "bfq"),
    direct_writer: bool = False,
) -> dict[str, Trial]:
    """Return a trial for each scheduler: ``cat`` of three files beside an endless ``dd``.

    `cache`: ``warm``: the files are in the page cache; ``dropped``: they are not.
    """
    workloads = (
        EndlessWrite(name="dd", group="main", direct=direct_writer),
        TimedReads(name="cat", group="main", sizes_mib=SIZES_MIB, cache=cache),
    )
    return {
        name: experiments.trial(
            "writers",
            memory_mib=768,
            device=profile("sata_ssd", 192, slowdown=4),
            filesystem="ext4",
            scheduler={"name": name},
            workloads=workloads,
            settle_s=0.4,  # write-back has begun by then
            trace=True,
        )
        for name in schedulers
    }


def read_table(ran: Mapping[str, FinishedTrial]) -> pd.DataFrame:
    """Return the time of each ``cat``, and how many of its bytes came from the disk."""
    rows = [
        {
            "trial": name,
            "file (MiB)": read["size_mib"],
            "time (ms)": round(read["time_ns"] / 1e6, 1),
            "from the disk (MiB)": round(read["storage_read_bytes"] / 2**20, 1),
        }
        for name, one in ran.items()
        for read in one.result["workloads"]["cat"]["reads"]
    ]
    return pd.DataFrame(rows).set_index(["trial", "file (MiB)"])


def who_table(ran: Mapping[str, FinishedTrial]) -> pd.DataFrame:
    """Return how much each process sent to the block layer, by trial, and reads or writes."""
    tables = []
    for name, one in ran.items():
        kinds = one.requests["operation"].str[0].map({"R": "reads", "W": "writes"})
        some = one.requests.assign(trial=name, kind=kinds.fillna("flushes"))
        # The name of a kworker thread changes with what it happens to serve.
        some["process"] = some["process"].str.replace(r"^kworker.*", "kworker", regex=True)
        tables.append(some)
    grouped = pd.concat(tables).groupby(["trial", "kind", "process"])["bytes"]
    table = pd.DataFrame(grouped.agg(requests="size", total="sum"))
    table["MiB"] = (table.pop("total") / 2**20).round(1)
    return table


def draw_traffic(ran: Mapping[str, FinishedTrial]) -> Figure:
    """Draw the rates at which each trial's disk read and wrote over time, in MiB/s."""
    with style():
        figure = Figure(figsize=(8, 1.2 + 1.3 * len(ran)))
        panels = figure.subplots(len(ran), 1, sharex=True, squeeze=False)[:, 0]
        for panel, (name, one) in zip(panels, ran.items(), strict=True):
            disk = one.samples[one.samples["target"] == "device"]
            times_ms = disk["time_s"] * 1000
            panel.step(
                times_ms, disk["write_kib_s"] / 1024, color=GREY, where="pre", label="writes"
            )
            panel.step(
                times_ms,
                disk["read_kib_s"] / 1024,
                color=COLOURS[one.trial.scheduler.name],
                where="pre",
                label="reads",
            )
            panel.set_title(name)
            panel.legend(loc="upper right", ncols=2)
        panels[-1].set_xlabel("time (ms)")
        figure.supylabel("MiB/s", fontsize=9)
    return figure


def study_one() -> pd.DataFrame:
    """Return study 1's first test: the time with each scheduler over that with the scheduler none.

    Of the stored reference, only the run on the default machine counts. As in the study's figure, a
    ratio is one of total times of all files, paired by repetition.
    """
    study = studies.get("vm_vs_container")
    article, rerun = study.published().assign(repetition=0), runs(load(study.NAME))[0].rows
    article = article[(article["test"] == TEST) & (article["arm"] == "container")]
    rerun = rerun[(rerun["test"] == TEST) & (rerun["arm"] == "container")]
    ratios = {("article", "container"): _to_none(article)}
    for variant, some in rerun.groupby("variant"):
        ratios["rerun", str(variant)] = _to_none(some)
    return pd.DataFrame(ratios).round(2)


def _to_none(rows: pd.DataFrame) -> dict[str, float]:
    totals = rows.groupby(["repetition", "scheduler"])["time_s"].sum().unstack()
    return {str(name): ratio_interval(totals[name], totals["none"]).value for name in totals}
