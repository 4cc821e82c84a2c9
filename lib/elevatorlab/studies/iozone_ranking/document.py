"""Judge the claims that need no measurement: the article, its script and iozone's output decide."""

from __future__ import annotations

import shlex

import pandas as pd

from ...analysis.number_texts import plain
from ...judging.engine import Judge
from ...judging.families import Statement
from ...judging.verdicts import Judgement, Verdict, reproduced_if
from ..kit.cells import rows_of
from .published import COMPARISONS, SCRIPT_OUTPUT, points, sample_log


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
        "The lines Rewrite and Random write have the same number to the last digit. The script "
        "prints $RWRITE, the random-write throughput, in both lines. Its log has the rewrite "
        "throughput nowhere. Our log has it.",
    )


def _implied_disk_rate(item: Statement, _: pd.DataFrame) -> Judgement:
    rate_mb_s = item.number * 1024 / 1e6
    limit_mb_s = item.threshold
    if rate_mb_s <= limit_mb_s:
        return Judgement(Verdict.REPRODUCED, item.published, "A disk's link can carry that.")
    return Judgement(
        Verdict.CONTRADICTED,
        item.published,
        f"{rate_mb_s:.0f} MB/s is more than any SATA link carries ({limit_mb_s:.0f} MB/s). So "
        "these reads came from the page cache, because iozone had just written the same file. (The "
        "script drops the cache before iozone starts, but not between iozone's tests.) No "
        "scheduler saw these reads.",
    )


def _logged_threads(item: Statement, _: pd.DataFrame) -> Judgement:
    threads = item.select["threads"]
    lines = SCRIPT_OUTPUT.read_text().splitlines()
    fields = next(line.split() for line in lines if "  Initial write " in line)
    values = list(map(float, fields[4 : 4 + threads]))
    logged = values[0]  # awk counts fields from 1, so the script's $5
    return Judgement(
        reproduced_if(logged == values[-1] != values[0]),
        f"{values.index(logged) + 1} process",
        f"With -l 1 -u {threads}, iozone runs 1 to {threads} processes, and reports one throughput "
        f"for each number ({', '.join(plain(value, 6) for value in values)} KiB/s in the recorded "
        f"run). The script takes the first, {plain(logged, 6)}, which belongs to one process. So "
        "the script's log has nothing about several processes.",
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
            f"{terms} = {total}, but {COMPARISONS} comparisons give {whole} points. One point is "
            "missing, and the article's method has no rule for ties that could lose it.",
        )
    rest = whole - total
    possible = printed.min() <= rest <= printed.max()
    return Judgement(
        reproduced_if(possible),
        f"{rest} points left",
        f"{terms} = {total}. {COMPARISONS} comparisons give {whole} points, so {rest} are left for "
        "deadline, whose points are not printed. "
        + (
            "This number lies between winner and loser, as it must."
            if possible
            else "This number is impossible."
        ),
    )


def _command_writes(item: Statement, _: pd.DataFrame) -> Judgement:
    words = list(shlex.shlex(str(item.published), posix=True, punctuation_chars=True))
    writes = any(word in (">", ">>", "|") for word in words)
    reason = (
        "Its output goes to the file."
        if writes
        else "The command has no >, so a shell prints both words and changes nothing. The "
        "article's own script has the >."
    )
    return Judgement(reproduced_if(writes), "written" if writes else "printed", reason)


JUDGES: dict[str, Judge] = {
    "rewrite_is_random_write": _rewrite_is_random_write,
    "implied_disk_rate": _implied_disk_rate,
    "logged_threads": _logged_threads,
    "points_sum": _points_sum,
    "command_writes": _command_writes,
}
