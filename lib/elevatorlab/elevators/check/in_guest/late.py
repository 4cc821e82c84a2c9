"""Find code that keeps interrupts off for long.

The kernel's clock interrupts a busy processor every 4 ms. While interrupts are off, the clock's
interrupt waits; it comes when they are on again, so its stack shows who has kept them off. A
separate trace buffer records when the clock is set, and when it goes off.
"""

from __future__ import annotations

import re
from pathlib import Path

from .failure import Broken

BUFFER = Path("/sys/kernel/tracing/instances/late")

#: How long interrupts may be off.
AT_MOST_MS = 2.0

EVENT = re.compile(r"(hrtimer_start|hrtimer_expire_entry): hrtimer=(\S+) .*?(?:now|expires)=(\d+)")
CALLER = re.compile(r"=> (\S+) \[(\w+)\]")


def begin() -> None:
    """Begin to trace the clock's interrupts."""
    BUFFER.mkdir()
    (BUFFER / "options/sym-offset").write_text("1")
    symbols = Path("/proc/kallsyms").read_text()
    found = re.search(r"^(\w+) . tick_sched_timer$", symbols, re.M)
    assert found
    clock = f"function == 0x{found[1]}"
    events = BUFFER / "events/timer"
    (events / "hrtimer_expire_entry/trigger").write_text(f"stacktrace if {clock}")
    for name in "hrtimer_start", "hrtimer_expire_entry":
        (events / name / "filter").write_text(clock)
        (events / name / "enable").write_text("1")


def look(module: str) -> None:
    """Raise `Broken` if the module has kept interrupts off for long since the last look."""
    due_ns: dict[str, int] = {}
    late_ms = 0.0
    for line in (BUFFER / "trace").read_text().splitlines():
        if event := EVENT.search(line):
            name, timer, at_ns = event[1], event[2], int(event[3])
            if name == "hrtimer_start":
                due_ns[timer] = at_ns
            late_ms = (at_ns - due_ns.get(timer, at_ns)) / 1e6
        elif late_ms > AT_MOST_MS and (caller := CALLER.search(line)) and caller[2] == module:
            raise Broken(
                f"It keeps interrupts off for {late_ms:.0f} ms, up to {caller[1]}. Long work "
                "belongs where interrupts are on, and a lock that interrupts take must be held "
                "for short."
            )
    (BUFFER / "trace").write_text("\n")
