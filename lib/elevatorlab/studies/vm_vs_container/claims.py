"""How each claim of the article is judged; the claims are in data/claims/vm_vs_container.yaml.

A judging function takes a statement and the measured rows of one testbed and preset. Times
are always paired by repetition, never pooled, and only ratios are held against the article:
its seconds come from another machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd

from elevatorlab import claims
from elevatorlab.analysis.improvement import (
    improvement_percent,
    improvement_range_percent,
    ratio_range,
    rounding_half_step,
    same_as_printed,
)
from elevatorlab.analysis.intervals import Interval, mean_interval, ratio_interval
from elevatorlab.claims import Claim, Finding, Statement, Verdict
from elevatorlab.errors import ElevatorLabError

from .published import STUDY, TEST_1, TEST_2, TIME_DECIMALS, times

SCHEDULERS = ("none", "mq-deadline", "bfq", "kyber")
HALF_STEP_S = rounding_half_step(TIME_DECIMALS)
PERCENT_DECIMALS = {TEST_1: 2, TEST_2: 8}

COLUMNS = (
    "trial study testbed preset arm scheduler variant test published_size_mb size_mib seed "
    "repetition time_s bytes_read device_read_bytes storage_read_bytes image_digest"
).split()


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every number and sentence of the article its verdict.

    Parameters
    ----------
    measured : pandas.DataFrame
        One row a timed read, with `COLUMNS`; empty for published data alone. Times in
        seconds, sizes as named.

    Returns
    -------
    list of Claim
        Claims about the document once; the others once for each testbed and preset.

    Raises
    ------
    ElevatorLabError
        When a column is missing, or one read was measured twice in the same repetition.
    """
    missing = [column for column in COLUMNS if column not in measured]
    if missing:
        raise ElevatorLabError(
            f"measured table: expected the columns of one row per timed read; found none named "
            f"{', '.join(missing)}; make it with elevatorlab.store.load"
        )
    read = ["testbed", "preset", "arm", "scheduler", "variant", "test", "published_size_mb"]
    twice = measured[measured.duplicated([*read, "repetition"], keep=False)]
    if len(twice):
        raise ElevatorLabError(
            f"measured table: expected each read once per repetition; found {len(twice)} rows "
            f"that share one (trials {', '.join(sorted(set(twice['trial'])))}); keep the trials "
            "of one image and one set of parameters"
        )
    return claims.judge(claims.statements(STUDY), JUDGES, measured)


# What the tables say about themselves


def _percentage(base: str) -> claims.Judge:
    def recompute(item: Statement, _: pd.DataFrame) -> Finding:
        row = item.select
        decimals = PERCENT_DECIMALS[TEST_1 if "published_size_mb" in row else TEST_2]
        printed_s = row["vm_time_s"], row["container_time_s"]
        exact = improvement_percent(*printed_s, base)
        value = round(exact, decimals)
        low, high = improvement_range_percent(*printed_s, HALF_STEP_S, base)
        agrees = same_as_printed(exact, item.published, decimals)
        other = {"before": "container's", "after": "VM's"}[base]
        reason = (
            f"The printed digits follow from the printed times; these are rounded to 1 ms, "
            f"which by itself allows {low:.4g} to {high:.4g} %."
            if agrees
            else f"The printed {item.published:g} % divides by the {other} time, although "
            f"heading and meaning are those of Tables 1 to 4; on their base it is {value:g} %."
        )
        return Finding(Verdict.REPRODUCED if agrees else Verdict.CONTRADICTED, value, reason)

    return recompute


def _longer_files_take_longer(item: Statement, _: pd.DataFrame) -> Finding:
    column = _printed_column(item.select["table"], item.select["arm"])
    falls = [
        f"{size:g} MB ({after:g} s after {before:g} s)"
        for size, before, after in zip(column.index[1:], column, column.iloc[1:], strict=False)
        if after < before
    ]
    if not falls:
        return Finding(Verdict.REPRODUCED, "0 rows", "The printed times never fall.")
    reason = (
        f"Faster than the next smaller file: {', '.join(falls)}. Rounding cannot explain it; "
        "single runs without repetitions can."
    )
    return Finding(Verdict.CONTRADICTED, f"{len(falls)} rows", reason)


