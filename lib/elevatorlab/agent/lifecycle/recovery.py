"""What killed agents have left changed, and the undoing of it.

The journal of another agent may name any action. So this file imports each one that registers
actions, whether or not it calls it; `tests/unit/test_agent_journal.py` finds one that is missing.
"""

from __future__ import annotations

import fcntl
import json
import pathlib
from typing import TYPE_CHECKING

from ..devices import block_device, cable, modules, nvme_tcp, partitions
from ..groups import cgroups, isolation
from ..observe import tracefs
from ..regulator import actuator
from . import journal

if TYPE_CHECKING:
    from typing import TextIO

OWNERS = (
    *(block_device, cable, modules, nvme_tcp, partitions),
    *(cgroups, isolation, tracefs, actuator),
)


def recover(folder: pathlib.Path = journal.FOLDER) -> int:
    """Undo what agents that no longer run have left changed; return after how many that is done.

    What cannot be undone now stays in the journal, and is tried again the next time.
    """
    recovered = 0
    for path in sorted(folder.glob("*.jsonl")):
        with open(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # its agent lives
                continue
            failed = journal.undo(_whole_lines(file))
            journal.keep(failed, path)
            recovered += not failed
    return recovered


def _whole_lines(file: TextIO) -> list[list[str]]:
    steps = []
    for line in file:
        try:
            steps.append(json.loads(line))
        except json.JSONDecodeError:  # cut off by the kill: its change was never made
            break
    return steps
