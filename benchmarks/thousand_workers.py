"""What 1,000 workers cost the scheduler and the client: a campaign of stub trials.

    .venv/bin/python benchmarks/thousand_workers.py [WORKERS [TRIALS [SECONDS]]]

The scheduler, the client and the store are the real ones, each in a process whose CPU time counts.
The workers are Dask's own, too, but share one process, and their trials only wait, and return a
result as large as the reference's are on average. Needs 4 GiB of memory and about two minutes.

The baseline of the ratio: what the same trials would take if nothing but they took time. From the
CPU time a trial follows how many trials a second scheduler and client can do at most.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dask
import distributed
import psutil

from elevatorlab import trial
from elevatorlab.results import costs
from elevatorlab.running import campaign

WORKERS, TRIALS, SECONDS = 1000, 3000, 20

#: What a worker does for its own process fifty times a second; here there is one process.
WATCHES_NOTHING = {
    "distributed.admin.tick.interval": "1h",
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.worker.profile.enabled": False,
}


class Waits:
    """A testbed whose trials only wait."""

    name, slots, anywhere, identity_is, defaults = "waits", 1, True, "", {}

    def __init__(self, lasts_s, size_bytes):
        self.lasts_s, self.size_bytes = lasts_s, size_bytes

    def identity(self):
        """Be the same everywhere."""
        return "waits"

    machine = folder_name = identity

    def prepare(self, trials):
        """Need nothing."""

    stop = close = lambda self: None

    def run(self, what, folder, note):
        """Wait, and write as much as other trials do."""
        time.sleep(self.lasts_s)
        (folder / "result.json").write_bytes(os.urandom(self.size_bytes))
        return {"testbed": self.name, "wall_s": self.lasts_s}


def some_trials(count):
    """Return small trials that differ in their seeds."""
    small = trial.Trial(
        study="waits",
        preset="smoke",
        device=trial.profile("nvme_ssd", 64),
        scheduler=trial.Scheduler(name="none"),
        filesystem=None,
        groups=(trial.Group(name="main"),),
        workloads=(trial.Fio(name="reader", group="main", options={"rw": "read"}),),
        deadline_s=60,
        seed=0,
    )
    return [small.model_copy(update={"seed": seed}) for seed in range(count)]


async def be_workers(address, count):
    """Be that many workers of one thread each, until the scheduler ends."""
    options = {"nthreads": 1, "memory_limit": 0, "dashboard_address": None}
    dask.config.set(WATCHES_NOTHING)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(count):
            await stack.enter_async_context(distributed.Worker(address, **options))
        await asyncio.Event().wait()


def cpu_s(process):
    """Return the CPU time that a process has taken, in seconds."""
    times = process.cpu_times()
    return times.user + times.system


@contextlib.contextmanager
def started(*arguments):
    """Run a Python program; end it with the block."""
    process = subprocess.Popen([sys.executable, *arguments], stderr=subprocess.DEVNULL)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()


def wait_for(condition):
    """Wait until something is there, and return it."""
    while not (found := condition()):
        time.sleep(0.1)
    return found


def main(workers, count, lasts_s):
    """Measure and print."""
    known = costs.read().values()
    size_bytes = sum(int(one["size_bytes"]) for one in known) // sum(
        int(one["trials"]) for one in known
    )
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        file = place / "scheduler.json"
        scheduler = stack.enter_context(
            started(
                *("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"),
                *("--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file)),
            )
        )
        wait_for(file.exists)
        client = stack.enter_context(distributed.Client(scheduler_file=str(file)))
        address, start_s = client.scheduler.address, time.perf_counter()
        stack.enter_context(started(__file__, "--workers-of", address, str(workers)))
        client.wait_for_workers(workers)
        print(f"{workers} workers registered in {time.perf_counter() - start_s:.0f} s")
        processes = {"scheduler": scheduler, "client": psutil.Process()}
        before = {name: cpu_s(process) for name, process in processes.items()}
        start_s = time.perf_counter()
        share = campaign.Share(Waits(lasts_s, size_bytes), some_trials(count))
        campaign.run([share], place / "results", cluster=address)
        wall_s = time.perf_counter() - start_s
        ideal_s = -(-count // workers) * lasts_s
        print(f"{count} trials of {lasts_s:g} s, {size_bytes / 1024:.0f} KiB each: {wall_s:.1f} s")
        print(f"{ideal_s / wall_s:.2f} of the baseline's speed (trials alone: {ideal_s:.0f} s)")
        for name, process in processes.items():
            each_ms = (cpu_s(process) - before[name]) / count * 1e3
            memory_mib = process.memory_info().rss >> 20
            print(
                f"{name:9} {each_ms:5.2f} ms of CPU a trial: at most {1000 / each_ms:5.0f} trials "
                f"a second; {memory_mib} MiB"
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--workers-of"]:
        asyncio.run(be_workers(sys.argv[2], int(sys.argv[3])))
    else:
        given = [int(argument) for argument in sys.argv[1:]]
        main(*given, *(WORKERS, TRIALS, SECONDS)[len(given) :])
