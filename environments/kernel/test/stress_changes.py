# SPDX-License-Identifier: GPL-2.0-only
"""A scheduler while all changes under load: schedulers, knobs, processors, disks, the module."""

import contextlib
import itertools
import json
import os
import random
import re
import subprocess
import time

from rig import (
    UNDER_TEST,
    NullBlk,
    Writers,
    each_reads_back,
    endless,
    finish,
    fio,
    hold_per_cpu,
    holds_batches,
    load,
    of_the_kernel,
    said_by,
    start,
    verified,
    write,
)
from stress_data import data_survive_every_kind_of_completion_size_and_queue

CPUS = os.cpu_count()


def knobs_and_depth_change_under_load():
    choice = random.Random(2)
    with NullBlk(irqmode=1) as disk:
        disk.select()
        job = start(disk.device, **verified(size="32m", loops=2, bssplit="4k/70:32k/30"))
        while job.poll() is None:
            disk.set("batch_nr", choice.choice([1, 2, 16, 1024]))
            disk.set("batch_bytes", choice.choice([1, 4096, 65536, 1 << 24]))
            disk.set("batch_timeout_us", choice.choice([1, 50, 2000]))
            write(disk.folder / "nr_requests", choice.choice([4, 16, 64, 256]))
            disk.counters()
            time.sleep(0.01)
        finish(job)
        return disk.check_counters()


def switch_under_load(disk, times, size="8m"):
    """Switch so many times, and more until fio has got as far as to read back."""
    choice = random.Random(1)
    jobs = {"numjobs": 2, "size": size, "offset_increment": "32m", "loops": 10000}
    job = start(disk.device, **verified(**jobs, bssplit="4k/70:32k/30"))
    others = of_the_kernel()
    for number in itertools.count():
        assert job.poll() is None, said_by(job)[-1000:]
        if number >= times // 2 and each_reads_back(job):
            break
        disk.select()
        if number % 8 == 0:
            time.sleep(0.02)
        if number % 50 == 0:
            disk.hold_for(choice.choice([1, 50, 5000, 100000]))
        disk.select(choice.choice(others))
    disk.select()
    job.terminate()
    said = said_by(job)
    assert "verify" not in said.split("{", 1)[0], said[:1500]
    reads = [one["read"]["total_ios"] for one in json.loads(said[said.index("{") :])["jobs"]]
    assert all(reads), f"fio did not get as far as to read back: {reads}"
    fio(disk.device, **verified(size="8m"))
    return reads, disk.check_counters()


def a_thousand_switches_under_load_lose_nothing(times=1000):
    with NullBlk(irqmode=2, completion_nsec=20000, submit_queues=CPUS) as disk:
        return switch_under_load(disk, times)


def a_device_goes_away_under_load(times=6):
    acknowledged = []
    for number in range(times):
        with NullBlk(irqmode=2, completion_nsec=50000, submit_queues=CPUS) as disk:
            disk.select()
            disk.hold_for([50, 100000][number % 2])
            depth = [64, 3][number % 2]  # three requests never fill a batch
            job = start(disk.device, **endless(iodepth=depth, size="48m"))
            disk.wait_for_requests()
            writers = Writers(disk.device, number=[24, 3][number % 2])
            writers.wait_for_writes()
            disk.power_off()
            said_by(job)
            assert job.returncode != 0
            disk.power_on()
            acknowledged.append(writers.check(disk.device, fail=True))
    return acknowledged


def the_module_unloads_only_when_unused(times=15):
    module = UNDER_TEST.module.replace("-", "_")
    with NullBlk(irqmode=1) as disk:
        job = start(disk.device, **verified(size="8m", loops=10000))
        for _ in range(times):
            disk.select()
            refused = subprocess.run(["rmmod", module], capture_output=True)
            assert refused.returncode != 0
            disk.select("none")
            subprocess.run(["rmmod", module], check=True)
            offered = (disk.folder / "scheduler").read_text()
            assert UNDER_TEST.name not in re.findall(r"[\w-]+", offered), offered
            load(UNDER_TEST.module)
        job.terminate()
        said_by(job)


def a_processor_goes_and_comes_under_load(times=15):
    if CPUS < 2:
        return "one processor only"
    for holds in (contextlib.nullcontext, hold_per_cpu)[: 2 if holds_batches() else 1]:
        with holds(), NullBlk(irqmode=2, completion_nsec=30000, submit_queues=2) as disk:
            disk.select()
            job = start(
                disk.device, **verified(size="8m", numjobs=2, offset_increment="32m", loops=999)
            )
            for _ in range(times):
                for online in 0, 1:
                    write("/sys/devices/system/cpu/cpu1/online", online)
                    time.sleep(0.1)
            assert job.poll() is None, said_by(job)[-1000:]
            job.terminate()
            said_by(job)
            fio(disk.device, **verified(size="4m", numjobs=2, offset_increment="32m"))
            disk.check_counters()


def holds_per_cpu_lose_nothing():
    with hold_per_cpu():
        data_survive_every_kind_of_completion_size_and_queue()
        a_thousand_switches_under_load_lose_nothing(times=100)
        a_device_goes_away_under_load(times=2)
