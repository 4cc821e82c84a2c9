"""What a trial costs beyond what it measures: start-up time and memory.

    .venv/bin/python benchmarks/startup.py

Baseline of the ratio: booting the machine for each trial, measured in the same run.
The bars: start-up at most 2 s on an idle machine, memory at most 1.5 GiB a trial.
"""

import resource
import statistics
import tempfile
import time
from pathlib import Path

from elevatorlab import testbeds, trial
from elevatorlab.testbeds.deterministic import template

RUNS = 5


def smallest(device_profile):
    """Return a trial that reads one block and ends."""
    return trial.Trial(
        study="startup",
        preset="smoke",
        device=trial.profile(device_profile, 640),
        memory_mib=1280,
        scheduler=trial.Scheduler(name="none"),
        filesystem=None,
        groups=(trial.Group(name="main"),),
        workloads=(
            trial.Fio(
                name="reader", group="main", options={"rw": "read", "bs": 4096, "number_ios": 1}
            ),
        ),
        settle_s=0,
        deadline_s=60,
        seed=1,
    )


def wall_s(job, *arguments):
    """Return how long `job` takes, in seconds."""
    start_s = time.perf_counter()
    job(*arguments)
    return time.perf_counter() - start_s


def boot(memory_mib):
    """Boot a machine as if there were no template."""
    with tempfile.TemporaryDirectory() as folder:
        template.boot(memory_mib, Path(folder))


def main():
    """Measure and print."""
    testbed = testbeds.get("deterministic")
    print(f"{'profile':20} {'trial, s':>9} {'boot, s':>9} {'boot/trial':>11} {'peak MiB':>9}")
    for name in trial.PROFILES:
        what = smallest(name)
        testbed.prepare([what])
        trials_s = statistics.median(wall_s(testbed.run, what) for _ in range(RUNS))
        peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
        boot_s = wall_s(boot, what.memory_mib)
        ratio = boot_s / trials_s
        print(f"{name:20} {trials_s:9.2f} {boot_s:9.2f} {ratio:11.1f} {peak_mib:9d}")


if __name__ == "__main__":
    main()
