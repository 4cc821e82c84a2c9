"""What a campaign costs beyond its trials, and what a second worker gains.

    .venv/bin/python benchmarks/campaign.py [TRIALS]

The baseline of each ratio is measured in the same run: the bare trials, one after the other, with
neither store nor cluster; for the speed-up, the campaign with one worker. The bars, on two idle
cores: overhead below 5 %, speed-up at least 1.8. The cluster's start is told apart, since it does
not grow with the campaign.
"""

import sys
import tempfile
import time
from pathlib import Path

import distributed

from elevatorlab import campaign, testbeds, trial

TRIALS = 12


def some_trials(count):
    """Return trials of half a second of guest time, a few seconds of this machine's."""
    small = trial.Trial(
        study="campaign",
        preset="smoke",
        device=trial.profile("nvme_ssd", 64),
        memory_mib=512,
        scheduler=trial.Scheduler(name="mq-deadline"),
        filesystem=None,
        groups=(trial.Group(name="main"),),
        workloads=(
            trial.Fio(
                name="reader",
                group="main",
                options={
                    **{"rw": "randread", "bs": "4k", "ioengine": "libaio", "direct": 1},
                    **{"iodepth": 32, "time_based": 1, "runtime": "500ms"},
                },
            ),
        ),
        settle_s=0,
        deadline_s=60,
        seed=0,
    )
    return [small.model_copy(update={"seed": seed}) for seed in range(count)]


def bare_s(testbed, trials):
    """Return how long the trials take, one after the other."""
    start_s = time.perf_counter()
    for one in trials:
        with tempfile.TemporaryDirectory() as folder:
            testbed.run(one, Path(folder))
    return time.perf_counter() - start_s


def campaign_s(testbed, trials, workers, cluster):
    """Return how long a campaign takes to get ready, and from then on."""
    marks = []

    def progress(done, total, one):
        marks.append(time.perf_counter())

    start_s = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        share = campaign.Share(testbed, trials)
        campaign.run([share], folder, workers, progress, cluster=cluster)
    return marks[0] - start_s, marks[-1] - marks[0]


def main(count):
    """Measure and print."""
    testbed, trials = testbeds.get("deterministic"), some_trials(count)
    testbed.prepare(trials)
    bare_s(testbed, trials[:1])  # files into the page cache
    alone_s = bare_s(testbed, trials)
    print(f"{count} bare trials, one by one: {alone_s:.1f} s")
    options = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=1, **options) as cluster:
        runs = {
            "1 at a time, in this process": (1, None),
            "1 worker of a running cluster": (None, cluster.scheduler_address),
            "2 workers of its own": (2, None),
        }
        took_s = {}
        for name, how in runs.items():
            ready_s, took_s[name] = campaign_s(testbed, trials, *how)
            over = f"overhead {took_s[name] / alone_s - 1:+.1%}" if how[0] != 2 else ""
            print(f"{name:30} ready in {ready_s:4.1f} s, then {took_s[name]:6.1f} s {over}")
    one, _, two = took_s.values()
    print(f"speed-up from 1 to 2 at a time: {one / two:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else TRIALS)
