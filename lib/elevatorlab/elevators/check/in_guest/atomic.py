"""Find calls of functions that may sleep where sleeping is forbidden.

Sleeping is forbidden under a spinlock and in an interrupt. Mostly such a call does not sleep, and
nothing goes wrong. The kernel's option DEBUG_ATOMIC_SLEEP would report the call all the same, but
Debian's kernel is built without this option. So a separate trace buffer records such calls.
"""

from __future__ import annotations

import re
from pathlib import Path

from .failure import Broken

TRACING = Path("/sys/kernel/tracing")
BUFFER = TRACING / "instances/atomic"

#: Functions without a tracepoint. Each gets a probe, whose `caller` is the return address.
PROBED = ("mutex_lock", "synchronize_rcu", "flush_work", "cancel_work_sync")

#: Filter of a trace's entries: spinlocks are held (or preemption is off), or interrupts are off, or
#: one is being served.
NOBODY_MAY = "(common_preempt_count & 15 || common_flags & 25)"

#: Filter of allocations that may wait: the flag ___GFP_DIRECT_RECLAIM, which GFP_KERNEL has and
#: GFP_ATOMIC has not.
MAY_WAIT = "gfp_flags & 1024"


def begin() -> None:
    """Begin to trace such calls."""
    BUFFER.mkdir()
    probes = [f"p:atomic/{name} {name} caller=+0($stack):symbol\n" for name in PROBED]
    (TRACING / "kprobe_events").write_text("".join(probes))
    filters = {"kmem/kmalloc": f"{MAY_WAIT} && {NOBODY_MAY}"}
    filters |= {f"atomic/{function}": NOBODY_MAY for function in PROBED}
    for event, wanted in filters.items():
        (BUFFER / "events" / event / "filter").write_text(wanted)
        (BUFFER / "events" / event / "enable").write_text("1\n")


def look(module: str) -> None:
    """Raise `Broken` if the module has made such a call since the last look."""
    for line in (BUFFER / "trace").read_text().splitlines():
        found = re.search(rf"(?:call_site|caller)=(\S+?)(?:/\S+)? \[{module}\]", line)
        if found:
            what = re.search(r": (\w+): ", line)
            raise Broken(
                f"It calls what may sleep where nobody may: {what[1] if what else 'a function'} "
                f"under a spinlock or in an interrupt, at {found[1]}. Memory needs GFP_ATOMIC "
                "there."
            )
    (BUFFER / "trace").write_text("\n")
