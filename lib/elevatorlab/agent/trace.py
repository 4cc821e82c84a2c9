"""What the block layer does with each request, from the beginning of the foreground to its end.

A trial without a trace is not the same trial: tracing takes processor time (see `tracefs`).
"""

import csv

from . import tracefs
from .errors import TrialFailed

EVENTS = (
    "block_rq_insert",
    "block_rq_issue",
    "block_rq_complete",
    "block_bio_backmerge",
    "block_bio_frontmerge",
    "block_rq_merge",
)

COLUMNS = ("time_s", "event", "operation", "sector", "bytes", "process")


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
        self.text, self.lost = "", 0
        if not wanted:
            return
        if not tracefs.there():
            raise TrialFailed(
                f"{tracefs.TRACEFS} has no block tracepoints; expected them for a trial with a "
                "trace. Mount it (mount -t tracefs tracefs /sys/kernel/tracing), or leave the "
                "trace out"
            )
        self.buffer = tracefs.of_device("elevatorlab", device, EVENTS, journal, proofs)

    def __enter__(self):
        if self.wanted:
            self.buffer.start()
        return self

    def __exit__(self, *_):
        if self.wanted:
            self.text, self.lost = self.buffer.stop()

    def write(self, file, start_s):
        """Write the events as CSV (`COLUMNS`), their times counted from `start_s`.

        Raises
        ------
        TrialFailed
            When the buffer was too small for all of them.
        """
        if not self.wanted:
            return
        rows = list(rows_since(self.text, start_s))
        if self.lost:
            raise TrialFailed(
                f"the trace lost {self.lost} events and has {len(rows)}; expected all of them, in "
                f"{tracefs.BUFFER_KIB >> 10} MiB. Make the workload shorter, or leave the trace out"
            )
        with open(file, "w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(rows)


def rows_since(text, start_s):
    """Yield a row of `COLUMNS` for each event in the text of a trace."""
    for event in tracefs.parse(text):
        yield (format(event.time_s - start_s, ".6f"), *event[1:])
