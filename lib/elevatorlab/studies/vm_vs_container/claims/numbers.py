"""How the printed times and percentages are judged by what was measured."""

from __future__ import annotations

from datetime import date
from typing import Any

import pandas as pd

from ....analysis.improvement import improvement_percent, improvement_range_percent, ratio_range
from ....analysis.intervals import Interval, ratio_interval
from ....judging.claim import Constant
from ....judging.claims import Judge
from ....judging.constants import TIES, DecidedBy
from ....judging.families import Statement
from ....judging.verdicts import (
    TIE_MARGIN,
    Judgement,
    compare,
    not_testable,
    rounding_alone,
    sentence,
    six_digits,
    widened,
)
from ...kit.cells import by_repetition, paired_ratio, rows_of
from ..measures import times_by
from ..published import HALF_STEP_S, TEST_1, times
from .arms import no_arm, not_comparable, with_stand_in
from .caches import in_each_state

LEAST_SIZE = 0.9
"""Of the article's sizes: files of less have a shape of their own."""


def _time_shape(item: Statement, table: pd.DataFrame) -> Judgement:
    where = {name: item.select[name] for name in ("test", "variant")}
    if where["test"] == TEST_1:
        along = "published_size_mb"
        where["scheduler"] = item.select["scheduler"]
    else:
        along = "scheduler"
    of_column = {name: value for name, value in where.items() if name != "variant"}
    column = rows_of(times(), arm=item.select["arm"], **of_column)
    printed = column.set_index(along)["time_s"]

    def shape(arm: str) -> Judgement:
        return _shape(item, rows_of(table, **where, arm=arm), printed, along)

    return with_stand_in(item, table, shape)


def _shape(item: Statement, rows: pd.DataFrame, printed: pd.Series[float], along: str) -> Judgement:
    """Judge one row of a column, measured `rows`, relative to the column's reference row."""
    key = item.select[along]
    if smaller := _smaller_files(rows, along):
        return not_testable(smaller)
    measured = times_by(along, rows)
    # What the article has not, such as a scheduler of somebody's own, is no part of its column.
    ran: list[Any] = [name for name in measured if name in printed.index]
    reference: Any = "none" if along == "scheduler" else max(ran, default=None)
    if key not in ran or reference not in ran or len(ran) < 2:
        words = ", ".join(map(_label, ran)) or "nothing"
        return not_testable(f"Not run here with a reference beside it (ran: {words}).")
    others: list[Any] = [name for name in ran if name != key] if key == reference else [reference]
    ratio = ratio_interval(measured[key], measured[others].mean(axis=1, skipna=False))
    reference_s = printed[others].mean()
    low, high = ratio_range(printed[key], reference_s, HALF_STEP_S)
    tolerance = item.tolerance
    allowed = widened((low, high), tolerance)
    verdict, why, evidence = compare(
        ratio, (low, high), neutral=1, margin=TIE_MARGIN, allowed=allowed
    )
    timed = rows[rows[along] == key]
    reason = (
        f"The time relative to {_beside(along) if key == reference else _label(reference)} is "
        f"{ratio.text()}. Printed: {printed[key] / reference_s:.3g}; with the tolerance, "
        f"{allowed[0]:.4g} to {allowed[1]:.4g} is allowed ({rounding_alone(low, high)}). "
        f"{sentence(why)}. Timed: {timed['size_mib'].mean():.4g} MiB in "
        f"{timed['time_s'].mean():.4g} s."
    )
    cell = _cell(rows[rows[along] == key])
    return Judgement(verdict, six_digits(ratio.value * reference_s), reason, evidence, cell)


def _improvement(item: Statement, table: pd.DataFrame) -> Judgement:
    row, base = item.select, item.select["base"]
    where = {name: row[name] for name in ("test", "variant", "scheduler")}
    if "published_size_mb" in row:
        where["published_size_mb"] = row["published_size_mb"]

    def from_arm(before: str) -> Interval | None:
        after_s, before_s = (
            by_repetition(table, "time_s", **where, arm=arm) for arm in ("container", before)
        )
        ratio = paired_ratio(after_s, before_s)
        return ratio and ratio.map(lambda value: improvement_percent(1, value, base))

    measured = from_arm("vm")
    absent = "vm" if "container" in table["arm"].unique() else "container"
    reason = no_arm(absent, table) if measured is None else not_comparable(table)
    if measured is None or reason:
        alone = from_arm("host")
        if alone is None:
            return not_testable(f"{reason} Nor did this read run on the host arm.")
        return not_testable(
            f"{reason} From host to container, the same formula gives {alone.text(' %')}. The "
            "container layer alone causes this much."
        )
    if smaller := _smaller_files(rows_of(table, **where), "published_size_mb"):
        return not_testable(smaller)
    rounding = improvement_range_percent(
        row["vm_time_s"], row["container_time_s"], HALF_STEP_S, base
    )
    tolerance = item.tolerance
    allowed = rounding[0] - tolerance, rounding[1] + tolerance
    verdict, why, evidence = compare(
        measured, rounding, neutral=0, margin=100 * TIE_MARGIN, allowed=allowed
    )
    reason = (
        f"Measured: {measured.text(' %')}. Printed: {item.published:.4g} %; with the tolerance, "
        f"{allowed[0]:.4g} to {allowed[1]:.4g} % is allowed ({rounding_alone(*rounding)}). "
        f"{sentence(why)}."
    )
    return Judgement(verdict, six_digits(measured.value), reason, evidence)


def _smaller_files(rows: pd.DataFrame, along: str) -> str:
    """Say that files of other sizes than the article's have a shape of their own."""
    if along != "published_size_mb" or rows.empty or rows["published_size_mb"].isna().any():
        return ""
    share = (rows["size_mib"] * 2**20 / (rows["published_size_mb"] * 1e6)).astype(float).max()
    if share >= LEAST_SIZE:
        return ""
    return (
        f"The files that were read are {share:.2g} times as large as the article's. At that size, "
        "the start of the process and the CPU scheduler's tick of 4 ms dominate the time. This "
        "claim needs a preset with the article's sizes. docs/virtual_machines.md says how to run "
        "such a preset in a virtual machine inside the deterministic machine."
    )


def _cell(rows: pd.DataFrame) -> str:
    """Name what was measured, for claims that share it."""
    names = ("test", "variant", "arm", "scheduler", "published_size_mb")
    return ", ".join(f"{rows[name].iloc[0]}" for name in names)


def _beside(along: str) -> str:
    return f"the mean of the other {'schedulers' if along == 'scheduler' else 'sizes'}"


def _label(key: float | str) -> str:
    return key if isinstance(key, str) else f"the {key:g} MB file"


DECIDED_BY: DecidedBy = {
    TIES: ("time_shape", "improvement"),
    Constant(
        name="LEAST_SIZE",
        value=LEAST_SIZE,
        of="of the article's file sizes at least",
        reason="an MB of the article is 0.95 MiB, and a file may lack a few of its blocks",
        fixed=date(2026, 11, 22),
    ): ("time_shape", "improvement"),
}

JUDGES: dict[str, Judge] = {
    "time_shape": in_each_state(_time_shape),
    "improvement": in_each_state(_improvement),
}
