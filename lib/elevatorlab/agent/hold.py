"""Keep a disk's scheduler for as long as somebody holds on to it."""

import json
import signal
import sys

from . import devices, journal, schedulers
from .proofs import Proofs


def hold(scheduler, path):
    """Select `scheduler` for the disks below `path`, print the proofs, restore at end of input.

    This is how the machine below a virtual machine takes part in the virtual machine's trial.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    journal.recover()
    proofs = Proofs()
    with journal.Journal() as changes:
        for disk in devices.disks_below(path):
            schedulers.select(disk, {"name": scheduler}, changes, proofs)
        print(json.dumps(proofs.records), flush=True)
        sys.stdin.read()
