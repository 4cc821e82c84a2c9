"""When the device stood idle although requests waited: the kernel's own block tracepoints.

A request is inserted into the scheduler, issued to the device, completed by it. While at least
one is inserted and none is issued, only the scheduler's decision keeps the device idle. Without a
scheduler (`none`) a request is issued at once, and there is no such time.
"""

import pathlib
import re

TRACING = pathlib.Path("/sys/kernel/tracing")
INSTANCE = TRACING / "instances/elevatorlab"
EVENTS = ("insert", "issue", "complete")
BUFFER_KIB = 16384

# block_rq_issue: 259,0 WS 4096 () 12345 + 8 [mariadbd]; block_rq_complete has no bytes.
LINE = re.compile(
    r" (\d+\.\d+): block_rq_(insert|issue|complete): \d+,\d+ (\S+) (?:\d+ )?\(.*?\) (\d+) \+ (\d+)"
)


class BlockTrace:
    """A trace buffer of its own for one device; nobody else's tracing is touched.

    Parameters
    ----------
    device : str
    journal : Journal
    """

    def __init__(self, device, journal):
        self.there = (TRACING / "events/block").exists()
        if not self.there:
            return
        major, minor = map(
            int, pathlib.Path("/sys/class/block", device, "dev").read_text().split(":")
        )
        journal.will("remove_folder", INSTANCE)
        INSTANCE.mkdir(exist_ok=True)
        self._set("buffer_size_kb", BUFFER_KIB)
        self._set("trace_clock", "mono")
        for event in EVENTS:
            folder = f"events/block/block_rq_{event}"
            self._set(f"{folder}/filter", f"dev == {major << 20 | minor}")
            self._set(f"{folder}/enable", 1)
        self._set("tracing_on", 0)

    def _set(self, name, value):
        (INSTANCE / name).write_text(str(value))

    def start(self):
        """Forget what was recorded, and record."""
        if self.there:
            self._set("trace", "")
            self._set("tracing_on", 1)

    def stop(self):
        """Stop; return the time in seconds for which the device idled over waiting requests.

        None where the kernel has no tracepoints, or recorded more than the buffer holds.
        """
        if not self.there:
            return None
        self._set("tracing_on", 0)
        for stats in INSTANCE.glob("per_cpu/cpu*/stats"):
            if not re.search(r"^overrun: 0$", stats.read_text(), re.MULTILINE):
                return None
        with open(INSTANCE / "trace") as lines:
            return idle_while_waiting_s(lines)


def idle_while_waiting_s(lines):
    """Add up the time during which requests waited in the scheduler and none was at the device.

    Parameters
    ----------
    lines : iterable of str
        Of a trace, in the order of time.
    """
    waiting, issued = {}, set()
    idle_s, since_s = 0.0, None
    for line in lines:
        match = LINE.search(line)
        if match is None:
            continue
        now_s, event = float(match[1]), match[2]
        if since_s is not None:
            idle_s += now_s - since_s
        # A flush has no sector of its own.
        request = ("F" if match[3].startswith("FF") else "", int(match[4]))
        if event == "insert":
            waiting[request] = True
        elif event == "issue":
            # Whatever was merged into it meanwhile goes with it.
            end = request[1] + int(match[5])
            for other in [o for o in waiting if o[0] == request[0] and request[1] <= o[1] < end]:
                del waiting[other]
            waiting.pop(request, None)
            issued.add(request)
        else:
            issued.discard(request)
        since_s = now_s if waiting and not issued else None
    return idle_s
