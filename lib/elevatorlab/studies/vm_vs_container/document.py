"""Judge the claims that need the article alone: do its tables agree with themselves?"""

from __future__ import annotations

from typing import Literal

import pandas as pd

from ...analysis.improvement import (
    improvement_percent,
    improvement_range_percent,
    same_as_printed,
)
from ...judging.engine import Judge
from ...judging.families import Statement
from ...judging.verdicts import Judgement, Verdict, reproduced_if
from ..kit.cells import rows_of
from .published import HALF_STEP_S, TEST_1, TEST_2, printed_times, times

Base = Literal["before", "after"]

PERCENT_DECIMALS = {TEST_1: 2, TEST_2: 8}


def _percentage(base: Base) -> Judge:
    def recompute(item: Statement, _: pd.DataFrame) -> Judgement:
        row = item.select
        decimals = PERCENT_DECIMALS[TEST_1 if "published_size_mb" in row else TEST_2]
        printed_s = row["vm_time_s"], row["container_time_s"]
        exact = improvement_percent(*printed_s, base)
        value = round(exact, decimals)
        low, high = improvement_range_percent(*printed_s, HALF_STEP_S, base)
        agrees = same_as_printed(exact, item.number, decimals)
        other = "container's" if base == "before" else "VM's"
        reason = (
            "The printed digits follow from the printed times. Rounding these times to 1 ms "
            f"allows {low:.4g} to {high:.4g} %."
            if agrees
            else f"The printed {item.published:g} % is relative to the {other} time, although the "
            "column has the same heading as in Tables 1 to 4 and should mean the same. Relative "
            f"to the VM's time, as in those tables, it is {value:g} %."
        )
        return Judgement(reproduced_if(agrees), value, reason)

    return recompute


def _longer_files_take_longer(item: Statement, _: pd.DataFrame) -> Judgement:
    column = _column(item.select["table"], item.select["arm"])
    falls = [
        f"{size:g} MB ({after:g} s after {before:g} s)"
        for size, before, after in zip(column.index[1:], column, column.iloc[1:], strict=False)
        if after < before
    ]
    if not falls:
        return Judgement(Verdict.REPRODUCED, "0 rows", "The printed times never fall.")
    reason = (
        f"Faster than the next smaller file: {', '.join(falls)}. Rounding cannot explain this, "
        "but single runs without repetitions can."
    )
    return Judgement(Verdict.CONTRADICTED, f"{len(falls)} rows", reason)


def _none_has_shortest_printed_time(item: Statement, _: pd.DataFrame) -> Judgement:
    test, arm = item.select["test"], item.select["arm"]
    table = printed_times(test, arm).pivot_table(
        index="published_size_mb", columns="scheduler", values="time_s"
    )
    faster = [
        f"{name}{f' at {size:g} MB' if test == TEST_1 else ''}"
        for size, row in table.iterrows()
        for name in row.index[row < row["none"]]
    ]
    ties = int((table.drop(columns="none").min(axis=1) == table["none"]).sum())
    if faster:
        reason = f"Printed as faster than none: {', '.join(faster)}."
        if test == TEST_1:
            reason += " The differences are 1 ms, the resolution of the table."
        return Judgement(Verdict.CONTRADICTED, f"{len(faster)} faster", reason)
    reason = f"No other scheduler is printed as faster; equal in {ties} of {len(table)} rows."
    return Judgement(Verdict.REPRODUCED, "0 faster", reason)


def _container_has_shorter_printed_time(item: Statement, _: pd.DataFrame) -> Judgement:
    printed = printed_times(item.select["test"]).pivot_table(
        index=["table", "row"], columns="arm", values="time_s"
    )
    slower = int((printed["container"] >= printed["vm"]).sum())
    faster = f"{len(printed) - slower} of {len(printed)} rows"
    verdict = reproduced_if(not slower)
    return Judgement(verdict, faster, f"The container's time is the shorter one in {faster}.")


# Shared


def _column(table: str, arm: str) -> pd.Series:
    return rows_of(times(), table=table, arm=arm).set_index("published_size_mb")["time_s"]


JUDGES: dict[str, Judge] = {
    "percentage_base_vm": _percentage("before"),
    "percentage_base_container": _percentage("after"),
    "longer_files_take_longer": _longer_files_take_longer,
    "none_has_shortest_printed_time": _none_has_shortest_printed_time,
    "container_has_shorter_printed_time": _container_has_shorter_printed_time,
}
