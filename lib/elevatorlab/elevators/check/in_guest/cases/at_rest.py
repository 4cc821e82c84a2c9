"""Loading, choosing and unloading a scheduler while nothing else happens."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from .. import burst, memory
from ..disks import AFTER_A_TIME, NullBlk
from ..failure import Broken, require
from ..scheduler import Scheduler

CYCLES = 3


def loads(scheduler: Scheduler) -> str:
    """The module loads, and brings a scheduler of the right name."""
    with NullBlk() as disk:
        offered = (disk.folder / "queue/scheduler").read_text().replace("[", "").replace("]", "")
    require(
        scheduler.name in offered.split(),
        f"The module loads, but brings no scheduler {scheduler.name}; the kernel offers "
        f"{offered.strip()}. Is .elevator_name another one, or elv_register missing?",
    )
    require(
        scheduler.references == 0, "The module holds a reference to itself though no disk uses it."
    )
    return f"module {scheduler.module}"


def is_selected(scheduler: Scheduler) -> str:
    """An idle disk takes the scheduler, shows its files, and gives it back."""
    with NullBlk() as disk:
        disk.select(scheduler.name)
        folder = disk.folder / "queue/iosched"
        for name in scheduler.files:
            require(
                (folder / name).exists(),
                f"scheduler.json names the file {name}, which queue/iosched does not have.",
            )
        tunables, debug = readable([folder]), readable(debug_folders(disk.name))
        for file in (*tunables, *debug):
            file.read_bytes()
        disk.select("none")
        time.sleep(0.1)
    require(
        scheduler.references == 0,
        f"References to the module are left ({scheduler.references}) after the disk chose another "
        "scheduler: a kobject_get or try_module_get without its put.",
    )
    return f"{len(tunables)} files in queue/iosched, {len(debug)} in debugfs"


def debug_folders(disk: str) -> list[Path]:
    """Return a disk's folders in debugfs that belong to its scheduler and its hardware queues."""
    folder = Path("/sys/kernel/debug/block", disk)
    return [*folder.glob("sched"), *folder.glob("hctx*/sched")]


def readable(folders: Iterable[Path]) -> list[Path]:
    """Return the files in some folders that may be read, in a fixed order."""
    files = (file for folder in folders for file in folder.iterdir())
    return sorted(file for file in files if file.stat().st_mode & 0o444)


def unloads_cleanly(scheduler: Scheduler) -> str:
    """It unloads only when unused, and leaves no memory behind."""
    places = memory.sections(scheduler.folder)
    scheduler.unload()
    time.sleep(1)  # what is freed late is freed now
    before = memory.snapshot()
    _require_no_leaks(scheduler.before, before, places)
    loaded_at = []
    with memory.calls_counted():
        for cycle in range(CYCLES):
            scheduler.load()
            loaded_at.append(memory.sections(scheduler.folder))
            _work_and_unload(scheduler, cycle)
        time.sleep(1)  # what is freed late is freed now; a timer that is still set goes off
    memory.check_all_objects()
    after = memory.snapshot()
    _require_no_leaks(before, after, places)
    number, place = memory.pages_left(loaded_at)
    require(
        number <= 0,
        f"{number} calls of the module gave it pages that were never freed, though it was "
        f"unloaded. One of them is at {place}.",
    )
    caches = sorted(after.caches - before.caches)
    require(not caches, f"The slab cache {', '.join(caches)} was never destroyed.")
    require(not Path(scheduler.folder).exists(), "The module is still there.")
    return f"{CYCLES} times"


def _work_and_unload(scheduler: Scheduler, cycle: int) -> None:
    """Let the scheduler work under load, try to unload it, and unload it when it is unused."""
    with NullBlk(irqmode=AFTER_A_TIME, completion_nsec=100_000, hw_queue_depth=1) as disk:
        disk.select(scheduler.name, waiting=128)
        burst.write_and_read_back(disk, 128)
        used = subprocess.run(["rmmod", scheduler.module], capture_output=True)
        require(used.returncode != 0, "The module unloads though a disk uses it.")
        if cycle % 2:  # the disk may also go first
            disk.select("none")
    time.sleep(0.1)
    scheduler.unload()


def _require_no_leaks(
    before: memory.Snapshot, after: memory.Snapshot, places: dict[str, range]
) -> None:
    for cache, number, place in memory.leaks(before, after, places):
        raise Broken(
            f"{number} objects of {cache} were never freed, though the module was unloaded. "
            f"Allocated at {place}."
        )
