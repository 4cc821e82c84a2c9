"""How each claim of the article is judged; the claims are in data/claims/iozone_ranking.yaml.

A judging function takes a statement and the measured rows of one run: of one machine and preset.
It looks at the device that may stand for the article's disks (see `measures.LIKE_THE_ARTICLE`) and
at one thread, because the article's log has the figures of one process whatever it says. Absolute
rates belong to the author's hardware; ratios, places and points are compared.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ... import claims
from ...analysis.intervals import Interval, mean_interval, ratio_interval
from ...claims import Claim
from ...errors import ElevatorLabError
from ...families import Statement, statements
from ...measured import expect_columns, expect_once
from ...verdicts import TIE_MARGIN, Finding, Verdict, compare, not_testable, six_digits
from . import document
from .document import MOST_POINTS
from .measures import ARMS, DESCENDANTS, LIKE_THE_ARTICLE, TESTS, gain, ranking, rows_of
from .published import STUDY, sample_log

COLUMNS = (
    "trial study testbed machine accelerator preset arm device backing_scheduler scheduler "
    "variant tool size_mib record_kib threads test seed repetition throughput_kib_s "
    "slowest_kib_s least_kib run_read_bytes run_written_bytes image_digest"
).split()


def judge(measured: pd.DataFrame) -> list[Claim]:
    """Give every number and sentence of the article its verdict.

    Parameters
    ----------
    measured : pandas.DataFrame
        One row a test, number of threads and run, with `COLUMNS`; empty for published data
        alone. Throughput in KiB/s, the sum of what each thread saw.

    Returns
    -------
    list of Claim
        Claims about the document once; the others once for each machine and preset.

    Raises
    ------
    ElevatorLabError
        When a column is missing, one test was measured twice in the same run, or tools are mixed.
    """
    expect_columns(measured, COLUMNS, "test")
    _refuse_what_cannot_be_compared(measured)
    return claims.judge(statements(STUDY), JUDGES, measured)


def _refuse_what_cannot_be_compared(measured: pd.DataFrame) -> None:
    place = ["testbed", "machine", "preset", "arm", "backing_scheduler", "variant"]
    for what in ("tool", "size_mib", "record_kib"):
        kinds = measured.groupby(["machine", "preset", "arm"])[what].unique()
        for several in kinds[kinds.map(len) > 1]:
            found = " and ".join(sorted(map(str, several)))
            raise ElevatorLabError(
                f"measured table: expected one {what} on each device; found {found}; keep the "
                "trials of one set of parameters"
            )
    cell = [*place, "scheduler", "threads", "test", "repetition"]
    expect_once(measured, cell, "each test once per run")


def _stamped(judged: Callable[[Statement, pd.DataFrame], Finding]):
    """Judge on the device like the article's, one thread; say which it was, and by which tool."""

    def judge_one(item: Statement, table: pd.DataFrame) -> Finding:
        there = set(table["arm"])
        arm = next((one for one in LIKE_THE_ARTICLE if one in there), None)
        if arm is None:
            ran = ", ".join(ARMS[one] for one in ARMS if one in there)
            return not_testable(f"No device like the article's disks was measured (only: {ran}).")
        rows = rows_of(table, arm=arm, threads=1)
        finding = judged(item, rows)
        tool = (
            "" if set(rows["tool"]) == {"iozone"} else " (fio with the same patterns, not iozone)"
        )
        return finding._replace(reason=f"{finding.reason} Device: {ARMS[arm]}{tool}.")

    return judge_one


def _by_run(rows: pd.DataFrame, **wanted) -> pd.Series:
    return rows_of(rows, **wanted).set_index("repetition")["throughput_kib_s"]


