"""Measure what each mechanism reaches at its best (study 3's experiment `frontier`).

    .venv/bin/python benchmarks/frontier.py [--minutes 150]

Each setting of each mechanism runs under each load with one seed. A setting goes on to the next
seed, up to five, while no other setting of its mechanism beats it there. The setting that suits all
loads best goes on under each of them. All this takes some hours of two cores. `--minutes`: no trial
starts later than that. What is finished is kept in the user's cache, and in an archive in
data/frontier, from which any machine goes on with the same command. Once no setting is left, the
table is written there, and the archive goes.
"""

import argparse
import time
from dataclasses import replace

import pandas as pd
from options import positive

from elevatorlab import cache, testbeds
from elevatorlab.paths import PROJECT
from elevatorlab.results import unfinished
from elevatorlab.running import jobs
from elevatorlab.studies.container_isolation.measures import CELL, cells_of, for_all_loads, points

STUDY = "container_isolation"
PLACE = PROJECT / "data/frontier"
ARCHIVE = PLACE / f"{STUDY}.unfinished.tar.xz"
#: No time of the writing: the same results make the same bytes.
COMPRESSION = {"method": "gzip", "compresslevel": 9, "mtime": 0}
#: A setting is beaten by one that misses no more seconds and gives more than this many times its
#: rate. Half of all settings have a rate that another seed moves by less than 0.5 %.
CLEARLY = 1.05
#: A setting that misses more of a trial's five seconds goes on only if none misses fewer.
MOST_MISSED_S = 2.5


def main():
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--minutes", type=positive)
    ends_s = time.monotonic() + 60 * (reader.parse_args().minutes or float("inf"))
    testbed = testbeds.get("deterministic")
    results = cache.work_folder("reference", f"frontier-{testbed.identity()[:12]}")
    job = jobs.prepare(STUDY, "paper", {"experiments": ("frontier",)}, [testbed], results)
    print(f"{unfinished.take_up(ARCHIVE, results, testbed)} results taken up from {ARCHIVE}")
    while (ahead := next_trials(job)) and (left_s := ends_s - time.monotonic()) > 0:
        (share,) = job.shares
        a_seed = replace(job, shares=(replace(share, trials=ahead),))
        jobs.run_in_turn([a_seed], minutes=left_s / 60)
    if ahead:
        kept = unfinished.keep(ARCHIVE, results, testbed, job.trials)
        print(f"{kept} results kept in {ARCHIVE}")
    else:
        file = PLACE / f"{STUDY}.csv.gz"
        job.table().to_csv(file, index=False, compression=COMPRESSION)
        ARCHIVE.unlink(missing_ok=True)
        print(f"{file} written")


def next_trials(job):
    """Return the trials with which to go on: all of the first seed, then one of each cell in play.

    A cell that was beaten comes back when further seeds show that the one that beat it misses more.
    """
    todo = [trial for _, trial in job.plan().todo]
    if first := [trial for trial in todo if trial.repetition == 1]:
        return first
    found = points(job.table())
    cells = cells_of(found)
    of_a_mechanism = cells.groupby(["load", "disk", "mechanism"])
    unbeaten = {tuple(cell) for _, few in of_a_mechanism for cell in few[in_play(few)][CELL].values}
    best = for_all_loads(found)
    best = best[best["missed_s"] <= MOST_MISSED_S * found["load"].nunique()]
    unbeaten |= {tuple(cell) for cell in cells.merge(best[CELL[1:]])[CELL].values}
    ahead = {}
    for trial in sorted(todo, key=lambda one: one.repetition):
        cell = tuple(trial.labels[name] for name in CELL)
        if cell in unbeaten:
            ahead.setdefault(cell, trial)
    return list(ahead.values())


def in_play(settings):
    """Say which settings of one mechanism under one load no other one beats."""
    missed_s, mb_s = settings["missed_s"], settings["offenders_mb_s"]
    beaten = [
        ((missed_s <= one.missed_s) & (mb_s > CLEARLY * one.offenders_mb_s)).any()
        for one in settings.itertuples()
    ]
    return ~pd.Series(beaten, settings.index) & (missed_s <= max(MOST_MISSED_S, missed_s.min()))


if __name__ == "__main__":
    main()
