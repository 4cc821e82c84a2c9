"""How the claims are judged that the article, its script and iozone's own output can settle."""

from __future__ import annotations

import shlex

import pandas as pd

from ...analysis.wording import plain
from ...judging.claims import Judge
from ...judging.families import Statement
from ...judging.verdicts import Judgement, Verdict, reproduced_if
from ..kit.cells import rows_of
from .published import COMPARISONS, MOST_POINTS, SCRIPT_OUTPUT, points, sample_log


def _rewrite_is_random_write(item: Statement, _: pd.DataFrame) -> Judgement:
    same_run = rows_of(sample_log(), run=item.select["run"], test="random_write")
    if same_run.empty:
        return Judgement(
            Verdict.NOT_TESTABLE,
            None,
            "The printed sample ends before this run's random write; the script prints "
            "$RWRITE in both lines.",
        )
    value = float(same_run["throughput_kib_s"].iloc[0])
    if value != item.published:
        return Judgement(Verdict.REPRODUCED, value, "The two lines differ.")
    return Judgement(
        Verdict.CONTRADICTED,
        value,
        "The lines Rewrite and Random write have the same figure to the last digit: the script "
        "prints $RWRITE, the random-write figure, in both; the rewrite figure is nowhere in its "
        "log. Our log has it.",
    )


def _implied_disk_rate(item: Statement, _: pd.DataFrame) -> Judgement:
    rate_mb_s = item.number * 1024 / 1e6
    limit_mb_s = item.threshold
    if rate_mb_s <= limit_mb_s:
        return Judgement(Verdict.REPRODUCED, item.published, "A disk's link can carry that.")
    return Judgement(
        Verdict.CONTRADICTED,
        item.published,
        f"{rate_mb_s:.0f} MB/s is more than any SATA link carries ({limit_mb_s:.0f} MB/s): these "
        "reads came from the page cache, which iozone had just filled by writing the same file "
        "(the script drops it before iozone starts, not between its tests). No scheduler saw them.",
    )


def _logged_threads(item: Statement, _: pd.DataFrame) -> Judgement:
    threads = item.select["threads"]
    lines = SCRIPT_OUTPUT.read_text().splitlines()
    fields = next(line.split() for line in lines if "  Initial write " in line)
    values = list(map(float, fields[4 : 4 + threads]))
    logged = values[0]  # the script's awk counts from 1: its $5 is this one
    return Judgement(
        reproduced_if(logged == values[-1] != values[0]),
        f"{values.index(logged) + 1} process",
        f"With -l 1 -u {threads} iozone runs 1 to {threads} processes and reports one figure for "
        f"each ({', '.join(plain(value, 6) for value in values)} KiB/s in the recorded run); the "
        f"script takes the first, {plain(logged, 6)}, which is that of one process. So its log has "
        "nothing about more than one.",
    )


def _points_sum(item: Statement, _: pd.DataFrame) -> Judgement:
    printed = rows_of(points(), computer=item.select["computer"]).set_index("scheduler")["points"]
    whole = COMPARISONS * (2 + 1 + 0)
    total = int(printed.sum())
    terms = " + ".join(f"{value} ({name})" for name, value in printed.items())
    if len(printed) == 3:
        verdict = reproduced_if(total == whole)
        return Judgement(
            verdict,
            f"{total} points",
            f"{terms} = {total}; {COMPARISONS} comparisons give away {whole}. One point is "
            "missing, and the article's method has no rule for ties that would lose one.",
        )
    rest = whole - total
    possible = printed.min() <= rest <= printed.max()
    return Judgement(
        reproduced_if(possible),
        f"{rest} points left",
        f"{terms} = {total}; of the {whole} points of {COMPARISONS} comparisons {rest} are left "
        "for deadline, which is not printed"
        + (" and lies between winner and loser, as it must." if possible else "; it cannot be."),
    )


def _best_on_every_test(item: Statement, _: pd.DataFrame) -> Judgement:
    return Judgement(
        reproduced_if(item.number == MOST_POINTS),
        MOST_POINTS,
        f"Better on all of {COMPARISONS} comparisons gives {MOST_POINTS} points; "
        f"{item.number:g} are printed.",
    )


def _command_writes(item: Statement, _: pd.DataFrame) -> Judgement:
    words = list(shlex.shlex(str(item.published), posix=True, punctuation_chars=True))
    writes = any(word in (">", ">>", "|") for word in words)
    reason = (
        "Its output goes to the file."
        if writes
        else "A shell finds no > in it, so it prints both words and changes nothing. The script of "
        "the same article has one."
    )
    return Judgement(reproduced_if(writes), "written" if writes else "printed", reason)


JUDGES: dict[str, Judge] = {
    "rewrite_is_random_write": _rewrite_is_random_write,
    "implied_disk_rate": _implied_disk_rate,
    "logged_threads": _logged_threads,
    "points_sum": _points_sum,
    "best_on_every_test": _best_on_every_test,
    "command_writes": _command_writes,
}
