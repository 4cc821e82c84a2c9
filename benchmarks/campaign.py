"""What a campaign costs beyond its trials, and what a second worker gains.

    .venv/bin/python benchmarks/campaign.py [TRIALS]

The baseline of each ratio is of the same run: for the overhead, the bare sum of the trials,
each timed where it ran; for the speed-up, the campaign with one trial at a time. The bars, on two
idle cores: overhead below 5 %, speed-up at least 1.8. The cluster's start ("ready in") is told
apart, since it does not grow with the campaign.
"""

import sys
import tempfile
import time

import distributed

from elevatorlab import testbeds, trial
from elevatorlab.results import reading
from elevatorlab.running import campaign

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


def run(testbed, trials, workers, cluster):
    """Return how long a campaign takes to get ready, then to run, and its trials' own times."""
    marks = []

    def progress(done, total, one):
        marks.append(time.perf_counter())

    start_s = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        share = campaign.Share(testbed, trials)
        campaign.run([share], folder, workers, progress, cluster=cluster)
        bare_s = sum(one.provenance.wall_s for one in reading.results_in(folder))
    return marks[0] - start_s, marks[-1] - marks[0], bare_s


def main(count):
    """Measure and print."""
    testbed, trials = testbeds.get("deterministic"), some_trials(count)
    run(testbed, trials[:1], 1, None)  # template made, files in the page cache
    options = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    took_s = []
    with distributed.LocalCluster(n_workers=1, **options) as cluster:
        for name, workers, address in (
            ("1 at a time, in this process", 1, None),
            ("1 worker of a running cluster", None, cluster.scheduler_address),
            ("2 workers of its own", 2, None),
        ):
            ready_s, wall_s, bare_s = run(testbed, trials, workers, address)
            over = wall_s * (workers or 1) / bare_s - 1
            took_s.append(wall_s)
            print(
                f"{name:30} ready in {ready_s:4.1f} s, then {count} trials in {wall_s:5.1f} s: "
                f"{over:+.1%} over their bare sum ({bare_s:.1f} s)"
            )
    print(f"speed-up from 1 to 2 at a time: {took_s[0] / took_s[-1]:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else TRIALS)
