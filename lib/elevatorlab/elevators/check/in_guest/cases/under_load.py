"""Cases in which a setting or the disk changes while programs read and write."""

from __future__ import annotations

import itertools
import subprocess

from ..disks import AFTER_A_TIME, BY_INTERRUPT, NullBlk
from ..load import Load
from ..scheduler import Scheduler

SWITCHES = 30
LOSSES = 4


def changes_its_depth(scheduler: Scheduler) -> str:
    """The number of requests that may wait changes under load."""
    with NullBlk(irqmode=BY_INTERRUPT) as disk:
        disk.select(scheduler.name)
        load = Load(disk, depth=32)
        for depth in 4, 256, 5, 64, 4, 128:
            disk.set("nr_requests", depth)
            load.wait_for(100)
        return f"{load.stop()} requests"


def switches(scheduler: Scheduler) -> str:
    """A disk changes to the scheduler and away from it, again and again, under load."""
    for module in filter(None, scheduler.others.values()):
        subprocess.run(["modprobe", module], check=True)
    with NullBlk(irqmode=AFTER_A_TIME, completion_nsec=50_000, submit_queues=2) as disk:
        load = Load(disk, depth=16, sizes=(1, 8, 32))
        for other in itertools.islice(itertools.cycle(scheduler.others), SWITCHES // 2):
            disk.select(scheduler.name)
            load.wait_for(20)
            disk.select(other)
            load.wait_for(5)
        return f"{SWITCHES} switches, {load.stop()} requests"


def survives_a_lost_disk(scheduler: Scheduler) -> str:
    """The disk vanishes under load: requests fail, no request hangs, acknowledged data is kept."""
    for depth in (24, 3) * (LOSSES // 2):
        with NullBlk(irqmode=AFTER_A_TIME, completion_nsec=50_000) as disk:
            disk.select(scheduler.name)
            load = Load(disk, depth)
            load.wait_for(200)
            disk.take_away()
            load.fail()
            disk.show()
            load.compare()
    return f"{LOSSES} times"
