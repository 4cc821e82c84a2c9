"""How each claim of the article is judged; the claims are in data/claims/vm_vs_container.yaml.

A judging function takes a statement and the measured rows of one run: of one machine, preset and
scheduler of the physical disk below. Times are always paired by repetition, never pooled, and only
ratios are held against the article: its seconds come from another machine.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ... import claims
from ...analysis.improvement import improvement_percent, improvement_range_percent, ratio_range
from ...analysis.intervals import Interval, ratio_interval
from ...claims import Claim
from ...errors import ElevatorLabError
from ...families import Statement, statements
from ...matching import emulated_apart, joined_testbeds
from ...measured import expect_columns, expect_once
from ...verdicts import TIE_MARGIN, Finding, Verdict, compare, not_testable, ordering, six_digits
from . import document
from .document import HALF_STEP_S, all_printed, printed_times
from .measures import (
    ARMS,
    SCHEDULERS,
    by_repetition,
    device_share,
    ranking,
    rows_of,
    total_ratio,
)
from .published import STUDY, TEST_1, TEST_2

COLUMNS = (
    "trial study testbed machine accelerator preset arm device backing_scheduler scheduler "
    "variant test published_size_mb size_mib seed repetition time_s bytes_read "
    "device_read_bytes storage_read_bytes image_digest"
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
        Claims about the document once; the others once for each machine and preset, whose arms
        may come from several testbeds (see `matching.runs`).

    Raises
    ------
    ElevatorLabError
        When a column is missing, one read was measured twice in the same repetition, or the arms
        of a machine did not read the same from the same device.
    """
    expect_columns(measured, COLUMNS, "timed read")
    _refuse_what_cannot_be_compared(measured)
    return claims.judge(statements(STUDY), JUDGES, measured)


def _refuse_what_cannot_be_compared(measured: pd.DataFrame) -> None:
    machine = ["machine", "preset"]
    read = [*machine, "test", "published_size_mb", "repetition"]
    where = [*read, "testbed", "arm", "backing_scheduler", "scheduler", "variant"]
    expect_once(measured, where, "each read once per repetition")
    size_mib = measured["size_mib"].astype(float).round(6)
    for what, values, keys in (("device", measured["device"], machine), ("MiB", size_mib, read)):
        grouped = values.groupby([measured[key] for key in keys], dropna=False)
        for several in grouped.unique()[grouped.nunique() > 1]:
            found = " and ".join(map(str, sorted(several)))
            raise ElevatorLabError(
                "measured table: expected all arms of a machine to read the same from the same "
                f"device; found for one of them ({what}): {found}; keep the trials of one set of "
                "parameters"
            )


# What a run says about the printed times


def _time_shape(item: Statement, table: pd.DataFrame) -> Finding:
    where = {name: item.select[name] for name in ("test", "variant")}
    if where["test"] == TEST_1:
        along = "published_size_mb"
        where["scheduler"] = item.select["scheduler"]
    else:
        along = "scheduler"
    of_column = {name: value for name, value in where.items() if name != "variant"}
    printed = rows_of(all_printed(), arm=item.select["arm"], **of_column)
    printed = printed.set_index(along)["time_s"]

    def shape(arm: str) -> Finding:
        return _shape(item, rows_of(table, **where, arm=arm), printed, item.select[along])

    return _with_stand_in(item, table, shape)


def _shape(item: Statement, rows: pd.DataFrame, printed: pd.Series, key: float | str) -> Finding:
    """Judge one row of a column, measured `rows`, relative to the column's reference row."""
    along = printed.index.name
    measured = by_repetition(rows, along)
    reference = "none" if along == "scheduler" else max(measured, default=None)
    if key not in measured or reference not in measured or len(measured.columns) < 2:
        ran = ", ".join(map(_label, measured)) or "nothing"
        return not_testable(f"Not run here with a reference beside it (ran: {ran}).")
    others = [name for name in measured if name != key] if key == reference else [reference]
    ratio = ratio_interval(measured[key], measured[others].mean(axis=1, skipna=False))
    reference_s = printed[others].mean()
    low, high = ratio_range(printed[key], reference_s, HALF_STEP_S)
    tolerance = item.claim["tolerance"]
    allowed = low * (1 - tolerance), high * (1 + tolerance)
    verdict, why = compare(ratio, (low, high), neutral=1, margin=TIE_MARGIN, allowed=allowed)
    timed = rows[rows[along] == key]
    reason = (
        f"Relative to {'the mean of the others' if key == reference else _label(reference)}: "
        f"{ratio.text()}; printed {printed[key] / reference_s:.3g} (rounding allows {low:.4g} "
        f"to {high:.4g}, the tolerance {allowed[0]:.4g} to {allowed[1]:.4g}): "
        f"{why}. Timed: {timed['size_mib'].mean():.4g} MiB in {timed['time_s'].mean():.4g} s."
    )
    return Finding(verdict, six_digits(ratio.value * reference_s), reason)


