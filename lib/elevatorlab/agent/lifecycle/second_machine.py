"""What a second machine does for a trial of the first, for as long as somebody holds on to it.

Each job prints one line of JSON when it is ready, goes on until the end of its input, and then
restores the machine: whoever asked may just go away.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from typing import TYPE_CHECKING

from ..devices import block_device, nvme_target, schedulers
from ..devices.modules import load_module
from ..errors import AgentError
from . import journal, recovery
from .context import Context
from .proofs import Proofs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


def select_backing_scheduler(scheduler: str, path: str) -> None:
    """Select `scheduler` for the disks below `path`.

    This is how the machine below a virtual machine takes part in the virtual machine's trial.
    """
    with _until_end_of_input() as context:
        for disk in block_device.disks_below(path):
            schedulers.select(disk, {"name": scheduler}, context.journal, context.proofs)


def serve_nvme(backing: str, address: str, host: str, limit_s: str) -> None:
    """Serve a disk over NVMe/TCP to one host, for `limit_s` seconds at most.

    This is how the machine with the disk takes part in the trial of the machine that uses it.
    `backing` is JSON of the trial's ``device.backing``.
    """
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"nobody let go within {limit_s} s"))
    signal.setitimer(signal.ITIMER_REAL, float(limit_s))
    with _until_end_of_input(journal.sole_trial) as context:
        for module in nvme_target.MODULES:
            load_module(module, journal=context.journal)
        disk = block_device.create_backing(json.loads(backing), context)
        nvme_target.serve(f"/dev/{disk}", address, host, context)


@contextlib.contextmanager
def _until_end_of_input(
    lock: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext,
) -> Iterator[Context]:
    """Yield a context; print the proofs, wait for the end of input, restore."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    proofs = Proofs()
    try:
        with lock():
            recovery.recover()
            with journal.Journal() as changes:
                yield Context(changes, proofs)
                print(json.dumps(proofs.records), flush=True)
                sys.stdin.read()
    except AgentError as problem:
        sys.exit(str(problem))
