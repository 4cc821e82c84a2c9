"""How the claims of section 3.2.4 are judged: what an overloaded container does to the others.

The paper does not say how many writers overload the disk, nor how large their writes are. It does
say how long they wait alone. So for each number of writers, only one service time is possible, and
on this disk only one size of a write (`disks.overload_bytes`). Each claim is judged with every
number of writers that was measured. It is contradicted only if no number explains it.
"""

from __future__ import annotations

from functools import wraps

import numpy as np
import pandas as pd

from ....analysis.intervals import mean_interval, ratio_interval
from ....judging.claim import Role
from ....judging.claims import Judge
from ....judging.families import Statement
from ....judging.verdicts import (
    TIE_MARGIN,
    Judgement,
    Verdict,
    compare,
    not_testable,
)
from ...kit.cells import by_repetition
from ...kit.choices import Choice, together
from ..measures.interference import overloads, rises, waits
from ..trials.disks import WRITERS
from .interference import four_digits, held, not_run

_WRITERS = Choice("The paper does not say how many writers overload the disk", "number")


def _whatever_overloads(judge: Judge) -> Judge:
    """Let a claim be judged with each number of writers; see the module's docstring."""

    @wraps(judge)
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        found = {words: judge(item, rows) for words, rows in overloads(table).items()}
        first = next(iter(found.values()))
        if item.role == Role.CALIBRATION or first.verdict == Verdict.NOT_TESTABLE:
            return first
        measured = (one for one in found.items() if one[1].verdict != Verdict.NOT_TESTABLE)
        return together(dict(measured), _WRITERS, len(WRITERS))

    return judged


def _overload_wait(item: Statement, table: pd.DataFrame) -> Judgement:
    row, found = item.select, waits(table)
    here = (found["containers"] == row["normal_containers"]) & (
        found["overloaded"] == row["overloaded_containers"]
    )
    values = found.loc[here, f"{row['subject']}_ms"].dropna()
    if values.empty:
        return not_run(row["row"])
    cell = _beside(row["normal_containers"], row["overloaded_containers"])
    return held(item, mean_interval(values), row["half_step"], " ms", cell)


def _beside(normal: float, overloaded: float) -> str:
    """Name the measured cell; claims that rest on the same cell get the same name."""
    if not overloaded:
        return f"{normal:g} equal containers"
    return f"{normal:g} normal beside {overloaded:g} overloaded containers"


def _rise(item: Statement, table: pd.DataFrame) -> Judgement:
    row, found = item.select, rises(table)
    column = "rise_ms" if row["subject"] == "normal" else "overloaded_rise_ms"
    values = found.loc[found["containers"] == row["normal_containers"], column].dropna()
    if values.empty:
        return not_run(row["row"])
    cell = _beside(row["normal_containers"], 1)
    return held(item, mean_interval(values), row["half_step"], " ms", cell)


def _normal_suffers_more(item: Statement, table: pd.DataFrame) -> Judgement:
    found = rises(table).dropna()
    found = found[(found["rise_ms"] > 0) & (found["overloaded_rise_ms"] > 0)]
    if found.empty:
        return not_run("an overloaded container alone and beside a normal one")
    sides = found[found["containers"] == found["containers"].min()].set_index("repetition")
    ratio = ratio_interval(sides["rise_ms"], sides["overloaded_rise_ms"])
    verdict, why, evidence = compare(ratio, (1 + TIE_MARGIN, np.inf), neutral=1, margin=0)
    reason = f"dW normal / overloaded: {ratio.text()}; {why}."
    return Judgement(verdict, four_digits(ratio.value), reason, evidence)


def _change(column: str, grows: bool) -> Judge:
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        found = rises(table).dropna(subset=[column])
        counts = sorted(found["containers"].unique())
        if len(counts) < 2:
            return not_run("two or more numbers of normal containers beside an overloaded one")
        if (found[column] <= 0).any():
            return not_testable("Some containers wait less beside the overload: no ratio of rises.")
        most, fewest = (
            by_repetition(found, column, containers=count) for count in (counts[-1], counts[0])
        )
        ratio = ratio_interval(most, fewest)
        change = 1 + item.threshold
        claimed = (change, np.inf) if grows else (1 / change, change)
        verdict, why, evidence = compare(ratio, claimed, neutral=1, margin=TIE_MARGIN)
        reason = (
            f"From {counts[0]:g} to {counts[-1]:g} normal containers: {ratio.text()} times; {why}."
        )
        return Judgement(verdict, four_digits(ratio.value), reason, evidence)

    return judged


JUDGES: dict[str, Judge] = {
    "overload_wait": _whatever_overloads(_overload_wait),
    "rise": _whatever_overloads(_rise),
    "normal_suffers_more": _whatever_overloads(_normal_suffers_more),
    "rise_changes_little": _whatever_overloads(_change("rise_ms", grows=False)),
    "system_rise_grows": _whatever_overloads(_change("system_rise_ms", grows=True)),
}