def _improvement(item: Statement, table: pd.DataFrame) -> Finding:
    row, base = item.select, item.select["base"]
    where = {name: row[name] for name in ("test", "variant", "scheduler")}
    if "published_size_mb" in row:
        where["published_size_mb"] = row["published_size_mb"]

    def from_arm(before: str) -> Interval | None:
        after_s, before_s = (
            rows_of(table, **where, arm=arm).set_index("repetition")["time_s"]
            for arm in ("container", before)
        )
        if after_s.index.intersection(before_s.index).empty:
            return None
        return ratio_interval(after_s, before_s).map(
            lambda ratio: improvement_percent(1, ratio, base)
        )

    measured = from_arm("vm")
    absent = "vm" if "container" in set(table["arm"]) else "container"
    reason = _no_arm(absent, table) if measured is None else _not_comparable(table)
    if reason:
        alone = from_arm("host")
        if alone is None:
            return not_testable(f"{reason} Nor did this read run on the host arm.")
        return not_testable(
            f"{reason} From host to container, the same formula gives {alone.text(' %')}: that "
            "much is due to the container layer alone."
        )
    rounding = improvement_range_percent(
        row["vm_time_s"], row["container_time_s"], HALF_STEP_S, base
    )
    tolerance = item.claim["tolerance"]
    allowed = rounding[0] - tolerance, rounding[1] + tolerance
    verdict, why = compare(measured, rounding, neutral=0, margin=100 * TIE_MARGIN, allowed=allowed)
    reason = (
        f"{measured.text(' %')}; printed {item.published:.4g} % (rounding allows "
        f"{rounding[0]:.4g} to {rounding[1]:.4g} %, the tolerance {allowed[0]:.4g} to "
        f"{allowed[1]:.4g} %): {why}."
    )
    return Finding(verdict, six_digits(measured.value), reason)


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

    emulated = _not_comparable(table)
    return not_testable(emulated) if emulated else _with_stand_in(item, table, order, arm="vm")


def _ranking(item: Statement, table: pd.DataFrame) -> Finding:
    where = {name: item.select[name] for name in ("test", "variant")}
    printed = printed_times(item.select["test"], item.select["arm"])

    def order(arm: str) -> Finding:
        rows = rows_of(table, **where, arm=arm)
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
            return not_testable("The printed times differ by no more than rounding and tolerance.")
        finding, stability = _ordered(item, sides, excluded), ranking(rows)
        if stability is None:
            return finding
        return finding._replace(reason=f"{finding.reason} {stability.text()}")

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
        return not_testable("None of the pairs was run here.")
    verdict, reason = ordering(found, item.claim["tolerance"])
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
    warm = device_share(rows_of(table, **where, variant="as_published"))
    control = device_share(rows_of(table, **where, variant="dropped"))
    if warm is None or control is None:
        absent = " and ".join(
            name for name, found in (("as_published", warm), ("dropped", control)) if found is None
        )
        return not_testable(f"Needs both variants; not run here: {absent}.")
    tolerance = item.claim["tolerance"]
    low, high = (warm.low, warm.high) if warm.bounded else (warm.value, warm.value)
    if control.value < 1 - tolerance:
        verdict, why = Verdict.NOT_TESTABLE, "the control did not reach the device"
    elif high <= tolerance:
        verdict = Verdict.CONTRADICTED
        why = "as published, the timed reads come from memory and meet no scheduler"
    elif low >= 1 - tolerance:
        verdict, why = Verdict.REPRODUCED, "the reads reach the device"
    elif low > tolerance:
        verdict, why = Verdict.DIRECTION_ONLY, "a part of the reads reaches the device"
    else:
        verdict, why = Verdict.NOT_TESTABLE, "the repetitions do not decide it"
    reason = (
        f"Share of the bytes that the device delivered: {warm.text()} as published, "
        f"{control.text()} after dropping caches: {why}."
    )
    return Finding(verdict, six_digits(warm.value), reason)


# Shared


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
    return not_testable(reason)


def _no_arm(arm: str, table: pd.DataFrame) -> str:
    arms = [ARMS[one] for one in sorted(set(table["arm"]))]
    where = f"on testbed {joined_testbeds(table)}"
    if ARMS[arm] in arms:
        return f"The {ARMS[arm]} arm did not run this read {where}."
    return f"No {ARMS[arm]} arm {where} (arms: {', '.join(arms)})."


def _not_comparable(table: pd.DataFrame) -> str | None:
    """Say why VM and container cannot be held against each other, where they cannot."""
    emulated = emulated_apart(table, ("vm", "container"))
    if not emulated:
        return None
    return f"Not comparable: the VM's processor is emulated, not virtual ({emulated['vm']})."


def _label(key: float | str) -> str:
    return key if isinstance(key, str) else f"the {key:g} MB file"


JUDGES: dict[str, claims.Judge] = {
    **document.JUDGES,
    "time_shape": _time_shape,
    "improvement": _improvement,
    "none_was_best": _none_was_best,
    "container_was_better": _container_was_better,
    "ranking": _ranking,
    "reads_reach_the_scheduler": _reads_reach_the_scheduler,
}
