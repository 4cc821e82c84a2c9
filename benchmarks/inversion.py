"""How a limit on one container's writes makes everybody wait: the priority inversion of io.max.

    .venv/bin/python benchmarks/inversion.py [--limit-mib-s 1] [--seeds 1]

A victim writes 4 KiB and calls fsync, then thinks for 20 ms, for ten seconds. It shares an ext4
file system with a neighbour that writes 32 MiB/s to a file that grows, from two seconds before the
victim begins. Only the neighbour has a limit, and only in some of the trials. They run on the
deterministic testbed, with cgroup v2 and the profile sata_ssd: the same trial gives the same bits.
"""

import argparse
import json
import statistics
import sys

from options import positive

from elevatorlab.testbeds.deterministic import DeterministicTestbed
from elevatorlab.trial import Trial, checked, profile

MIB = 1 << 20
#: What a row is called; whether the neighbour writes around the page cache, and has a limit.
ROWS = {
    "alone": None,
    "beside a buffered writer": (False, False),
    "beside a buffered writer with a limit": (False, True),
    "beside a direct writer with a limit": (True, True),
}
LEAST_SEEDS, MOST_SEEDS = 1, 100


def fio(name, **options):
    """Return a workload of fio: writes that follow one another in a file of its group's."""
    usual = {"rw": "write", "ioengine": "psync"}
    return {"kind": "fio", "name": name, "group": name, "options": {**usual, **options}}


def trial(neighbour, limit_bytes_s, seed):
    """Return the trial of a row."""
    groups = [{"name": "victim"}]
    pace = {"thinktime": "20ms", "startdelay": "2", "time_based": 1, "runtime": "10s"}
    # The victim's room is its own from the beginning: the neighbour may fill the disk.
    loads = [fio("victim", bs="4k", fsync=1, fallocate="posix", size="16m", **pace)]
    if neighbour is not None:
        direct, limited = neighbour
        limits = {"write_bytes_s": limit_bytes_s if limited else None}
        groups.append({"name": "neighbour", "limits": limits})
        grows = {"fallocate": "none", "rate": "32m", "size": "400m", "runtime": "12s"}
        loads.append(fio("neighbour", bs="64k", direct=int(direct), **grows))
    return checked(
        Trial,
        {
            **{"study": "benchmark", "preset": "smoke", "memory_mib": 1024},
            **{"device": profile("sata_ssd", 512), "scheduler": {"name": "none"}},
            **{"groups": groups, "workloads": loads, "settle_s": 0, "sample_interval_ms": 1000},
            **{"deadline_s": 900, "seed": seed},
        },
        "trial",
    )


def measured(testbed, one):
    """Return the number of fsyncs, their mean and longest time in ms, and the neighbour's MiB/s."""
    testbed.prepare([one])
    files = testbed.run(one).files
    text = files["raw/victim.fio.json"]
    text = text.decode() if isinstance(text, bytes) else text
    fsyncs = json.loads(text[text.index("{") :])["jobs"][0]["sync"]
    times = fsyncs["lat_ns"]
    loads = json.loads(files["result.json"])["workloads"]
    other = loads["neighbour"]["write"]["kib_s"] / 1024 if "neighbour" in loads else 0
    return fsyncs["total_ios"], times["mean"] / 1e6, times["max"] / 1e6, other


def mean_and_range(values, digits):
    """Return the mean, and the range where the values differ."""
    text = f"{statistics.mean(values):.{digits}f}"
    if f"{min(values):.{digits}f}" == f"{max(values):.{digits}f}":
        return text
    return f"{text} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def seeds(text):
    """Return a number of seeds."""
    if text.isdecimal() and LEAST_SEEDS <= int(text) <= MOST_SEEDS:
        return int(text)
    raise argparse.ArgumentTypeError(
        f"expected a whole number from {LEAST_SEEDS} to {MOST_SEEDS}, found {text!r}"
    )


def main():
    """Run the trials and print a row for each kind of neighbour."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit-mib-s", type=positive, default=1)
    parser.add_argument("--seeds", type=seeds, default=1)
    options = parser.parse_args()
    limit_bytes_s = max(1, round(options.limit_mib_s * MIB))
    testbed = DeterministicTestbed(say=lambda _: None)
    print("| the victim | fsyncs | mean (ms) | longest (ms) | the neighbour writes (MiB/s) |")
    print("| --- | --- | --- | --- | --- |")
    for name, neighbour in ROWS.items():
        runs = [
            measured(testbed, trial(neighbour, limit_bytes_s, seed))
            for seed in range(1, options.seeds + 1)
        ]
        cells = [
            mean_and_range(values, digits)
            for values, digits in zip(zip(*runs, strict=True), (0, 2, 1, 2), strict=True)
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
