"""The arm on which a claim is judged and, if that arm did not run, the reason for no verdict."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ....judging.families import Statement
from ....judging.matching import emulated_apart, in_words, joined_testbeds
from ....judging.verdicts import (
    Judgement,
    not_testable,
)
from ...kit.choices import continued
from ..measures import ARMS


def with_stand_in(
    item: Statement,
    table: pd.DataFrame,
    judge_arm: Callable[[str], Judgement],
    arm: str | None = None,
) -> Judgement:
    """Judge a claim on its arm. If no VM was measured, say what the host arm gives instead."""
    arm = arm or item.select["arm"]
    arms = table["arm"].unique()
    if arm in arms:
        return judge_arm(arm)
    reason = no_arm(arm, table)
    if arm == "vm" and "host" in arms:
        reason += f" With the host arm in its place: {continued(judge_arm('host').reason)}"
    return not_testable(reason)


def no_arm(arm: str, table: pd.DataFrame) -> str:
    """Say that an arm did not run, and which arms did."""
    arms = [ARMS[one] for one in sorted(table["arm"].unique())]
    where = f"on {in_words(joined_testbeds(table), '', '')}"
    if ARMS[arm] in arms:
        return f"The {ARMS[arm]} arm did not run this read {where}."
    return f"No {ARMS[arm]} was measured {where} (arms: {', '.join(arms)})."


def not_comparable(table: pd.DataFrame) -> str | None:
    """Say why VM and container cannot be compared, if they cannot."""
    emulated = emulated_apart(table, ("vm", "container"))
    if not emulated:
        return None
    return f"Not comparable: the VM's processor is emulated, not virtual ({emulated['vm']})."
