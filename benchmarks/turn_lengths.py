"""How short the turns of emulated processors must be for a database with eight threads.

    .venv/bin/python benchmarks/turn_lengths.py [--slots 1000,500,200,100,50] [--seeds 2]

Study 4's trial of the preset `paper` (MariaDB on four processors, host, scheduler none) with other
lengths of a turn. For each, it prints the commits per second relative to those in turns of the
first length: with one thread and with eight, with the log flushed at each commit and once a second.
All rows go to data/multicore/turns.csv. A trial takes one to five minutes.
"""

import argparse
import json

import pandas as pd
from multicore_truths import listed

from elevatorlab import studies, testbeds
from elevatorlab.paths import DATA
from elevatorlab.studies import innodb_commit
from elevatorlab.trial import CommitPhase, Trial, checked

PLACE = DATA / "multicore" / "turns.csv"
#: Threads, and the setting of the flush.
PHASES = [(8, 0), (8, 1), (1, 0), (1, 1)]
CELL = ["threads", "flush_log_at_trx_commit"]


def main():
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--slots", type=listed(int), default=[1000, 500, 200, 100, 50])
    options.add_argument("--seeds", type=int, default=2)
    given = options.parse_args()
    testbed = testbeds.get("deterministic", say=print)
    trials = {
        (slot, seed): trial(slot, seed)
        for slot in given.slots
        for seed in range(1, given.seeds + 1)
    }
    testbed.prepare(list(trials.values()))
    rows = [
        {"slot_instructions": slot, "seed": seed, **row}
        for (slot, seed), one in trials.items()
        for row in measured(testbed, one)
    ]
    table = pd.DataFrame(rows)
    table.to_csv(PLACE, index=False)
    mean = table.pivot_table(index=CELL, columns="slot_instructions", values="tps")[given.slots]
    print(mean.div(mean[given.slots[0]], axis=0).round(2).to_string())


def trial(slot, seed):
    """Return study 4's trial with this length of a turn."""
    parameters = studies.parameters(innodb_commit, "paper", {"slots_instructions": [slot]})
    usual = next(
        one
        for one in innodb_commit.trials(parameters)
        if (one.scheduler.name, one.labels["experiment"]) == ("none", "table")
        and one.device.kind != "drive"
    )
    phases = tuple(
        CommitPhase(threads=threads, flush_log_at_trx_commit=flush, warm_up_s=0.05, duration_s=0.2)
        for threads, flush in PHASES
    )
    (inserts,) = usual.workloads
    changed = {"workloads": [inserts.model_copy(update={"phases": phases})], "seed": seed}
    return checked(Trial, {**dict(usual), **changed}, "trial")


def measured(testbed, one):
    """Yield the commits per second of each phase of a trial."""
    result = json.loads(testbed.run(one).files["result.json"])
    for phase in result["workloads"]["inserts"]["phases"]:
        print({name: phase[name] for name in (*CELL, "tps")}, one.rounds, flush=True)
        yield {name: phase[name] for name in (*CELL, "tps")}


if __name__ == "__main__":
    main()
