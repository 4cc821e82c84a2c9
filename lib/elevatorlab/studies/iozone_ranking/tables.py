"""Small tables of what was measured, and a log in the article's format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ...analysis.intervals import Interval, geometric_interval
from ...analysis.number_texts import EXACT_DIGITS, plain, within
from ..kit.cells import rows_of
from ..kit.contrast import turned, with_arm
from ..kit.tables import PLACE, Captioned, cells, machine_name
from .claims import judge
from .measures import TESTS, VARIANTS, arm_name, comparisons, gain, over_tests, ranking

WHERE = (*PLACE, "tool", "arm", "variant")

OVERVIEW = (
    "Measured: throughput of each test in MiB/s, summed over threads, as geometric mean over runs "
    "and 95 % confidence interval. Where iozone was not available, fio ran the same "
    "patterns (see column tool)."
)
POINTS = (
    "Points by the article's method, extended to any number of schedulers. Every combination of "
    "test, number of threads and run gives points. A scheduler gets one point for each scheduler "
    "beaten, and half a point for each tie. The other columns are not in the article. They tell "
    "how often each scheduler wins in resampled runs. They also have Friedman's test, with mean "
    "ranks over tests and numbers of threads (1 is best)."
)
GAINS = (
    "Size of the effect: by how many percent the best scheduler's throughput exceeds the worst's, "
    "with one thread and with the largest number of threads. The 95 % confidence interval is over "
    "runs."
)

LOG_HEADER = ("Test", "Throughput (KB/s)", "I/O Scheduler", "Threads", "n")
LOG_TESTS = ("initial_write", "rewrite", "random_read", "mixed_workload", "random_write")


def tables(measured: pd.DataFrame) -> list[Captioned]:
    """Return the study's tables, each with its caption."""
    found = [overview_table(measured), points_table(measured), gains_table(measured)]
    return [*found, *turned(judge, measured[~with_arm(measured)], measured)]


def overview_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each device, variant, scheduler and number of threads."""
    rows = []
    for cell, group in _named_cells(measured):
        for (scheduler, threads), some in group.groupby(["scheduler", "threads"], sort=True):
            by_test = dict(tuple(some.groupby("test")["throughput_kib_s"]))
            figures = {
                title: _interval(geometric_interval(by_test[test] / 1024))
                for test, title in TESTS.items()
                if test in by_test
            }
            rows.append({**cell, "scheduler": scheduler, "threads": threads, **figures})
    return OVERVIEW, pd.DataFrame(rows, columns=[*WHERE, "scheduler", "threads", *TESTS.values()])


def points_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each device and variant: points, and how firm they are."""
    columns = [*WHERE, "comparisons", "points", "wins", "winner", "Friedman p", "mean ranks"]
    rows = []
    for cell, group in _named_cells(measured):
        found, over = ranking(group), over_tests(group)
        if found is None:
            continue
        ranks = "" if over is None else _listed(over.ranks, ".2f")
        rows.append(
            {
                **cell,
                "comparisons": found.comparisons,
                "points": _listed(found.total, "g"),
                "wins": "–" if found.runs < 2 else _listed(found.wins, ".0%"),
                "winner": f"{found.winner or 'tie'} ({found.says})",
                "Friedman p": "–" if over is None else f"{over.p_value:.3g}",
                "mean ranks": ranks,
            }
        )
    return POINTS, pd.DataFrame(rows, columns=columns)


def gains_table(measured: pd.DataFrame) -> Captioned:
    """Return a caption and one row for each device, variant, test and number of threads."""
    rows = []
    for cell, group in _named_cells(measured):
        shown = sorted({group["threads"].min(), group["threads"].max()})
        for test, title in TESTS.items():
            for threads in shown:
                found = gain(rows_of(group, test=test, threads=threads))
                if found:
                    best, worst, percent = found
                    gained = _interval(percent)
                    where = {"test": title, "threads": threads, "best": best, "worst": worst}
                    rows.append({**cell, **where, "gain (%)": gained})
    return GAINS, pd.DataFrame(
        rows, columns=[*WHERE, "test", "threads", "best", "worst", "gain (%)"]
    )


def _named_cells(measured: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield each device and variant, with the names that the tables give them, and its rows."""
    for names, rows in cells(measured, [*WHERE, "backing_scheduler"]):
        names.pop("backing_scheduler")
        names["machine"] = machine_name(names["machine"])
        names["arm"] = arm_name(names["arm"])
        names["variant"] = VARIANTS[names["variant"]]
        if len(comparisons(rows)):
            yield names, rows


def _listed(values: pd.Series, form: str) -> str:
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def _interval(value: Interval) -> str:
    if not value.bounded or value.identical:
        return plain(value.value, EXACT_DIGITS)
    return within(value.value, value.low, value.high)


# The article's log: tab-separated, so that spreadsheets made for it still work


def write_log(measured: pd.DataFrame, folder: Path) -> list[Path]:
    """Write a log in the article's format for each device, variant and tool that was measured.

    The line Rewrite has the throughput of rewriting; the article's script prints that of random
    writing there. The column ``n`` is the run. As in iozone, a KB has 1024 bytes.

    Returns: ``iozone-DEVICE-VARIANT-all-results.log``, or ``fio-...`` where fio ran in place of
    iozone. If the table has several machines or presets, the names say which.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    place = ["testbed", "machine", "preset", "backing_scheduler"]
    place = [name for name in place if measured[name].nunique(dropna=False) > 1]
    written = []
    for names, rows in cells(measured, ["tool", "arm", "variant", *place]):
        name = "-".join(str(part)[:16] for part in names.values() if not pd.isna(part))
        path = folder / f"{name}-all-results.log"
        path.write_text(as_log(rows))
        written.append(path)
    return written


def as_log(rows: pd.DataFrame) -> str:
    """Return rows of one device and variant as the article's log, in the order of its script."""
    rows = rows.assign(place=rows["test"].map(LOG_TESTS.index))
    lines = ["\t".join(LOG_HEADER)]
    rows = rows.sort_values(["scheduler", "threads", "repetition", "place"])
    for row in rows.to_dict("records"):
        values = [TESTS[row["test"]], f"{row['throughput_kib_s']:.2f}"]
        values += [str(row[name]) for name in ("scheduler", "threads", "repetition")]
        lines.append("\t".join(values))
    return "\n".join(lines) + "\n"
