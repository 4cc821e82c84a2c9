# SPDX-License-Identifier: GPL-2.0-only
"""Ratios that show what SBQ does, run inside the test guest; prints one JSON line a result.

usage: bench.py local | tcp | holds

Absolute figures are those of an emulated processor that executes one instruction a
nanosecond (harness.py --icount): only ratios mean something.
"""

import itertools
import json
import sys

from rig import SBQ, NullBlk, NvmeTcp, fio, load, of_the_kernel, set_hold_per_cpu

TARGETS = {"ram": {"irqmode": 0}, "ssd": {"irqmode": 2, "completion_nsec": 90000}}
SECONDS = 0.3  # of guest time


def measure(disk, scheduler, knobs=None, **options):
    """Return kIOPS, mean latency in microseconds and the scheduler's counters of one run."""
    disk.select(scheduler)
    for knob, value in (knobs or {}).items():
        disk.set(knob, value)
    jobs = fio(
        disk.device,
        rw="randread",
        time_based=1,
        runtime=f"{SECONDS * 1000:.0f}ms",
        ramp_time="100ms",
        thread=1,
        **options,
    )
    reads = [job["read"] for job in jobs]
    result = {
        "kiops": round(sum(read["iops"] for read in reads) / 1000, 2),
        "mean_us": round(sum(read["lat_ns"]["mean"] for read in reads) / len(reads) / 1000, 1),
    }
    if scheduler == SBQ.name:
        counted = disk.check_counters()
        batches = sum(value for name, value in counted.items() if name.startswith("released"))
        result["mean_batch_requests"] = round(counted["held"] / batches, 1)
        result["by_timeout_ratio"] = round(counted["released_by_timeout"] / batches, 2)
    disk.select("none")
    return result


def show(**result):
    print("RESULT", json.dumps(result), flush=True)


def local():
    """The negative control: no network, so a batch saves nothing, and holding costs."""
    schedulers = [*of_the_kernel(), SBQ.name]
    for target, options in TARGETS.items():
        with NullBlk(memory_backed=0, size=1024, **options) as disk:
            for depth in 1, 16, 64:
                for scheduler in schedulers:
                    found = measure(disk, scheduler, iodepth=depth)
                    show(rig="local", target=target, depth=depth, scheduler=scheduler, **found)


def tcp():
    """Host and target on one processor, stock driver and one send a batch."""
    cases = [("none", {}), (SBQ.name, {}), (SBQ.name, {"batch_timeout_us": 150})]
    for (target, options), driver in itertools.product(TARGETS.items(), NvmeTcp.modules):
        with (
            NullBlk(memory_backed=0, size=1024, **options) as backing,
            NvmeTcp(backing.device, driver, queue_size=1024) as disk,
        ):
            for depth, (scheduler, knobs) in itertools.product([1, 16, 64, 256], cases):
                found = measure(disk, scheduler, knobs, iodepth=depth)
                about = {"rig": "tcp", "driver": driver, "target": target, "depth": depth}
                show(**about, scheduler=scheduler, **knobs, **found)


def holds():
    """Two jobs on one hardware queue: one hold for both, or one for each processor."""
    for per_cpu in 0, 1:
        set_hold_per_cpu(per_cpu)
        with NullBlk(memory_backed=0, size=1024, submit_queues=1, **TARGETS["ssd"]) as disk:
            for depth, timeout_us in itertools.product([4, 8, 16, 64], [50, 500]):
                knobs = {"batch_timeout_us": timeout_us}
                jobs = {"numjobs": 2, "cpus_allowed": "0-1", "cpus_allowed_policy": "split"}
                found = measure(disk, SBQ.name, knobs, iodepth=depth, **jobs)
                show(rig="local", hold_per_cpu=per_cpu, depth=depth, **knobs, **found)


def main():
    load("null_blk", "nr_devices=0")
    load(SBQ.module)
    {"local": local, "tcp": tcp, "holds": holds}[sys.argv[1]]()


if __name__ == "__main__":
    main()
