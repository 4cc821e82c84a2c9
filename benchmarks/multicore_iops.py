"""Schedulers from 1 to 16 jobs, a processor and a queue each: IOPS, and the figure.

    .venv/bin/python benchmarks/multicore_iops.py [--schedulers NAME-OR-FOLDER,...]
        [--jobs 1,2,4,8,16] [--slots 1000] [--transfers 0,100] [--csv FILE] [--figure FILE]

Random reads of 4 KiB, 16 at a time by each job, on a null_blk
that takes no time, so that all there is to measure is the block layer and its locks. Each
arrangement of slot and transfer cost is a column of its own; together they are the band within
which the figure stands. FILE of an earlier run is taken up: what it has is not measured again, by
the scheduler's name. So a scheduler of one's own that has changed needs another FILE.
"""

import argparse
import csv
from pathlib import Path

from multicore import machines
from multicore_truths import listed

from elevatorlab.errors import ElevatorLabError
from elevatorlab.plugins import scheduler_folders
from elevatorlab.plugins.schedulers import SCHEDULERS as KNOWN

#: The kernel's own.
SCHEDULERS = ("none", "kyber", "mq-deadline", "bfq")
FIELDS = ("scheduler", "jobs", "slot", "transfer", "iops")


def main():
    """Measure what the file does not have yet; print and draw all of it."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--schedulers", type=listed(scheduler), default=SCHEDULERS)
    options.add_argument("--jobs", type=listed(int), default=[1, 2, 4, 8, 16])
    options.add_argument("--slots", type=listed(int), default=[1000])
    options.add_argument("--transfers", type=listed(int), default=[0, 100])
    options.add_argument("--csv", type=Path, default=Path("multicore-iops.csv"))
    options.add_argument("--figure", type=Path)
    given = options.parse_args()
    rows = {key(row): row for row in read(given.csv)}
    for slot in given.slots:
        for transfer in given.transfers:
            for jobs in given.jobs:
                wanted = [(name, jobs, slot, transfer) for name in given.schedulers]
                missing = [one for one in wanted if one not in rows]
                rows |= {key(row): row for row in measured(missing)}
                write(given.csv, rows.values())
                print(*(f"{rows[one]['scheduler']} {rows[one]['iops']:.0f}" for one in wanted))
    if given.figure:
        draw(list(rows.values()), given.figure)


def scheduler(given):
    """Return the name of a known scheduler, or of the one in a folder, which is registered."""
    if given in KNOWN:
        return given
    try:
        return scheduler_folders.register(given).name
    except ElevatorLabError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def measured(missing):
    """Yield a row for each; all of them are of one machine."""
    if not missing:
        return
    _, jobs, slot, transfer = missing[0]
    trials = [machines.many_jobs(name, jobs) for name, *_ in missing]
    where = machines.address(jobs, slot, transfer)
    print(f"{where}:", end=" ", flush=True)
    for one, found in zip(missing, machines.measured(where, *trials), strict=True):
        yield dict(zip(FIELDS, (*one, found["read"]["iops"]), strict=True))


def key(row):
    """Return what tells a row from others."""
    return row["scheduler"], *(int(row[name]) for name in FIELDS[1:4])


def read(file):
    """Return the rows of an earlier run."""
    if not file.exists():
        return []
    with file.open(newline="") as content:
        return [{**row, "iops": float(row["iops"])} for row in csv.DictReader(content)]


def write(file, rows):
    """Keep all rows."""
    with file.open("w", newline="") as content:
        out = csv.DictWriter(content, FIELDS, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def draw(rows, file):
    """Draw IOPS over jobs: a line of the first arrangement, a band of all of them."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for name in dict.fromkeys(row["scheduler"] for row in rows):
        of_jobs = {}
        for row in rows:
            if row["scheduler"] == name:
                of_jobs.setdefault(int(row["jobs"]), []).append(row["iops"] / 1e6)
        jobs, rates = zip(*sorted(of_jobs.items()), strict=True)
        (line,) = axes.plot(jobs, [some[0] for some in rates], marker="o", label=name)
        lows, highs = map(min, rates), map(max, rates)
        axes.fill_between(jobs, [*lows], [*highs], color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set(xscale="log", yscale="log", xlabel="jobs, a processor and a queue each")
    axes.set_ylabel("million requests a second of the guest")
    every = sorted({int(row["jobs"]) for row in rows})
    axes.set_xticks(every, [str(number) for number in every])
    axes.minorticks_off()
    axes.legend()
    figure.savefig(file, dpi=150)


if __name__ == "__main__":
    main()
