"""How each claim of the article is judged; the claims are in data/claims/vm_vs_container.yaml.

A judging function takes a statement and the measured rows of one run: of one machine, preset and
scheduler of the physical disk below. Times are always paired by repetition, never pooled. Only
ratios are compared with the article, because its seconds come from another machine.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import wraps
from typing import Any

import pandas as pd

from ...analysis.improvement import improvement_percent, improvement_range_percent, ratio_range
from ...analysis.intervals import Interval, ratio_interval
from ...errors import ElevatorLabError
from ...judging import engine
from ...judging.claim import Claim, Constant, Role
from ...judging.constants import TIES, DecidedBy
from ...judging.engine import Judge
from ...judging.families import Statement, statements
from ...judging.matching import DETERMINISTIC, emulated_apart, in_words, joined_testbeds
from ...judging.verdicts import (
    DECIDED,
    TIE_MARGIN,
    Evidence,
    Judgement,
    Verdict,
    compare,
    not_testable,
    ordering,
    rounding_alone,
    sentence,
    six_digits,
    widened,
)
from ..kit.cells import once_a_table, rows_of
from ..kit.choices import Choice, whichever
from . import document
from .columns import TABLE
from .measures import (
    ARMS,
    PORTION_S,
    SCHEDULERS,
    TICK_S,
    ranking,
    times_by,
    total_ratio,
    with_quanta,
    within_quanta,
)
from .published import HALF_STEP_S, NAME, TEST_1, TEST_2, printed_times, times
from .trials import CACHE, DRIVE_SUFFIX

# The arm on which a claim is judged and, if that arm did not run, the reason for no verdict.


def _with_stand_in(
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
    more = ""
    if arm == "vm" and "host" in arms:
        more = f"With the host arm in its place: {judge_arm('host').reason}"
    return not_testable(_no_arm(arm, table), more)


def _no_arm(arm: str, table: pd.DataFrame) -> str:
    """Say that an arm did not run, and which arms did."""
    arms = [ARMS[one] for one in sorted(table["arm"].unique())]
    where = f"on {in_words(joined_testbeds(table), '', '')}"
    if ARMS[arm] in arms:
        return f"The {ARMS[arm]} arm did not run this read {where}."
    return f"No {ARMS[arm]} was measured {where} (arms: {', '.join(arms)})."


def _not_comparable(table: pd.DataFrame) -> str:
    """Say why VM and container cannot be compared; empty if they can."""
    emulated = emulated_apart(table, ("vm", "container"))
    if not emulated:
        return ""
    return f"Not comparable: the VM's processor is emulated, not virtual ({emulated['vm']})."


def _not_compared(measured: Interval | None, table: pd.DataFrame) -> str:
    """Say why VM and container were not compared, or cannot be; empty if they can."""
    if measured is not None:
        return _not_comparable(table)
    return _no_arm("vm" if "container" in table["arm"].unique() else "container", table)


# The states of the page cache in which a claim about test 2, or about the virtual machine, is
# judged. The printed rates show that the container's files of test 1 came from memory. Those of the
# virtual machine are within a disk's reach, and the article copies files into the container before
# it reads them. It does not print the size of test 2's tree, so its times do not tell where that
# came from. (Making the tree warms the cache.) A claim has a verdict only if both states give it.
# The article reads with cat, so no state has direct I/O.

_CACHE = Choice("The article does not say how much was in the page cache", "cache state")
_SAID = {"warm": "warm cache", "dropped": "caches dropped"}
_STATES: dict[str, str] = {
    variant: _SAID[state]
    for variant, state in CACHE.items()
    if state in _SAID and not variant.endswith(DRIVE_SUFFIX)
}
"""The state of the cache in each variant on the study's own disk; the published one is first."""
_IDLE = "the device served no request, so no scheduler did anything"


