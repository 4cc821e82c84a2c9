"""How short the turns of emulated processors must be for a database with eight threads.

    .venv/bin/python benchmarks/turn_lengths.py [--write]

Study 4's trial of the preset `paper` (MariaDB on four processors, host, scheduler none) with other
lengths of a turn. It prints the commits per second relative to those in turns of 200 instructions:
with one thread and with eight, with the log flushed at each commit and once a second. `--write`
stores all rows in data/multicore/turns.csv. Each of the ten trials takes one to four minutes.
"""

import argparse

import pandas as pd
from multicore import machines

from elevatorlab import studies
from elevatorlab.paths import DATA
from elevatorlab.studies import innodb_commit
from elevatorlab.trial import CommitPhase, Trial, checked

SLOTS_INSTRUCTIONS, BASELINE = (1000, 500, 200, 100, 50), 200
SEEDS = (1, 2)
#: Threads, and the setting of the flush.
PHASES = [(8, 0), (8, 1), (1, 0), (1, 1)]
CELL = ["threads", "flush_log_at_trx_commit"]


def main():
    """Measure and print; store with `--write`."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--write", action="store_true")
    given = options.parse_args()
    trials = {(slot, seed): trial(slot, seed) for slot in SLOTS_INSTRUCTIONS for seed in SEEDS}
    rows = []
    for place, found in zip(
        trials, machines.measured("deterministic", *trials.values()), strict=True
    ):
        for phase in found["phases"]:
            row = dict(zip(("slot_instructions", "seed"), place, strict=True))
            rows.append(row | {name: phase[name] for name in (*CELL, "tps")})
            print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    if given.write:
        table.to_csv(DATA / "multicore" / "turns.csv", index=False)
    mean = table.pivot_table(index=CELL, columns="slot_instructions", values="tps")
    print(mean.div(mean[BASELINE], axis=0)[list(SLOTS_INSTRUCTIONS)].round(2).to_string())


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


if __name__ == "__main__":
    main()
