"""Functions that may sleep, called where nobody may: under a spinlock, or in an interrupt.

Mostly such a call does not sleep, and goes well. The kernel has an option that sees it all the
same (DEBUG_ATOMIC_SLEEP), but Debian's is built without it. So a buffer of its own traces them.
"""

from __future__ import annotations

import re
from pathlib import Path

from .failure import Broken

TRACING = Path("/sys/kernel/tracing")
BUFFER = TRACING / "instances/atomic"

#: They have no tracepoint, so they get a probe; `caller` is where they return to.
PROBED = ("mutex_lock", "synchronize_rcu", "flush_work", "cancel_work_sync")

#: The context of a trace's entry: spinlocks held (or preemption off), interrupts off or served.
NOBODY_MAY = "(common_preempt_count & 15 || common_flags & 25)"

#: GFP_KERNEL has it, GFP_ATOMIC has not: the allocation may wait (___GFP_DIRECT_RECLAIM).
MAY_WAIT = "gfp_flags & 1024"


def begin() -> None:
    """Trace them from now on."""
    BUFFER.mkdir()
    probes = [f"p:atomic/{name} {name} caller=+0($stack):symbol\n" for name in PROBED]
    (TRACING / "kprobe_events").write_text("".join(probes))
    filters = {"kmem/kmalloc": f"{MAY_WAIT} && {NOBODY_MAY}"}
    filters |= {f"atomic/{function}": NOBODY_MAY for function in PROBED}
    for event, wanted in filters.items():
        (BUFFER / "events" / event / "filter").write_text(wanted)
        (BUFFER / "events" / event / "enable").write_text("1\n")


def look(module: str) -> None:
    """Raise `Broken` where the module has called one of them, since the last look."""
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