def _in_each_state(judge: Judge, of_schedulers: bool = False) -> Judge:
    """Let a claim about test 2, or about the virtual machine, be judged in each cache state.

    `of_schedulers`: Whether it says what schedulers do. A state in which the device served no
    request shows nothing of that: it is possible, but not measured.
    """

    @wraps(judge)
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        if item.role != Role.PREDICTION:
            return judge(item, table)
        test, arm = item.select.get("test") or item.select["tests"], item.select.get("arm")
        tests = [TEST_1, TEST_2] if test == "both_tests" else [test]

        def judged_with(rows: pd.DataFrame) -> Judgement:
            if of_schedulers and not any(_served(rows, one, arm) for one in tests):
                return not_testable(f"{sentence(_IDLE)}.")
            return judge(item, rows)

        if (test, arm) == (TEST_1, "container"):
            return judged_with(table)
        found = {_STATES[state]: judged_with(rows) for state, rows in _states(table).items()}
        return whichever(found, _CACHE, len(found))

    return judged


def _served(rows: pd.DataFrame, test: str, arm: str | None) -> bool:
    """Tell whether the device served requests in a test; also true where no row says it did not."""
    requests = rows_of(rows, test=test, variant="as_published", arm=arm)["requests"]
    return requests.empty or not bool((requests == 0).all())


_TOO_SHORT = (
    f"Each program may be wrong by a turn of {TICK_S:g} s on the processor, or by a portion of the "
    f"disk's bandwidth, which comes every {PORTION_S:g} s. That is too much to decide this."
)


def _stands(judge: Judge) -> Judge:
    """Let a verdict stand only where turns and portions cannot change it (`within_quanta`).

    On the deterministic testbed, programs take turns on one processor, and the simulated SSD hands
    out its bandwidth in portions. A time changes by whole ones of these, the same way in each
    repetition, so no number of repetitions shows it. What several repetitions leave open, more of
    them would not decide either.
    """

    @wraps(judge)
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        found = judge(item, table)
        if found.verdict == Verdict.NOT_TESTABLE or set(table["machine"]) != {DETERMINISTIC}:
            return found
        within = judge(item, with_quanta(table)).verdict
        single_run = found.verdict == Verdict.UNDECIDED and table["repetition"].nunique() < 2
        if within in DECIDED and (found.verdict == within or single_run):
            return found
        return not_testable(_TOO_SHORT, found.reason)

    return judged


