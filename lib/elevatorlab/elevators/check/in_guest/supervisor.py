"""Run one case, and notice from outside the case when a request stalls."""

from __future__ import annotations

import re
import subprocess
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from . import atomic, late, trace
from .disks import Disk
from .failure import Broken

if TYPE_CHECKING:
    from collections.abc import Callable

    from .scheduler import Scheduler

#: Guest time in which a disk with waiting requests must complete a request. An idle machine's
#: time costs nothing.
STALLED_AFTER_S = 5.0

#: Guest time after which a case is given up even if its requests still complete.
LONGEST_CASE_S = 60.0

#: What the kernel reports when it goes on after an error, such as misused memory.
COMPLAINT = re.compile(r"BUG |BUG:|WARNING:|Oops|corrupt")


class KernelComplained(Exception):
    """The kernel reported an error; the message is on the console."""


def run(case: Callable[[Scheduler], str], scheduler: Scheduler) -> str:
    """Run a case in a thread; return the text that the case returns.

    Where a request stalls (`Broken`), the case's thread may hang.
    """
    outcome: list[str | BaseException] = []

    def work() -> None:
        try:
            outcome.append(case(scheduler))
        except Broken as broken:
            outcome.append(broken)
        except BaseException:
            outcome.append(Broken("The case itself failed:\n" + traceback.format_exc()))

    trace.forget()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    _watch(thread)
    look_for_complaints()
    atomic.look(scheduler.module)
    late.look(scheduler.module)
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _watch(thread: threading.Thread) -> None:
    began_s = time.monotonic()
    seen: dict[Disk, tuple[int, float]] = {}
    while thread.is_alive():
        thread.join(STALLED_AFTER_S / 10)
        now_s = time.monotonic()
        for disk in list(Disk.opened):
            completed, since_s = seen.get(disk, (-1, now_s))
            if disk.completed != completed:
                seen[disk] = disk.completed, now_s
            elif now_s - since_s >= STALLED_AFTER_S and (sentence := stall(disk)):
                raise Broken(sentence, hangs=True)
        if now_s - began_s > LONGEST_CASE_S:
            raise Broken(
                f"The case did not end within {LONGEST_CASE_S:.0f} s, though no request stalls: "
                "something waits for what never comes.",
                hangs=True,
            )


def stall(disk: Disk) -> str:
    """Say which requests of a disk stall; "" if no request waits."""
    waiting, done = trace.requests(disk)
    if not waiting:
        return ""
    oldest = waiting[0]
    stalls = f"A {oldest} has waited for {oldest.age_s:.1f} s"
    if len(waiting) > 1:
        stalls += f", and {len(waiting) - 1} others wait"
    if oldest.issued:
        return f"{stalls}. The disk has it, and its completion never came to an end."
    if _a_processor_never_rests():
        return f"It keeps the processor for ever: an endless loop. {stalls}."
    if not any(one.made_s > disk.selected_s for one in done):
        return (
            f"{stalls}. No request was ever handed to the disk: dispatch_request returned none, "
            "or has_work said that there is nothing to do."
        )
    return (
        f"{stalls}. It was lost: the scheduler never handed it to the disk, which is idle after "
        f"{len(done)} others."
    )


def _a_processor_never_rests() -> bool:
    """Say whether a processor has no idle time while this program sleeps and all requests wait."""
    before = _idle_ticks()
    time.sleep(0.5)
    return any(now == then for now, then in zip(_idle_ticks(), before, strict=True))


def _idle_ticks() -> list[int]:
    lines = re.findall(r"^cpu\d+ (.*)", Path("/proc/stat").read_text(), re.M)
    return [sum(map(int, line.split()[3:5])) for line in lines]


def look_for_complaints() -> None:
    """Raise `KernelComplained` if the kernel's log has an error."""
    log = subprocess.run(["dmesg", "--read-clear"], capture_output=True, text=True).stdout
    if COMPLAINT.search(log):
        raise KernelComplained