def _relative_to_initial_write(item: Statement, rows: pd.DataFrame) -> Finding:
    test = item.select["test"]
    taken = "random_write" if test == "rewrite" else test
    where = {"variant": "as_published", "scheduler": DESCENDANTS[item.select["scheduler"]]}
    numerator, denominator = (_by_run(rows, **where, test=t) for t in (taken, "initial_write"))
    if numerator.index.intersection(denominator.index).empty:
        return not_testable(f"{where['scheduler']} did not run here as published.")
    ratio = ratio_interval(numerator, denominator)
    base = rows_of(sample_log(), run=item.select["run"], test="initial_write")
    base_kib_s = float(base["throughput_kib_s"].iloc[0])
    printed, tolerance = item.published / base_kib_s, item.claim["tolerance"]
    allowed = printed * (1 - tolerance), printed * (1 + tolerance)
    verdict, why = compare(ratio, (printed, printed), neutral=1, margin=TIE_MARGIN, allowed=allowed)
    reason = f"{TESTS[taken]} / initial write: {ratio.text()}; printed {printed:.3g}: {why}."
    return Finding(verdict, six_digits(ratio.value * base_kib_s), reason)


def _absolute_rate(item: Statement, rows: pd.DataFrame) -> Finding:
    where = {"variant": "as_published", "scheduler": "bfq", "test": "initial_write"}
    rates = _by_run(rows, **where)
    shown = "" if rates.empty else f" Here: {mean_interval(rates).text(' KiB/s')}."
    return not_testable(f"An absolute rate belongs to the author's hardware.{shown}")


def _file_bytes(rows: pd.DataFrame) -> pd.Series:
    return rows["size_mib"].astype(float) * 2**20


def _reads_from_the_disk(item: Statement, rows: pd.DataFrame) -> Finding:
    runs = rows_of(rows, variant="as_published", test="random_read")
    if runs.empty:
        return not_testable("The variant as published did not run here.")
    share = mean_interval(runs["run_read_bytes"] / (2 * _file_bytes(runs)))
    if share.value <= item.claim["tolerance"]:
        return Finding(
            Verdict.CONTRADICTED,
            f"{share.value:.2%}",
            f"Of the bytes that both tests read, {share.value:.2%} came from the disk: they "
            "measured the page cache, and no scheduler had anything to decide.",
        )
    return Finding(
        Verdict.REPRODUCED, f"{share.value:.2%}", "The disk had to deliver what the tests read."
    )


def _mixed_is_read(item: Statement, rows: pd.DataFrame) -> Finding:
    runs = rows_of(rows, variant="direct", test="mixed_workload")
    if runs.empty:
        return not_testable("The variant around the page cache did not run here.")
    files = mean_interval(runs["run_read_bytes"] / _file_bytes(runs))
    if abs(files.value - 2) <= item.claim["tolerance"]:
        return Finding(
            Verdict.CONTRADICTED,
            f"{files.value:.3g} files read",
            f"Random read and mixed workload together read the file {files.value:.3g} times: with "
            "one thread the mixed workload is a second random read (iozone lets whole threads "
            "read or write: the first, third ... read).",
        )
    return Finding(
        Verdict.REPRODUCED,
        f"{files.value:.3g} files read",
        f"The file was read {files.value:.3g} times in all, so the mixed workload also wrote.",
    )


