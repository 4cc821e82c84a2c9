"""What the block layer does with each request: its tracepoints, for one device alone.

The kernel writes them into a buffer of the trial's own (an instance of tracefs), which no other
tracer shares. Each event costs the processor about a microsecond (some thousand instructions), so
a trial without a trace is not the same trial.

========================  ===================================================================
``block_rq_insert``       a request was given to the scheduler (none: only what cannot be issued)
``block_rq_issue``        it was given to the driver
``block_rq_complete``     it has ended
``block_bio_backmerge``   a bio joined the end of a request
``block_bio_frontmerge``  a bio joined its front
``block_rq_merge``        a request joined another one
========================  ===================================================================
"""

import csv
import os
import pathlib
import re

from .errors import TrialFailed

TRACEFS = pathlib.Path("/sys/kernel/tracing")
INSTANCE = "instances/elevatorlab"

EVENTS = (
    "block_rq_insert",
    "block_rq_issue",
    "block_rq_complete",
    "block_bio_backmerge",
    "block_bio_frontmerge",
    "block_rq_merge",
)

#: Some hundred thousand events; what comes when it is full is lost, and said.
BUFFER_KIB = 16384

COLUMNS = ("time_s", "event", "operation", "sector", "bytes", "process")
SECTOR_BYTES = 512

#: "  fio-250 [000] ..... 12.345678: block_rq_issue: 252,0 R 4096 () 1234 + 8 [fio]", where a
#: completion has an error number in the brackets, and a bio no count of bytes and no command.
LINE = re.compile(
    r"\s(?P<time>\d+\.\d+): (?P<event>block_\w+): \d+,\d+ (?P<operation>\S+) (?:\d+ )?(?:\(.*?\) )?"
    r"(?P<sector>\d+) \+ (?P<sectors>\d+) .*?\[(?P<process>.*)\]$"
)
LOST = re.compile(r"^(?:overrun|dropped events): (\d+)$", re.MULTILINE)


class Trace:
    """Records the events of a device while its context is open.

    Parameters
    ----------
    wanted : bool
        The trial's `trace`; False: nothing is done.
    device : str
        Kernel name of the disk.
    journal : Journal
    proofs : Proofs
    """

    def __init__(self, wanted, device, journal, proofs):
        self.wanted = wanted
        self.folder = TRACEFS / INSTANCE
        self.text, self.lost = "", 0
        if wanted:
            self._set_up(device, journal, proofs)

    def _set_up(self, device, journal, proofs):
        if not (TRACEFS / "events/block").exists():
            raise TrialFailed(
                f"{TRACEFS} has no block tracepoints; expected them for a trial with a trace. "
                "Mount it (mount -t tracefs tracefs /sys/kernel/tracing), or leave the trace out"
            )
        journal.will("remove_trace", self.folder)
        self.folder.mkdir(exist_ok=True)
        number = os.stat(f"/dev/{device}").st_rdev
        filtered = f"dev == {os.major(number) << 20 | os.minor(number)}"  # the kernel's dev_t
        (self.folder / "tracing_on").write_text("0")
        (self.folder / "trace").write_text("")
        (self.folder / "trace_clock").write_text("mono")  # as the sampler's
        (self.folder / "options/overwrite").write_text("0")
        (self.folder / "buffer_size_kb").write_text(str(BUFFER_KIB))
        for event in EVENTS:
            knobs = self.folder / "events/block" / event
            proofs.set(knobs / "filter", filtered)
            (knobs / "enable").write_text("1")

    def __enter__(self):
        if self.wanted:
            (self.folder / "tracing_on").write_text("1")
        return self

    def __exit__(self, *_):
        if self.wanted:
            (self.folder / "tracing_on").write_text("0")
            self.text = (self.folder / "trace").read_text(errors="replace")
            self.lost = sum(
                int(count)
                for stats in self.folder.glob("per_cpu/*/stats")
                for count in LOST.findall(stats.read_text())
            )

    def write(self, file, start_s):
        """Write the events as CSV (`COLUMNS`), their times counted from `start_s`.

        Raises
        ------
        TrialFailed
            When the buffer was too small for all of them.
        """
        if not self.wanted:
            return
        rows = list(parse(self.text, start_s))
        if self.lost:
            raise TrialFailed(
                f"the trace lost {self.lost} events and has {len(rows)}; expected all of them, in "
                f"{BUFFER_KIB >> 10} MiB. Make the workload shorter, or leave the trace out"
            )
        with open(file, "w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows)


def parse(text, start_s):
    """Yield a row for each event in the text of tracefs' ``trace`` file.

    An empty request (a flush without data) has no place: it counts as sector 0. A completion
    is an interrupt's, so that its process is empty.
    """
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        found = LINE.search(line)
        if not found:
            raise TrialFailed(
                f"a line of the trace is not understood: {line!r}; expected a block event as "
                "Linux 6 prints it"
            )
        sectors = int(found["sectors"])
        event = found["event"].removeprefix("block_")
        yield (
            format(float(found["time"]) - start_s, ".6f"),
            event,
            found["operation"],
            int(found["sector"]) if sectors else 0,
            sectors * SECTOR_BYTES,
            "" if event == "rq_complete" else found["process"],
        )


def remove(folder):
    """Take an instance of tracefs away again, with all that it has enabled."""
    if os.path.isdir(folder):
        pathlib.Path(folder, "tracing_on").write_text("0")
        os.rmdir(folder)