@once_a_table
def _states(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return a table for each state: there, the open rows of this state are called as_published."""
    is_open = (table["test"] == TEST_2) | (table["arm"] == "vm")
    return {
        state: pd.concat(
            [
                table[~is_open],
                table[is_open & (table["variant"] == state)].assign(variant="as_published"),
            ]
        )
        for state in _STATES
    }


# The printed times and percentages.

_LEAST_SIZE = 0.9
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

    return _with_stand_in(item, table, shape)


def _shape(item: Statement, rows: pd.DataFrame, printed: pd.Series[float], along: str) -> Judgement:
    """Judge one row of a column, measured `rows`, relative to the column's reference row."""
    key = item.select[along]
    if smaller := _smaller_files(rows, along):
        return not_testable(smaller, _SHAPE_OF_SMALL_FILES)
    measured = times_by(along, rows)
    # What the article has not, such as a scheduler of somebody's own, is no part of its column.
    ran: list[Any] = [name for name in measured if name in printed.index]
    reference: Any = "none" if along == "scheduler" else max(ran, default=None)
    if key not in ran or reference not in ran or len(ran) < 2:
        words = ", ".join(map(_label, ran)) or "nothing"
        return not_testable(f"Not run here together with a reference (ran: {words}).")
    others: list[Any] = [name for name in ran if name != key] if key == reference else [reference]
    ratio = within_quanta(
        ratio_interval(measured[key], measured[others].mean(axis=1, skipna=False)),
        *(rows[rows[along].isin(names)] for names in ([key], others)),
    )
    reference_s = printed[others].mean()
    low, high = ratio_range(printed[key], reference_s, HALF_STEP_S)
    tolerance = item.tolerance
    allowed = widened((low, high), tolerance)
    verdict, why, evidence = compare(
        ratio, (low, high), neutral=1, margin=TIE_MARGIN, allowed=allowed
    )
    timed = rows[rows[along] == key]
    relative_to = _beside(along) if key == reference else _label(reference)
    reason = (
        f"The time relative to {relative_to} is "
        f"{ratio.text()}. Printed: {printed[key] / reference_s:.3g}; with the tolerance, "
        f"{allowed[0]:.4g} to {allowed[1]:.4g} is allowed ({rounding_alone(low, high)}). "
        f"{sentence(why)}. Timed: {timed['size_mib'].mean():.4g} MiB in "
        f"{timed['time_s'].mean():.4g} s."
    )
    measured_s = six_digits(timed["time_s"].mean())
    return Judgement(verdict, measured_s, reason, evidence, _cell(timed), relative_to)


def _improvement(item: Statement, table: pd.DataFrame) -> Judgement:
    row, base = item.select, item.select["base"]
    where = {name: row[name] for name in ("test", "variant", "scheduler")}
    if "published_size_mb" in row:
        where["published_size_mb"] = row["published_size_mb"]

    def from_arm(before: str) -> Interval | None:
        after, first = ({**where, "arm": arm} for arm in ("container", before))
        ratio = total_ratio(table, after, first)
        return ratio and ratio.map(lambda value: improvement_percent(1, value, base))

    measured = from_arm("vm")
    reason = _not_compared(measured, table)
    if measured is None or reason:
        alone = from_arm("host")
        if alone is None:
            return not_testable(reason, "Nor did this read run on the host arm.")
        return not_testable(
            reason, f"From host to container, the same formula gives {alone.text(' %')}."
        )
    if smaller := _smaller_files(rows_of(table, **where), "published_size_mb"):
        return not_testable(smaller, _SHAPE_OF_SMALL_FILES)
    rounding = improvement_range_percent(
        row["vm_time_s"], row["container_time_s"], HALF_STEP_S, base
    )
    if rounding[0] < 100 * TIE_MARGIN:
        return not_testable("Rounding to 1 ms leaves open whether the container was faster.")
    return _improved(item, measured, rounding, item.number)


def _total_improvement(item: Statement, table: pd.DataFrame) -> Judgement:
    """Judge what a table of test 1 says of all sizes together."""
    scheduler = item.select["case"]["scheduler"]
    where = {name: item.select[name] for name in ("test", "variant")} | {"scheduler": scheduler}
    sides = [{**where, "arm": arm} for arm in ("container", "vm")]
    ratio = total_ratio(table, *sides)
    reason = _not_compared(ratio, table)
    if ratio is None or reason:
        return not_testable(reason)
    if smaller := _smaller_files(rows_of(table, **where), "published_size_mb"):
        return not_testable(smaller, _SHAPE_OF_SMALL_FILES)
    printed = rows_of(times(), test=where["test"], scheduler=scheduler)
    container_s, vm_s = (rows_of(printed, arm=side["arm"])["time_s"] for side in sides)
    half_step_s = len(vm_s) * HALF_STEP_S
    rounding = improvement_range_percent(vm_s.sum(), container_s.sum(), half_step_s, "before")
    measured = ratio.map(lambda value: improvement_percent(1, value, "before"))
    number = improvement_percent(vm_s.sum(), container_s.sum(), "before")
    return _improved(item, measured, rounding, number)


def _improved(
    item: Statement, measured: Interval, rounding: tuple[float, float], printed: float
) -> Judgement:
    """Compare an improvement in percent with the printed one, of which `rounding` is the range."""
    tolerance = item.tolerance
    allowed = rounding[0] - tolerance, rounding[1] + tolerance
    verdict, why, evidence = compare(
        measured, rounding, neutral=0, margin=100 * TIE_MARGIN, allowed=allowed
    )
    reason = (
        f"Measured: {measured.text(' %')}. Printed: {printed:.4g} %; with the tolerance, "
        f"{allowed[0]:.4g} to {allowed[1]:.4g} % is allowed ({rounding_alone(*rounding)}). "
        f"{sentence(why)}."
    )
    return Judgement(verdict, six_digits(measured.value), reason, evidence)


_SHAPE_OF_SMALL_FILES = (
    "At that size, the start of the process and the scheduler tick of 4 ms dominate the time. This "
    "claim needs a preset with the article's sizes. docs/virtual_machines.md says how to run such "
    "a preset in a virtual machine inside the deterministic machine."
)


def _smaller_files(rows: pd.DataFrame, along: str) -> str:
    """Say that files of other sizes than the article's have a shape of their own."""
    if along != "published_size_mb" or rows.empty or rows["published_size_mb"].isna().any():
        return ""
    share = (rows["size_mib"] * 2**20 / (rows["published_size_mb"] * 1e6)).astype(float).max()
    if share >= _LEAST_SIZE:
        return ""
    return f"The files that were read are {share:.2g} times as large as the article's."


def _cell(rows: pd.DataFrame) -> str:
    """Name what was measured, for claims that share it."""
    names = ("test", "variant", "arm", "scheduler", "published_size_mb")
    return ", ".join(f"{rows[name].iloc[0]}" for name in names)


def _beside(along: str) -> str:
    return f"the mean of the other {'schedulers' if along == 'scheduler' else 'sizes'}"


def _label(key: float | str) -> str:
    return key if isinstance(key, str) else f"the {key:g} MB file"


# The article's sentences.

_CALLED = {TEST_1: "Test 1", TEST_2: "Test 2"}


def _none_was_best(item: Statement, table: pd.DataFrame) -> Judgement:
    tests = item.select["tests"]
    tests = [TEST_1, TEST_2] if tests == "both_tests" else [tests]
    variant = item.select["variant"]
    others = [name for name in SCHEDULERS if name != "none"]

    def order(arm: str) -> Judgement:
        sides = {
            test: {
                f"{_CALLED[test]}: {other} / none": total_ratio(
                    table,
                    {"test": test, "variant": variant, "arm": arm, "scheduler": other},
                    {"test": test, "variant": variant, "arm": arm, "scheduler": "none"},
                )
                for other in others
            }
            for test in tests
        }
        whole = _ordered(item, {name: one for of in sides.values() for name, one in of.items()})
        # A tie beside a difference is "direction only", and all ties of one test are against it: a
        # sentence about both tests is worth no more than its worst half.
        worst = min((_ordered(item, of) for of in sides.values()), key=_worth)
        if _worth(worst) < _worth(whole):
            return whole._replace(verdict=worst.verdict, evidence=worst.evidence)
        return whole

    return _with_stand_in(item, table, order)


_FROM_WORST = (
    *(Verdict.CONTRADICTED, Verdict.NOT_TESTABLE, Verdict.UNDECIDED),
    *(Verdict.DIRECTION_ONLY, Verdict.REPRODUCED),
)


def _worth(found: Judgement) -> int:
    return _FROM_WORST.index(found.verdict)


def _container_was_better(item: Statement, table: pd.DataFrame) -> Judgement:
    where = {name: item.select[name] for name in ("test", "variant")}

    def order(arm: str) -> Judgement:
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


def _ranking(item: Statement, table: pd.DataFrame) -> Judgement:
    where = {name: item.select[name] for name in ("test", "variant")}
    printed = printed_times(item.select["test"], item.select["arm"])

    def order(arm: str) -> Judgement:
        rows = rows_of(table, **where, arm=arm)
        if item.select["test"] == TEST_1:
            sizes = rows.groupby("scheduler")["published_size_mb"].agg(set)
            common = set.intersection(*sizes) if len(sizes) else set()
            totals = printed[printed["published_size_mb"].isin(common)]
        else:
            common, totals = {None}, printed
        total_s = totals.groupby("scheduler")["time_s"].sum().sort_values()
        half_step_s = len(common) * HALF_STEP_S
        sides, excluded = {}, {}
        for place, slower in enumerate(total_s.index):
            for faster in total_s.index[:place]:
                low, high = ratio_range(total_s[slower], total_s[faster], half_step_s)
                if low <= 1 + item.threshold:
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
        judgement, stability = _ordered(item, sides, excluded), ranking(rows)
        if stability is None:
            return judgement
        return judgement._replace(reason=f"{judgement.reason} {stability.text()}")

    return _with_stand_in(item, table, order)


def _ordered(
    item: Statement, sides: dict[str, Interval | None], excluded: dict[str, bool] | None = None
) -> Judgement:
    """Judge pairs whose ratios are claimed to be above 1.

    `excluded` says for each pair whether the measured interval excludes the printed ratio. Without
    it, a tie counts against the claim.
    """
    found = {
        name: (ratio, excluded[name] if excluded else True)
        for name, ratio in sides.items()
        if ratio is not None
    }
    if not found:
        return not_testable("No pair of schedulers or arms that this claim compares was run here.")
    verdict, reason, evidence = ordering(found, item.threshold)
    absent = [name for name in sides if name not in found]
    if absent:
        reason += f"; not run: {', '.join(absent)}"
        if verdict != Verdict.CONTRADICTED:
            verdict, evidence = Verdict.NOT_TESTABLE, Evidence()
    as_claimed = sum(ratio.direction(1, item.threshold) == 1 for ratio, _ in found.values())
    return Judgement(verdict, f"{as_claimed} of {len(sides)} pairs", f"{reason}.", evidence)


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every number and sentence of the article its verdict.

    `measured`: The study's tidy table (`columns.TABLE`); empty for published data alone. Returns:
    Each claim about the document once; each other claim once per machine and preset. The arms of a
    machine may come from several testbeds (see `matching.runs`).
    """
    TABLE.expect_columns(measured, "measured table")
    _refuse_what_cannot_be_compared(measured)
    return engine.judge(statements(NAME), JUDGES, measured, _DECIDED_BY)


def _refuse_what_cannot_be_compared(measured: pd.DataFrame) -> None:
    machine = ["machine", "preset"]
    read = [*machine, "test", "published_size_mb", "repetition"]
    where = [*read, "testbed", "arm", "backing_scheduler", "scheduler", "variant"]
    engine.expect_once(measured, where, "each read once per repetition")
    size_mib = measured["size_mib"].astype(float).round(6)
    on_drive = measured["variant"].str.endswith(DRIVE_SUFFIX)  # another device, on purpose
    alike = (("device", measured["device"], machine), ("MiB", size_mib, [*read, "variant"]))
    for what, values, keys in alike:
        grouped = values.groupby([on_drive, *(measured[key] for key in keys)], dropna=False)
        for several in grouped.unique()[grouped.nunique() > 1]:
            found = " and ".join(map(str, sorted(several)))
            raise ElevatorLabError(
                "measured table: expected all arms of a machine to read the same from the same "
                f"device; found for one of them ({what}): {found}; keep the trials of one set of "
                "parameters"
            )


_OF_SIZES = ("time_shape", "improvement", "total_improvement")
_OF_TIMES = (*_OF_SIZES, "none_was_best", "container_was_better", "ranking")

_DECIDED_BY: DecidedBy = {
    TIES: _OF_SIZES,
    Constant(
        name="LEAST_SIZE",
        value=_LEAST_SIZE,
        of="of the article's file sizes at least",
        reason="an MB of the article is 0.95 MiB, and a file may lack a few of its blocks",
        fixed=date(2026, 11, 22),
    ): _OF_SIZES,
    Constant(
        name="TICK_S",
        value=TICK_S,
        of="s is a turn of a program on the deterministic testbed's only processor",
        reason="the scheduler's tick of Debian's kernel; a time changes by whole turns. The rule "
        "held for percentages of Test 1 when study 1 was measured, and for all claims afterwards",
        fixed=date(2026, 11, 28),
    ): _OF_TIMES,
    Constant(
        name="PORTION_S",
        value=PORTION_S,
        of="s lie between two portions of the simulated SSD's bandwidth",
        reason="null_blk's own; a time changes by whole portions. It is a rule of claims since "
        "study 1 was measured",
        fixed=date(2026, 11, 28),
    ): _OF_TIMES,
}

JUDGES: dict[str, Judge] = {
    **document.JUDGES,
    "time_shape": _in_each_state(_stands(_time_shape), of_schedulers=True),
    "improvement": _in_each_state(_stands(_improvement)),
    "total_improvement": _in_each_state(_stands(_total_improvement)),
    "none_was_best": _in_each_state(_stands(_none_was_best), of_schedulers=True),
    "container_was_better": _in_each_state(_stands(_container_was_better)),
    "ranking": _in_each_state(_stands(_ranking), of_schedulers=True),
    "named_reason": engine.named_reason,
}