def _published_three(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the article's three schedulers as it ran them."""
    published = rows_of(rows, variant="as_published")
    return published[published["scheduler"].isin(DESCENDANTS.values())]


def _points_of_30(item: Statement, rows: pd.DataFrame) -> Finding:
    found = ranking(_published_three(rows))
    name = item.select["descendant"]
    if found is None or len(found.total) < 3:
        return not_testable("Not all of bfq, none and mq-deadline ran here as published.")
    scale = MOST_POINTS / (2 * found.comparisons)
    points = found.interval[name].map(lambda value: value * scale)
    printed, tolerance = item.published, item.claim["tolerance"]
    verdict, why = compare(
        points,
        (printed, printed),
        neutral=MOST_POINTS / 2,
        margin=0.5,
        allowed=(printed - tolerance, printed + tolerance),
    )
    return Finding(verdict, round(points.value, 2), f"{_interval(points)} points: {why}.")


def _winner(item: Statement, rows: pd.DataFrame) -> Finding:
    found = ranking(_published_three(rows))
    if found is None or len(found.total) < 3:
        return not_testable("Not all of bfq, none and mq-deadline ran here as published.")
    order = ", ".join(f"{name} {value:g}" for name, value in found.total.items())
    reason = f"Points: {order}"
    if found.runs > 1:
        reason += f"; {found.wins.idxmax()} wins in {found.wins.max():.0%} of resampled runs"
    if found.says != "decided" or found.winner is None:
        by_chance = len(found.total) ** (1 - found.runs)
        reason = f"{reason}: {found.says}."
        if found.runs > 1:
            reason += f" Chance alone lets {found.runs} runs agree in {by_chance:.0%} of cases."
        return not_testable(reason)._replace(measured=found.winner)
    same = found.winner == item.select["descendant"]
    verdict = Verdict.REPRODUCED if same else Verdict.CONTRADICTED
    return Finding(verdict, found.winner, f"{reason}: decided.")


def _gains(rows: pd.DataFrame) -> dict[str, tuple[str, str, Interval]]:
    """Return `gain` by test."""
    three = _published_three(rows)
    found = {test: gain(rows_of(three, test=test)) for test in TESTS}
    return {test: one for test, one in found.items() if one}


def _improvement(item: Statement, rows: pd.DataFrame) -> Finding:
    found = _gains(rows)
    if not found:
        return not_testable("Fewer than two of bfq, none and mq-deadline ran here as published.")
    printed = float(item.published)
    test = min(found, key=lambda name: abs(found[name][2].value - printed))
    best, worst, percent = found[test]
    tolerance = item.claim["tolerance"]
    verdict, why = compare(
        percent,
        (printed, printed),
        neutral=0,
        margin=0.5,
        allowed=(printed - tolerance, printed + tolerance),
    )
    reason = f"Nearest: {TESTS[test]}, {best} over {worst}, {percent.text(' %')}: {why}."
    return Finding(verdict, float(f"{percent.value:.4g}"), reason)


def _no_magnitude(item: Statement, rows: pd.DataFrame) -> Finding:
    found = _gains(rows)
    if not found:
        return not_testable("Fewer than two of bfq, none and mq-deadline ran here as published.")
    test = max(found, key=lambda name: found[name][2].value)
    best, worst, percent = found[test]
    limit = item.claim["tolerance"]
    reason = (
        f"Largest: {TESTS[test]}, {best} over {worst}, {percent.text(' %')}; the sentence leaves "
        f"room for anything below a factor of ten ({limit:g} %)."
    )
    if not percent.bounded:
        return not_testable(f"{reason} One repetition does not decide it.")
    small = percent.high < limit
    verdict = Verdict.REPRODUCED if small else Verdict.CONTRADICTED
    return Finding(verdict, f"{percent.value:.3g} %", reason)


def _best_depends_on_test(item: Statement, rows: pd.DataFrame) -> Finding:
    decided = {
        test: best
        for test, (best, _, percent) in _gains(rows).items()
        if percent.direction(0, 100 * TIE_MARGIN) == 1
    }
    if len(decided) < 2:
        return not_testable(
            f"The runs decide the best scheduler of {len(decided)} of {len(TESTS)} tests; two are "
            "needed."
        )
    words = "; ".join(f"{TESTS[test]}: {best}" for test, best in decided.items())
    several = len(set(decided.values())) > 1
    verdict = Verdict.REPRODUCED if several else Verdict.CONTRADICTED
    return Finding(verdict, f"{len(set(decided.values()))} best ones", f"{words}.")


def _interval(value: Interval) -> str:
    if not value.bounded:
        return f"{value.value:.3g} (one run)"
    return (
        f"{value.value:.3g} (95 % CI {value.low:.3g} to {value.high:.3g}, n = {value.repetitions})"
    )


JUDGES: dict[str, claims.Judge] = {
    **document.JUDGES,
    "relative_to_initial_write": _stamped(_relative_to_initial_write),
    "absolute_rate": _stamped(_absolute_rate),
    "reads_from_the_disk": _stamped(_reads_from_the_disk),
    "mixed_is_read": _stamped(_mixed_is_read),
    "points_of_30": _stamped(_points_of_30),
    "winner": _stamped(_winner),
    "improvement": _stamped(_improvement),
    "no_magnitude": _stamped(_no_magnitude),
    "best_depends_on_test": _stamped(_best_depends_on_test),
}
