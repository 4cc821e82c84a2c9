"""Cases in which programs work side by side, or a setting or the disk changes meanwhile."""

from __future__ import annotations

import itertools
import os
import subprocess
import traceback
from typing import TYPE_CHECKING

from ..disks import AFTER_A_TIME, AT_ONCE, BY_INTERRUPT, NullBlk
from ..failure import Broken
from ..load import Load
from ..scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable

SWITCHES = 30
LOSSES = 4


#: Disks that two processors use at the same moment, each by its own hardware queue.
SHARED = (
    {"irqmode": AT_ONCE, "hw_queue_depth": 4},
    {"irqmode": BY_INTERRUPT, "hw_queue_depth": 2},
    {"irqmode": AFTER_A_TIME, "completion_nsec": 20_000, "hw_queue_depth": 1},
)


def serves_two_processors(scheduler: Scheduler) -> str:
    """Two processors insert, dispatch and complete requests at the same moment."""
    made = 0
    for settings in SHARED:
        with NullBlk(submit_queues=2, **settings) as disk:
            disk.select(scheduler.name, waiting=32)
            processors = sorted(os.sched_getaffinity(0))
            made += sum([end() for end in [_work_on(processor, disk) for processor in processors]])
    return f"{made} requests"


def _work_on(processor: int, disk: NullBlk) -> Callable[[], int]:
    """Start a load on a processor; return a function that waits for its end and its requests.

    It is a process of its own, because the threads of a Python program take turns.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        said = "0"
        try:
            os.sched_setaffinity(0, {processor})
            load = Load(disk, 12, 40, share_of_disk=0.4, begin=0.5 * (processor % 2))
            said = str(load.finish())
        except Broken as broken:
            said = str(broken)
        except BaseException:
            said = traceback.format_exc()
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.close(writing)

    def end() -> int:
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
        if not said.isdigit():
            raise Broken(said)
        return int(said)

    return end


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
