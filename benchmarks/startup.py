"""What a trial costs beyond what it measures: processor time, wall time and memory.

    .venv/bin/python benchmarks/startup.py [ADDRESS...]

Baseline of the ratio: booting the machine for each trial, measured in the same run.

Where the time goes, on one processor, as perf saw it: QEMU translates guest code that runs once
(half), the guest executes it (a fifth), the host's kernel provides memory (a twelfth), and Python
starts QEMU and reads the result (a twentieth). Most of that code is fio's own start.
"""

import resource
import statistics
import sys
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


def spent_s(job, *arguments):
    """Return the processor time that `job` takes in child processes, and the wall time."""
    before, start_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    job(*arguments)
    after, end_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        end_s - start_s,
    )


def boot(memory_mib, emulator):
    """Boot a machine as if there were no template."""
    with tempfile.TemporaryDirectory() as folder:
        template.boot(memory_mib, Path(folder), emulator.boots_as)


def main():
    """Measure and print."""
    print(f"{'testbed':36} {'processor, s':>12} {'wall, s':>8} {'boot/trial':>11} {'MiB':>6}")
    for address in sys.argv[1:] or ["deterministic", "deterministic?cpus=16"]:
        testbed = testbeds.get(address)
        testbed.anew = True
        what = smallest("sata_ssd")
        testbed.prepare([what])
        runs = [spent_s(testbed.run, what) for _ in range(RUNS)]
        processor_s, wall_s = map(statistics.median, zip(*runs, strict=True))
        peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
        boot_s, _ = spent_s(boot, what.memory_mib, testbed.emulator)
        ratio = boot_s / processor_s
        print(f"{address:36} {processor_s:12.2f} {wall_s:8.2f} {ratio:11.1f} {peak_mib:6d}")


if __name__ == "__main__":
    main()
