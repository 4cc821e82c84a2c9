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
from .published import HALF_STEP_S, TEST_1, TEST_2, printed_times

BASES: tuple[Literal["before", "after"], ...] = ("before", "after")
"""The VM's time, and the container's."""

PERCENT_DECIMALS = {TEST_1: 2, TEST_2: 8}


def _percentage(item: Statement, _: pd.DataFrame) -> Judgement:
    """Recompute a printed percentage of the VM's time; name the container's as base if it is."""
    row = item.select
    decimals = PERCENT_DECIMALS[TEST_1 if "published_size_mb" in row else TEST_2]
    printed_s = row["vm_time_s"], row["container_time_s"]
    of_vm, of_container = (improvement_percent(*printed_s, base) for base in BASES)
    agrees = same_as_printed(of_vm, item.number, decimals)
    if agrees:
        low, high = improvement_range_percent(*printed_s, HALF_STEP_S, "before")
        reason = (
            "The printed digits follow from the printed times. Rounding these times to 1 ms "
            f"allows {low:.4g} to {high:.4g} %."
        )
    else:
        reason = f"Relative to the VM's time, as in Tables 1 to 4, it is {of_vm:.{decimals}f} %."
        if same_as_printed(of_container, item.number, decimals):
            reason += (
                f" The printed {item.published:g} % is relative to the container's time, although "
                "the column has the same heading."
            )
    return Judgement(reproduced_if(agrees), round(of_vm, decimals), reason)


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


JUDGES: dict[str, Judge] = {
    "percentage": _percentage,
    "none_has_shortest_printed_time": _none_has_shortest_printed_time,
    "container_has_shorter_printed_time": _container_has_shorter_printed_time,
}
