"""What VM exits cost on the deterministic machine, and which verdicts depend on this cost.

On the deterministic machine, an exit costs only the instructions of KVM and QEMU. On a real
processor, the switch itself also takes time, which no instruction shows (docs/virtual_machines.md).
"""

from __future__ import annotations

from collections import Counter

import pandas as pd

from ....judging.claim import PUBLISHED_DATA
from ....judging.matching import Run, runs
from ....judging.verdicts import Verdict
from ...kit.cells import rows_of
from ...kit.tables import Captioned
from ..claims import judge

#: Instructions that the table of sensitivity adds to each exit.
MORE_INSTRUCTIONS = (-1000, 1000, 4000)

#: The variant in which each read or write of a workload becomes a request.
THROUGH_THE_DISK = "direct"

COSTS = (
    "VM exits, counted by KVM, divided by the requests to the disk under test. A dash stands where "
    "nothing was requested from the disk. The table also has the instructions that the machine "
    "executed from one exit to the next. Only with direct I/O does every read or write become a "
    "request to the disk, so the last three columns have values only for direct I/O. They have the "
    "instructions per request in a container, the instructions that KVM, QEMU and virtio add for "
    "each exit, and the second number divided by the first."
)
SENSITIVITY = (
    "How verdicts depend on the cost of a VM exit. Each row adds instructions to every exit "
    "(1 instruction = 1 ns); a negative number removes instructions. Then the claims are judged "
    "again. The table overstates the effect: on a real machine, an exit costs no additional time "
    "while the reader waits for the disk."
)
KEYS = ["test", "variant", "scheduler"]


def exit_tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the tables of exits and of the verdicts that depend on them.

    The list is empty if no exits were counted.
    """
    counted = [run for run in runs(measured) if run.rows["exits"].notna().any()]
    if not counted:
        return []
    costs = pd.concat([_costs(run) for run in counted], ignore_index=True)
    hangs = pd.concat([_sensitivity(run) for run in counted], ignore_index=True)
    return [(COSTS, costs), (SENSITIVITY, hangs)]


def _costs(run: Run) -> pd.DataFrame:
    """Return one row for each test, variant and scheduler in the virtual machine."""
    guest, container = (_totals(run.rows, arm) for arm in ("vm", "container"))
    rows = []
    for key, of_guest in guest.items():
        row = {"run": run.label, **dict(zip(KEYS, key, strict=True))}
        requested = of_guest["requests"] > 0
        a_request = of_guest["exits"] / of_guest["requests"] if requested else 0
        row["exits per request"] = f"{a_request:.1f}" if requested else "–"
        row["instructions per exit"] = _rounded(
            1e9 * of_guest["busy_s"] / max(1, of_guest["exits"])
        )
        found = ["–"] * 3
        is_counted = key in container and container[key]["busy_s"] > 0 and a_request > 0
        if row["variant"] == THROUGH_THE_DISK and is_counted:
            inside, outside = (
                1e9 * one["busy_s"] / max(1, one["requests"]) for one in (of_guest, container[key])
            )
            added = (inside - outside) / a_request
            found = [_rounded(outside), _rounded(added), f"{added / outside:.2f}"]
        names = ("a request in a container", "added per exit", "ratio of the two")
        rows.append({**row, **dict(zip(names, found, strict=True))})
    return pd.DataFrame(rows)


def _totals(rows: pd.DataFrame, arm: str) -> dict[tuple[str, ...], dict[str, float]]:
    """Return the sums of the counts of an arm's trials, by `KEYS`.

    Each trial counts once, although its counts are in several rows.
    """
    trials = rows_of(rows, arm=arm).drop_duplicates("trial")
    sums = trials.groupby(KEYS, as_index=False)[["busy_s", "requests", "exits"]].sum()
    return {
        tuple(str(one[key]) for key in KEYS): {
            name: float(one[name]) for name in ("busy_s", "requests", "exits")
        }
        for _, one in sums.iterrows()
    }


def _rounded(instructions: float) -> str:
    return f"{instructions:,.0f}"


def _sensitivity(run: Run) -> pd.DataFrame:
    """Return one row for each of `MORE_INSTRUCTIONS`: the verdicts that change."""
    before = _verdicts(run.rows)
    rows = []
    for more in MORE_INSTRUCTIONS:
        after = _verdicts(with_exits_longer(run.rows, more))
        changes = Counter(
            f"{before[claim]}, then {after[claim]}"
            for claim in before
            if before[claim] != after[claim]
        )
        rows.append(
            {
                "run": run.label,
                "additional instructions per exit": more,
                "claims judged": sum(one != Verdict.NOT_TESTABLE for one in before.values()),
                "verdicts that change": changes.total(),
                "which": "; ".join(f"{count} {what}" for what, count in changes.items()) or "–",
            }
        )
    return pd.DataFrame(rows)


def with_exits_longer(rows: pd.DataFrame, instructions: float) -> pd.DataFrame:
    """Return the rows with the times that they would have if each exit took longer.

    `instructions`: How much longer an exit takes, in instructions of 1 ns each; may be negative.
    """
    rate_hz = (rows["exits"] / rows["window_s"]).astype(float).fillna(0)
    return rows.assign(time_s=rows["time_s"] * (1 + rate_hz * instructions * 1e-9).clip(lower=0.01))


def _verdicts(rows: pd.DataFrame) -> dict[str, Verdict]:
    """Return the verdicts that rest on a measurement, by claim."""
    judged = (claim for claim in judge(rows) if claim.testbed != PUBLISHED_DATA)
    return {claim.id: claim.verdict for claim in judged}
