"""A trial's trace: what the block layer did with each request, as tables."""

from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ElevatorLabError

FILE = "trace.csv"
ARM_FILE = "arm.csv"


def read(folder: str | Path) -> pd.DataFrame:
    """Return the events of a traced trial, in the order of time.

    Returns: One row per event: time_s (from the first sample on), event (``rq_insert``,
    ``rq_issue``, ``rq_complete``, ``bio_backmerge``, ``bio_frontmerge``, ``rq_merge``), operation
    (the kernel's letters: R read, W write, S synchronous, A read-ahead, F flush, M metadata),
    sector (of 512 bytes), bytes, process (that ran then; empty at a completion).
    """
    file = Path(folder) / FILE
    if not file.exists():
        raise ElevatorLabError(
            f"{folder} has no {FILE}; expected the result of a trial with trace: true"
        )
    return pd.read_csv(file, keep_default_na=False)


def arm(folder: str | Path) -> pd.DataFrame:
    """Return the times of each request to a disk with an arm, in the order in which they began.

    Returns: One row per request: time_s (of its beginning, from the first sample on), operation (R,
    W), sector, bytes, hit (1: answered from the buffer). The times of its parts: overhead_us,
    waited_us (for a busy arm), seek_us, rotation_us, media_us (the sectors pass under the head),
    bus_us (rest of the transfer over the bus). The arm's cylinder before and after: from_cylinder,
    cylinder.
    """
    file = Path(folder) / ARM_FILE
    if not file.exists():
        raise ElevatorLabError(
            f"{folder} has no {ARM_FILE}; expected the result of a trial with trace: true on a "
            "disk with an arm (device kind drive)"
        )
    return pd.read_csv(file)


def requests(events: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each request that was issued and has ended.

    Returns: In the order of issue: sector, bytes and operation as issued; process (that inserted
    the request into the scheduler, or issued it if there was no scheduler); inserted_s (NaN without
    a scheduler), issued_s, completed_s.
    """
    waiting: dict[Any, Any] = {}
    running: dict[Any, int] = {}
    found: list[dict[str, Any]] = []
    row: Any
    for row in events.itertuples():
        if row.event == "rq_insert":
            waiting[row.sector] = row
        elif row.event == "bio_frontmerge":  # the request begins earlier now
            _move(waiting, row.sector + row.bytes // 512, row.sector)
        elif row.event == "rq_issue":
            running[row.sector] = len(found)
            first = waiting.pop(row.sector, None)
            found.append(
                {
                    "sector": row.sector,
                    "bytes": row.bytes,
                    "operation": row.operation,
                    "process": first.process if first else row.process,
                    "inserted_s": first.time_s if first else None,
                    "issued_s": row.time_s,
                    "completed_s": None,
                }
            )
        elif row.event == "rq_complete" and row.sector in running:
            found[running.pop(row.sector)]["completed_s"] = row.time_s
    columns = "sector bytes operation process inserted_s issued_s completed_s".split()
    table = pd.DataFrame(found, columns=columns)
    times = columns[-3:]
    table[times] = table[times].astype(float)
    return table.dropna(subset="completed_s").reset_index(drop=True)


def _move(waiting: dict[Any, Any], old: Any, new: Any) -> None:
    if old in waiting:
        waiting[new] = waiting.pop(old)
