"""Measure what each mechanism reaches at its best (study 3's experiment `frontier`).

    .venv/bin/python benchmarks/frontier.py [--minutes 150]

Each setting of each mechanism runs under each load with one seed. On the study's disk, a setting
goes on to the next seed, up to five, while no other setting of its mechanism beats it there. The
setting that suits all loads best goes on under each of them; on two further disks, it alone has a
second seed. All this takes some hours of two cores. `--minutes`: no trial starts later than that.
What is finished is kept in the user's cache, and in an archive in data/frontier, from which any
machine goes on with the same command. Once no setting is left, the table is written there, and the
archive goes. A trial that fails is named, and its row is missing.
"""

import argparse
import time
from dataclasses import replace

import pandas as pd
from options import positive

from elevatorlab import cache, testbeds
from elevatorlab.errors import TrialFailed
from elevatorlab.paths import PROJECT
from elevatorlab.results import unfinished
from elevatorlab.running import jobs
from elevatorlab.studies.container_isolation.measures import (
    CELL,
    MOST_MISSED,
    STUDY_DISK,
    cells_of,
    points,
    protecting,
)

STUDY = "container_isolation"
POLICIES = ("slae", "guard", "share")
PLACE = PROJECT / "data/frontier"
ARCHIVE = PLACE / f"{STUDY}.unfinished.tar.xz"
#: No time of the writing: the same results make the same bytes.
COMPRESSION = {"method": "gzip", "compresslevel": 9, "mtime": 0}
#: What runs beside the preset's settings: io.cost with other bounds of its rate, among them the
#: kernel's own, and other latency targets; and two more disks. Without a buffer, the same server is
#: a little slower. A drive with an arm does some 70 writes a second, so its limits, times and SLA
#: have another size: as on the study's disk, the SLA is about 1.5 times the wait without offenders
#: (44 ms).
FURTHER = (
    {
        "frontier_mechanisms": ("io_cost",),
        "frontier_total_weights": (26, 34),
        "frontier_vrates": ((80, 100), (1, 10_000)),
        "frontier_waits_ms": (2.5, 5, 10),
    },
    {
        "frontier_mechanisms": ("io_cost",),
        "frontier_total_weights": (40, 48, 60),
        "frontier_vrates": ((80, 100),),
        "frontier_waits_ms": (2.5,),
    },
    {
        "frontier_disks": ("single_server",),
        "frontier_mechanisms": ("alone", "none", "io_max", "io_cost", "io_class", *POLICIES),
        "frontier_limits_kb_s": (400, 800, *range(1000, 1601, 200), 2000),
        "frontier_total_weights": (20, 26, 34),
        "frontier_vrates": ((85, 85), (100, 100)),
        "frontier_agings_ms": (60, 100, 200, 10_000),
        "frontier_repetitions": 2,
    },
    {
        "frontier_disks": (),
        "frontier_drives": ("hp-c3323a",),
        "sla_wait_ms": 65,
        "frontier_mechanisms": ("alone", "none", "io_max", "io_class", *POLICIES),
        "frontier_limits_kb_s": (50, 100, 200, 400, 600, 800),
        "frontier_agings_ms": (100, 400, 1000, 10_000),
        "frontier_repetitions": 2,
    },
)
#: A setting is beaten by one that misses no more seconds and gives more than this many times its
#: rate. Half of all settings have a rate that another seed moves by less than 0.5 %.
CLEARLY = 1.05


def main():
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--minutes", type=positive)
    ends_s = time.monotonic() + 60 * (reader.parse_args().minutes or float("inf"))
    testbed = testbeds.get("deterministic")
    results = cache.work_folder("reference", f"frontier-{testbed.identity()[:12]}")
    job = whole(testbed, results)
    print(f"{unfinished.take_up(ARCHIVE, results, testbed)} results taken up from {ARCHIVE}")
    failed = set()
    while (ahead := next_trials(job, failed)) and (left_s := ends_s - time.monotonic()) > 0:
        (share,) = job.shares
        a_seed = replace(job, shares=(replace(share, trials=ahead),))
        try:
            jobs.run_in_turn([a_seed], minutes=left_s / 60)
        except TrialFailed as failure:
            print(failure)
            if time.monotonic() < ends_s:  # else others may not have begun
                failed |= {trial.hash for _, trial in a_seed.plan().todo}
    if ahead:
        kept = unfinished.keep(ARCHIVE, results, testbed, job.trials)
        print(f"{kept} results kept in {ARCHIVE}")
    else:
        file = PLACE / f"{STUDY}.csv.gz"
        table_of(job).to_csv(file, index=False, compression=COMPRESSION)
        ARCHIVE.unlink(missing_ok=True)
        print(f"{file} written")


def whole(testbed, results):
    """Return one job with the trials of the preset, and those of `FURTHER`."""
    job, *others = (
        jobs.prepare(STUDY, "paper", {"experiments": ("frontier",), **given}, [testbed], results)
        for given in ({}, *FURTHER)
    )
    (share,) = job.shares
    trials = [*share.trials, *(trial for other in others for trial in other.trials)]
    return replace(job, shares=(replace(share, trials=trials),))


def table_of(job):
    """Return the table of a job's finished trials, without others that the folder has."""
    table = job.table()
    return table[table["trial"].isin([trial.hash for trial in job.trials])]


def next_trials(job, failed):
    """Return the trials with which to go on: all of the first seed, then one of each cell in play.

    `failed`: The trials that are not to be tried again.

    A cell that was beaten comes back when further seeds show that the one that beat it misses more.
    """
    todo = [trial for _, trial in job.plan().todo if trial.hash not in failed]
    if first := [trial for trial in todo if trial.repetition == 1]:
        return first
    found = points(table_of(job))
    cells = cells_of(found)
    playing = cells.merge(protecting(found)[CELL[1:]])
    for _, few in cells[cells["disk"] == STUDY_DISK].groupby(["load", "mechanism"]):
        playing = pd.concat([playing, few[in_play(few)]])
    wanted = {tuple(cell) for cell in playing[CELL].values}
    ahead = {}
    for trial in sorted(todo, key=lambda one: one.repetition):
        cell = tuple(trial.labels[name] for name in CELL)
        if cell in wanted:
            ahead.setdefault(cell, trial)
    return list(ahead.values())


def in_play(settings):
    """Say which settings of one mechanism under one load no other one beats."""
    missed_s, mb_s = settings["missed_s"], settings["offenders_mb_s"]
    beaten = [
        ((missed_s <= one.missed_s) & (mb_s > CLEARLY * one.offenders_mb_s)).any()
        for one in settings.itertuples()
    ]
    return ~pd.Series(beaten, settings.index) & (missed_s <= MOST_MISSED * settings["judged_s"])


if __name__ == "__main__":
    main()
