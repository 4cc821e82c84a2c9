"""Small tables of what was measured."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from ...analysis.intervals import Interval, geometric_interval
from ...analysis.ranking import DECIDED
from ...judging import engine
from ...judging.claim import Claim, is_measured
from ...judging.families import statements
from ...judging.matching import Run, runs
from ...judging.verdicts import TIE_MARGIN, Verdict
from ..kit.cells import rows_of
from ..kit.tables import PLACE, Captioned, cells, machine_name, value_and_interval
from .claims import JUDGES, judge
from .measures import left_out_of_the_guest, ranking, total_ratio
from .published import NAME
from .trials import ALONE, CROSSED, DRIVE_SUFFIX

CELL = ("test", "variant", "arm", "scheduler")
WHERE = {name: name for name in PLACE}
WHERE |= {"test": "test", "variant": "variant", "arm": "arm", "backing_scheduler": "physical disk"}

OVERVIEW = (
    "Measured: time for all reads of a repetition, as geometric mean and 95 % confidence interval "
    "over repetitions. The column storage / read divides the bytes that came from storage by the "
    "bytes that the reader read."
)
ON_A_DRIVE = (
    "Do the schedulers differ on a hard disk? The table gives the time for all reads relative to "
    "the scheduler none, on the study's SSD and on a hard disk. The caches were dropped before the "
    "reads, or the reads bypassed the page cache (O_DIRECT)."
)
GUEST_OR_HOST = (
    "Who should schedule, guest or host? The table has the time for all reads with caches dropped, "
    "relative to the scheduler none in both. A scheduler runs in the virtual machine alone, on its "
    "host alone, or in both. The ratio is the time with the scheduler in the virtual machine "
    "alone, divided by the time with the scheduler on the host alone. Below 1, the scheduler is "
    "better in the virtual machine."
)
STABILITY = (
    "Would other repetitions rank the schedulers the same? The repetitions are resampled "
    "(bootstrap). The table has the share of resamples with the same order, and with the same "
    f"winner. Below {DECIDED:.0%}, the ranking is undecided. A few repetitions may agree by chance "
    "alone. If two schedulers do not differ, five repetitions still name the same winner in 1 of "
    f"16 cases. So a share of {DECIDED:.0%} or more does not count if chance alone makes all "
    f"repetitions agree in more than {1 - DECIDED:.0%} of cases. The table then says “too few "
    "repetitions”."
)


def tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the study's tables, each with its caption."""
    return [
        overview_table(measured),
        stability_table(measured),
        *drive_table(measured),
        *pairs_table(measured),
        *exit_tables(measured),
    ]


def drive_table(measured: pd.DataFrame) -> list[Captioned]:
    """Return a caption and one row for each test, state of the cache and scheduler on a drive."""
    rows = []
    for run in runs(measured):
        on_drive = run.rows[run.rows["variant"].str.endswith(DRIVE_SUFFIX)]
        for cell, _ in cells(on_drive[on_drive["scheduler"] != "none"], CELL):
            without = {**cell, "variant": cell["variant"].removesuffix(DRIVE_SUFFIX)}
            found = {
                name: total_ratio(run.rows, one, {**one, "scheduler": "none"})
                for name, one in (("SSD", without), ("hard disk", cell))
            }
            told = {name: "–" if one is None else one.text() for name, one in found.items()}
            rows.append({"run": run.label, **without, **told})
    columns = ["run", *CELL, "SSD", "hard disk"]
    return [(ON_A_DRIVE, pd.DataFrame(rows, columns=columns))] if rows else []


def pairs_table(measured: pd.DataFrame) -> list[Captioned]:
    """Return a caption and one row per test and scheduler: in the guest, on the host, in both.

    The list is empty unless several schedulers of the host were measured.
    """
    rows = []
    for run in runs(measured):
        crossed = rows_of(run.crossed, arm="vm", variant=CROSSED)
        crossed = crossed.fillna({"backing_scheduler": ALONE})
        if not run.deterministic or crossed["backing_scheduler"].nunique() < 2:
            continue
        for cell, _ in cells(crossed[crossed["scheduler"] != ALONE], ("test", "scheduler")):
            of_test, name = rows_of(crossed, test=cell["test"]), cell["scheduler"]
            guest, host, both, nobody = (
                {"scheduler": inside, "backing_scheduler": outside}
                for inside, outside in ((name, ALONE), (ALONE, name), (name, name), (ALONE, ALONE))
            )
            sides = {
                "guest alone": (guest, nobody),
                "host alone": (host, nobody),
                "both": (both, nobody),
                "guest / host": (guest, host),
            }
            found = {what: total_ratio(of_test, *pair) for what, pair in sides.items()}
            told = {what: "–" if one is None else one.text() for what, one in found.items()}
            between = found["guest / host"]
            rows.append({"run": run.label, **cell, **told, "better in": _better(between)})
    return [(GUEST_OR_HOST, pd.DataFrame(rows))] if rows else []


