"""Measure what each mechanism reaches at its best (study 3's experiment `frontier`).

    .venv/bin/python benchmarks/frontier.py [--minutes 150]

All loads, settings and seeds take some hours of two cores. `--minutes`: no trial starts later than
that. What is finished is kept in the user's cache, and in an archive in data/frontier, from which
any machine goes on with the same command. Once all is there, the table is written there, and the
archive goes.
"""

import argparse

from options import positive

from elevatorlab import cache, testbeds
from elevatorlab.paths import PROJECT
from elevatorlab.results import unfinished
from elevatorlab.running import jobs

STUDY = "container_isolation"
PLACE = PROJECT / "data/frontier"
ARCHIVE = PLACE / f"{STUDY}.unfinished.tar.xz"
#: No time of the writing: the same results make the same bytes.
COMPRESSION = {"method": "gzip", "compresslevel": 9, "mtime": 0}


def main():
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--minutes", type=positive)
    minutes = reader.parse_args().minutes
    testbed = testbeds.get("deterministic")
    results = cache.work_folder("reference", f"frontier-{testbed.identity()[:12]}")
    job = jobs.prepare(STUDY, "paper", {"experiments": ("frontier",)}, [testbed], results)
    print(f"{unfinished.take_up(ARCHIVE, results, testbed)} results taken up from {ARCHIVE}")
    finished = jobs.run_in_turn([job], minutes=minutes)
    kept = unfinished.keep(ARCHIVE, results, testbed, job.trials)
    if kept:
        print(f"{kept} results kept in {ARCHIVE}")
    if finished:
        file = PLACE / f"{STUDY}.csv.gz"
        job.table().to_csv(file, index=False, compression=COMPRESSION)
        print(f"{file} written")


if __name__ == "__main__":
    main()