def _implied_read_rate(item: Statement, _: pd.DataFrame) -> Finding:
    limit_mb_s = item.claim["tolerance"]
    column = _printed_column(item.select["table"], item.select["arm"])
    slowest_possible = column.index / (column + HALF_STEP_S)
    rates = column.index / column
    above = int((slowest_possible > limit_mb_s).sum())
    reason = (
        f"The printed times mean {rates.min():.0f} to {rates.max():.0f} MB/s; {above} of "
        f"{len(column)} rows exceed {limit_mb_s:.0f} MB/s whatever the rounding, so these "
        "reads were answered from the page cache and no scheduler saw them. (The article "
        "names no SSD; sda is the kernel's name for a disk behind SATA or SCSI.)"
    )
    verdict = Verdict.CONTRADICTED if above else Verdict.REPRODUCED
    return Finding(verdict, _digits(rates.max()), reason)


def _none_has_shortest_printed_time(item: Statement, _: pd.DataFrame) -> Finding:
    test, arm = item.select["test"], item.select["arm"]
    table = _printed(test, arm).pivot_table(
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
        return Finding(Verdict.CONTRADICTED, f"{len(faster)} faster", reason)
    reason = f"No other scheduler is printed as faster; equal in {ties} of {len(table)} rows."
    return Finding(Verdict.REPRODUCED, "0 faster", reason)


def _container_has_shorter_printed_time(item: Statement, _: pd.DataFrame) -> Finding:
    printed = _printed(item.select["test"]).pivot_table(
        index=["table", "row"], columns="arm", values="time_s"
    )
    slower = int((printed["container"] >= printed["vm"]).sum())
    faster = f"{len(printed) - slower} of {len(printed)} rows"
    verdict = Verdict.CONTRADICTED if slower else Verdict.REPRODUCED
    return Finding(verdict, faster, f"The container's time is the shorter one in {faster}.")


# What a run says about the printed times


def _time_shape(item: Statement, table: pd.DataFrame) -> Finding:
    where = {name: item.select[name] for name in ("test", "variant")}
    if where["test"] == TEST_1:
        along = "published_size_mb"
        where["scheduler"] = item.select["scheduler"]
    else:
        along = "scheduler"
    printed = _rows(_all_printed(), arm=item.select["arm"], **_without(where, "variant"))
    printed = printed.set_index(along)["time_s"]

    def shape(arm: str) -> Finding:
        return _shape(item, _rows(table, **where, arm=arm), printed, item.select[along])

    return _with_stand_in(item, table, shape)


def _shape(item: Statement, rows: pd.DataFrame, printed: pd.Series, key: float | str) -> Finding:
    """Judge one row of a column, measured `rows`, relative to the column's reference row."""
    along = printed.index.name
    measured = _pivot(rows, along)
    reference = "none" if along == "scheduler" else max(measured, default=None)
    if key not in measured or reference not in measured or len(measured.columns) < 2:
        ran = ", ".join(map(_label, measured)) or "nothing"
        return _not_testable(f"Not run here with a reference beside it (ran: {ran}).")
    others = [name for name in measured if name != key] if key == reference else [reference]
    ratio = ratio_interval(measured[key], measured[others].mean(axis=1, skipna=False))
    reference_s = printed[others].mean()
    low, high = ratio_range(printed[key], reference_s, HALF_STEP_S)
    tolerance = item.claim["tolerance"]
    allowed = low * (1 - tolerance), high * (1 + tolerance)
    verdict, why = claims.compare(ratio, (low, high), neutral=1, margin=_MARGIN, allowed=allowed)
    timed = rows[rows[along] == key]
    reason = (
        f"Relative to {'the mean of the others' if key == reference else _label(reference)}: "
        f"{ratio.text()}; printed {printed[key] / reference_s:.3g} (rounding allows {low:.3g} "
        f"to {high:.3g}): {why}. Timed: {timed['size_mib'].mean():.4g} MiB in "
        f"{timed['time_s'].mean():.4g} s."
    )
    return Finding(verdict, _digits(ratio.value * reference_s), reason)


def _improvement(item: Statement, table: pd.DataFrame) -> Finding:
    row, base = item.select, item.select["base"]
    where = {name: row[name] for name in ("test", "variant", "scheduler")}
    if "published_size_mb" in row:
        where["published_size_mb"] = row["published_size_mb"]

    def from_arm(before: str) -> Interval | None:
        after_s, before_s = (
            _rows(table, **where, arm=arm).set_index("repetition")["time_s"]
            for arm in ("container", before)
        )
        if after_s.index.intersection(before_s.index).empty:
            return None
        return ratio_interval(after_s, before_s).map(
            lambda ratio: improvement_percent(1, ratio, base)
        )

    measured = from_arm("vm")
    if measured is None:
        alone = from_arm("host")
        if alone is None:
            return _not_testable(f"{_no_arm('vm', table)} Nor did this read run on the host arm.")
        return _not_testable(
            f"{_no_arm('vm', table)} From host to container, the same formula gives "
            f"{alone.text(' %')}: that much is due to the container layer alone."
        )
    rounding = improvement_range_percent(
        row["vm_time_s"], row["container_time_s"], HALF_STEP_S, base
    )
    tolerance = item.claim["tolerance"]
    verdict, why = claims.compare(
        measured,
        rounding,
        neutral=0,
        margin=100 * _MARGIN,
        allowed=(rounding[0] - tolerance, rounding[1] + tolerance),
    )
    reason = (
        f"{measured.text(' %')}; printed {item.published:.4g} % (rounding allows "
        f"{rounding[0]:.4g} to {rounding[1]:.4g} %): {why}."
    )
    return Finding(verdict, _digits(measured.value), reason)


# The article's sentences


def _none_was_best(item: Statement, table: pd.DataFrame) -> Finding:
    tests = item.select["tests"]
    tests = [TEST_1, TEST_2] if tests == "both_tests" else [tests]
    variant = item.select["variant"]
    others = [name for name in SCHEDULERS if name != "none"]

    def order(arm: str) -> Finding:
        sides = {
            f"{test}: {other} / none": total_ratio(
                table,
                {"test": test, "variant": variant, "arm": arm, "scheduler": other},
                {"test": test, "variant": variant, "arm": arm, "scheduler": "none"},
            )
            for test in tests
            for other in others
        }
        return _ordered(item, sides)

    return _with_stand_in(item, table, order)


def _container_was_better(item: Statement, table: pd.DataFrame) -> Finding:
    where = {name: item.select[name] for name in ("test", "variant")}

    def order(arm: str) -> Finding:
        sides = {
            f"{name}: {arm} / container": total_ratio(
                table,
                {**where, "scheduler": name, "arm": arm},
                {**where, "scheduler": name, "arm": "container"},
            )
            for name in SCHEDULERS
        }
        return _ordered(item, sides)

    return _with_stand_in(item, table, order, arm="vm")


def _ranking(item: Statement, table: pd.DataFrame) -> Finding:
    where = {name: item.select[name] for name in ("test", "variant")}
    printed = _printed(item.select["test"], item.select["arm"])

    def order(arm: str) -> Finding:
        rows = _rows(table, **where, arm=arm)
        if item.select["test"] == TEST_1:
            sizes = rows.groupby("scheduler")["published_size_mb"].agg(set)
            common = set.intersection(*sizes) if len(sizes) else set()
            totals = printed[printed["published_size_mb"].isin(common)]
        else:
            common, totals = {None}, printed
        totals = totals.groupby("scheduler")["time_s"].sum().sort_values()
        half_step_s = len(common) * HALF_STEP_S
        sides, excluded = {}, {}
        for place, slower in enumerate(totals.index):
            for faster in totals.index[:place]:
                low, high = ratio_range(totals[slower], totals[faster], half_step_s)
                if low <= 1 + item.claim["tolerance"]:
                    continue
                name = f"{slower} / {faster}"
                sides[name] = total_ratio(
                    table,
                    {**where, "arm": arm, "scheduler": slower},
                    {**where, "arm": arm, "scheduler": faster},
                )
                ratio = sides[name]
                excluded[name] = bool(ratio and (ratio.low > high or ratio.high < low))
        if not sides:
            return _not_testable("The printed times differ by no more than rounding and tolerance.")
        return _ordered(item, sides, excluded)

    return _with_stand_in(item, table, order)


def _ordered(
    item: Statement, sides: dict[str, Interval | None], excluded: dict[str, bool] | None = None
) -> Finding:
    """Judge pairs that are claimed to be above 1; a tie excludes a claimed difference."""
    found = {
        name: (ratio, excluded[name] if excluded else True)
        for name, ratio in sides.items()
        if ratio is not None
    }
    if not found:
        return _not_testable("None of the pairs was run here.")
    verdict, reason = claims.ordering(found, item.claim["tolerance"])
    absent = [name for name in sides if name not in found]
    if absent:
        reason += f"; not run: {', '.join(absent)}"
        if verdict != Verdict.CONTRADICTED:
            verdict = Verdict.NOT_TESTABLE
    as_claimed = sum(
        ratio.direction(1, item.claim["tolerance"]) == 1 for ratio, _ in found.values()
    )
    return Finding(verdict, f"{as_claimed} of {len(sides)} pairs", f"{reason}.")


# Did the timed reads meet a scheduler at all?


def _reads_reach_the_scheduler(item: Statement, table: pd.DataFrame) -> Finding:
    return _with_stand_in(item, table, lambda arm: _device_share(item, table, arm))


def _device_share(item: Statement, table: pd.DataFrame, arm: str) -> Finding:
    where = {"test": item.select["test"], "scheduler": item.select["scheduler"], "arm": arm}
    warm = device_share(_rows(table, **where, variant="as_published"))
    control = device_share(_rows(table, **where, variant="dropped"))
    if warm is None or control is None:
        absent = " and ".join(
            name for name, found in (("as_published", warm), ("dropped", control)) if found is None
        )
        return _not_testable(f"Needs both variants; not run here: {absent}.")
    tolerance = item.claim["tolerance"]
    if control.value < 1 - tolerance:
        verdict, why = Verdict.NOT_TESTABLE, "the control did not reach the device"
    elif warm.value <= tolerance:
        verdict = Verdict.CONTRADICTED
        why = "as published, the timed reads come from memory and meet no scheduler"
    elif warm.value >= 1 - tolerance:
        verdict, why = Verdict.REPRODUCED, "the reads reach the device"
    else:
        verdict, why = Verdict.DIRECTION_ONLY, "a part of the reads reaches the device"
    reason = (
        f"Share of the bytes that the device delivered: {warm.text()} as published, "
        f"{control.text()} after dropping caches: {why}."
    )
    return Finding(verdict, _digits(warm.value), reason)


def device_share(rows: pd.DataFrame) -> Interval | None:
    """Share of the timed bytes that the device under test delivered.

    Parameters
    ----------
    rows : pandas.DataFrame
        Timed reads of one testbed, preset and variant.

    Returns
    -------
    Interval or None
        storage_read_bytes / bytes_read for each repetition, without a unit; None for no rows.
        The reader's own reads alone; above 1 where its program, too, had to be fetched.
    """
    totals = rows.groupby("repetition")[["storage_read_bytes", "bytes_read"]].sum()
    if totals.empty:
        return None
    return mean_interval(totals["storage_read_bytes"] / totals["bytes_read"])


# Shared

_MARGIN = 0.01
"""Differences of less than 1 % are called a tie."""


@cache
def _all_printed() -> pd.DataFrame:
    return times()


def _printed(test: str, arm: str | None = None) -> pd.DataFrame:
    printed = _rows(_all_printed().fillna({"published_size_mb": 0}), test=test)
    return printed if arm is None else _rows(printed, arm=arm)


def _printed_column(table: str, arm: str) -> pd.Series:
    return _rows(_all_printed(), table=table, arm=arm).set_index("published_size_mb")["time_s"]


def _rows(table: pd.DataFrame, /, **where) -> pd.DataFrame:
    wanted = [(table[column] == value).to_numpy(dtype=bool) for column, value in where.items()]
    return table[np.logical_and.reduce(wanted)]


def _without(where: dict, name: str) -> dict:
    return {key: value for key, value in where.items() if key != name}


def _pivot(rows: pd.DataFrame, key: str) -> pd.DataFrame:
    return rows.pivot(index="repetition", columns=key, values="time_s")


def total_ratio(table: pd.DataFrame, numerator: dict, denominator: dict) -> Interval | None:
    """Compare total times, summed over the sizes that both sides read.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of one testbed and preset.
    numerator, denominator : dict
        Column values that select each side, for example {"arm": "vm", ...}.

    Returns
    -------
    Interval or None
        Ratio of times, paired by repetition; None where no repetition has both sides.
    """
    sides = [
        _pivot(_rows(table, **side).fillna({"published_size_mb": 0}), "published_size_mb")
        for side in (numerator, denominator)
    ]
    sizes = sides[0].columns.intersection(sides[1].columns)
    totals = [side[sizes].dropna().sum(axis=1) for side in sides]
    if sizes.empty or totals[0].index.intersection(totals[1].index).empty:
        return None
    return ratio_interval(*totals)


def _with_stand_in(
    item: Statement, table: pd.DataFrame, finding: Callable[[str], Finding], arm: str | None = None
) -> Finding:
    """Judge in the claim's arm; without a VM, say what the host arm gives instead."""
    arm = arm or item.select["arm"]
    arms = set(table["arm"])
    if arm in arms:
        return finding(arm)
    reason = _no_arm(arm, table)
    if arm == "vm" and "host" in arms:
        reason += f" With the host arm in its place: {finding('host').reason}"
    return _not_testable(reason)


def _no_arm(arm: str, table: pd.DataFrame) -> str:
    testbed, arms = table["testbed"].iloc[0], sorted(set(table["arm"]))
    name = {"vm": "VM", "container": "container"}[arm]
    if arm in arms:
        return f"The {name} arm did not run this read on the {testbed} testbed."
    return f"No {name} arm on the {testbed} testbed (arms: {', '.join(arms)})."


def _not_testable(reason: str) -> Finding:
    return Finding(Verdict.NOT_TESTABLE, None, reason)


def _label(key: float | str) -> str:
    return key if isinstance(key, str) else f"the {key:g} MB file"


def _digits(value: float) -> float:
    """Six significant digits: more would suggest a precision that nobody has."""
    return float(f"{value:.6g}")


JUDGES: dict[str, claims.Judge] = {
    "percentage_base_vm": _percentage("before"),
    "percentage_base_container": _percentage("after"),
    "longer_files_take_longer": _longer_files_take_longer,
    "implied_read_rate": _implied_read_rate,
    "none_has_shortest_printed_time": _none_has_shortest_printed_time,
    "container_has_shorter_printed_time": _container_has_shorter_printed_time,
    "time_shape": _time_shape,
    "improvement": _improvement,
    "none_was_best": _none_was_best,
    "container_was_better": _container_was_better,
    "ranking": _ranking,
    "reads_reach_the_scheduler": _reads_reach_the_scheduler,
}
