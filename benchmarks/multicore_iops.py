"""Schedulers from 1 to 16 jobs, a processor and a queue each: IOPS, and the figure.

    .venv/bin/python benchmarks/multicore_iops.py [--schedulers NAME-OR-FOLDER,...]
        [--jobs 1,2,4,8,16] [--slots 1000,200] [--transfers 0,100] [--csv FILE] [--figure FILE]

Random reads of 4 KiB, 16 at a time by each job, on a null_blk that takes no time, so that all there
is to measure is the block layer and its locks. Each arrangement of slot and transfer cost is a row
of its own; together they are the band within which the figure stands. The time lost to waiting is
what is missing to as many times the rate of one job. FILE of an earlier run is taken up, by default
data/multicore/iops.csv: what it has is not measured again, by the scheduler's name. So a scheduler
of one's own that has changed needs another FILE.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from multicore import machines
from multicore_truths import listed

from elevatorlab.errors import ElevatorLabError
from elevatorlab.paths import DATA
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
    options.add_argument("--slots", type=listed(int), default=[1000, 200])
    options.add_argument("--transfers", type=listed(int), default=[0, 100])
    options.add_argument("--csv", type=Path, default=DATA / "multicore" / "iops.csv")
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
    """Draw IOPS over jobs, and the time lost: a line for the first arrangement, a band for all."""
    import matplotlib.pyplot as plt

    from elevatorlab.showing.panels import log_marks, marks
    from elevatorlab.showing.style import TWO_COLUMNS, look_of, style, vectors

    every = sorted({int(row["jobs"]) for row in rows})
    with style():
        figure, (rates, losses) = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 3))
        for name in dict.fromkeys(row["scheduler"] for row in rows):
            of_jobs = {}
            for row in rows:
                if row["scheduler"] == name:
                    of_jobs.setdefault(int(row["jobs"]), []).append(row["iops"])
            jobs, measured = map(np.array, zip(*sorted(of_jobs.items()), strict=True))
            lost = 1 - measured / (jobs[:, np.newaxis] * measured[0])
            for axes, values in ((rates, measured / 1e6), (losses, 100 * lost)):
                axes.plot(jobs, values[:, 0], **look_of(name), label=name)
                band = values.min(axis=1), values.max(axis=1)
                axes.fill_between(jobs, *band, color=look_of(name)["color"], alpha=0.2, linewidth=0)
        millions = [row["iops"] / 1e6 for row in rows]
        log_marks(rates.yaxis, min(millions), max(millions))
        rates.set(ylabel="requests per second of the guest (millions)")
        losses.set(ylabel="processors' time lost to waiting (%)", ylim=(-2, 100))
        for axes in (rates, losses):
            axes.set(xscale="log", xlabel="jobs, with a processor and a queue each")
            marks(axes.xaxis, every)
        losses.legend(loc="upper left")
    file.write_bytes(vectors(figure))


if __name__ == "__main__":
    main()