def overview_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each test, variant, arm and scheduler."""
    rows = []
    names = {**WHERE, "scheduler": "scheduler"}
    for cell, reads in _named_cells(measured, names):
        runs = reads.groupby("repetition")[["time_s", "bytes_read", "storage_read_bytes"]].sum()
        time, interval = value_and_interval(geometric_interval(runs["time_s"] * 1000))
        rows.append(
            {
                **cell,
                "repetitions": len(runs),
                "time (ms)": time,
                "95 % interval (ms)": interval,
                "storage / read": f"{runs.storage_read_bytes.sum() / runs.bytes_read.sum():.2f}",
            }
        )
    figures = ["repetitions", "time (ms)", "95 % interval (ms)", "storage / read"]
    caption = f"{OVERVIEW} {left_out_of_the_guest(measured)}".rstrip()
    return caption, _table(rows, [*names.values(), *figures])


def stability_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each test, variant and arm: how stable the ranking is."""
    rows = []
    for cell, reads in _named_cells(measured, WHERE):
        found = ranking(reads)
        if found is None:
            continue
        rows.append(
            {
                **cell,
                "repetitions": found.repetitions,
                "order": " < ".join(found.order),
                "order kept": _share(found.order_stays, found.order_says),
                "winner kept": _share(found.winner_stays, found.winner_says),
            }
        )
    figures = ["repetitions", "order", "order kept", "winner kept"]
    return STABILITY, _table(rows, [*WHERE.values(), *figures])


def _better(ratio: Interval | None) -> str:
    """Say whether a scheduler is faster in the guest or on the host, if the interval decides it."""
    if ratio is None:
        return "not run"
    found = ratio.direction(1, TIE_MARGIN)
    return "undecided" if found is None else {-1: "guest", 0: "neither", 1: "host"}[found]


def _named_cells(
    measured: pd.DataFrame, keys: Mapping[str, str]
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield each combination of values of `keys`, as the table shows the values, and its rows."""
    for names, rows in cells(measured, keys):
        names["machine"] = machine_name(names["machine"])
        if pd.isna(names["physical disk"]):
            names["physical disk"] = "as it was"
        yield names, rows


def _table(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Make a table; drop the machine, or the physical disk's scheduler, if there is only one."""
    table = pd.DataFrame(rows, columns=columns)
    same = [name for name in ("machine", "physical disk") if table[name].nunique() < 2]
    return table.drop(columns=same)


def _share(share: float, says: str) -> str:
    if math.isnan(share):
        return says
    return f"{share:.0%}" if says == "decided" else f"{share:.0%}, {says}"


# What VM exits cost on the deterministic machine, and which verdicts depend on this cost. There, an
# exit costs only the instructions of KVM and QEMU. On a real processor, the switch itself also
# takes time, which no instruction shows (docs/virtual_machines.md).

#: Instructions that the table of sensitivity adds to each exit.
MORE_INSTRUCTIONS = (-1000, 1000, 4000)

COSTS = (
    "VM exits, counted by KVM, divided by the requests to the disk under test. A dash stands where "
    "nothing was requested from the disk. The table also has the instructions that the machine "
    "executed from one exit to the next."
)
SENSITIVITY = (
    "How verdicts depend on the cost of a VM exit. Each row adds instructions to every exit "
    "(1 instruction = 1 ns); a negative number removes instructions. Then the claims that were "
    "testable are judged again. The table overstates the effect: on a real machine, an exit costs "
    "no additional time while the reader waits for the disk."
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
    # Each trial counts once, although its counts are in several rows.
    trials = rows_of(run.rows, arm="vm").drop_duplicates("trial")
    sums = trials.groupby(KEYS, as_index=False)[["busy_s", "requests", "exits"]].sum()
    a_request = sums["exits"] / sums["requests"].where(sums["requests"] > 0)
    an_exit = 1e9 * sums["busy_s"] / sums["exits"].clip(lower=1)
    table = sums[KEYS].assign(
        **{
            "exits per request": a_request.map("{:.1f}".format).where(a_request.notna(), "–"),
            "instructions per exit": an_exit.map("{:,.0f}".format),
        }
    )
    table.insert(0, "run", run.label)
    return table


def _sensitivity(run: Run) -> pd.DataFrame:
    """Return one row for each of `MORE_INSTRUCTIONS`: the verdicts that change."""
    before = _verdicts(judge(run.rows))
    judged = [one for one in statements(NAME) if one.claim["id"] in before]
    rows = []
    for more in MORE_INSTRUCTIONS:
        again = engine.judge(judged, JUDGES, with_exits_longer(run.rows, more))
        after = {claim.id: claim.verdict for claim in again}
        changes = Counter(
            f"{before[claim]}, then {after[claim]}"
            for claim in before
            if before[claim] != after[claim]
        )
        rows.append(
            {
                "run": run.label,
                "additional instructions per exit": more,
                "claims judged": len(before),
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


def _verdicts(claims: Iterable[Claim]) -> dict[str, Verdict]:
    """Return the verdicts of the claims that a measurement could test, by claim."""
    return {
        claim.id: claim.verdict
        for claim in claims
        if is_measured(claim) and claim.verdict != Verdict.NOT_TESTABLE
    }
