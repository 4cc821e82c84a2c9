"""Small tables of what was measured."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ...analysis.intervals import Interval, geometric_interval
from .measures import ARMS, TESTS, VARIANTS, comparisons, gain, machine_name, over_tests, ranking
from .measures import rows_of as _rows_of

PLACE = ("testbed", "machine", "preset", "tool", "arm", "variant")

OVERVIEW = (
    "Measured: throughput of each test in MiB/s, the sum over threads, its geometric mean "
    "over runs and the 95 % confidence interval. Column tool: fio ran the same patterns where "
    "iozone could not be had."
)
POINTS = (
    "The article's points, for any number of schedulers: one for each other scheduler beaten and "
    "half a one for each tie, in every test, number of threads and run. Then what the article "
    "lacked: how often each wins in resampled runs, and Friedman's test over tests and numbers of "
    "threads with mean ranks (1 is best)."
)
GAINS = (
    "Size of the effect: throughput of the best scheduler over that of the worst in percent, for "
    "one thread and for the most; with 95 % confidence interval over runs."
)


def tables(measured: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the study's tables, each with its caption.

    Parameters
    ----------
    measured : pandas.DataFrame
        The study's tidy table; may be empty.
    """
    return [overview_table(measured), points_table(measured), gains_table(measured)]


def overview_table(measured: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return a caption and one row for each device, variant, scheduler and number of threads."""
    rows = []
    for cell, group in _cells(measured):
        for (scheduler, threads), some in group.groupby(["scheduler", "threads"], sort=True):
            by_test = dict(tuple(some.groupby("test")["throughput_kib_s"]))
            figures = {
                title: _interval(geometric_interval(by_test[test] / 1024))
                for test, title in TESTS.items()
                if test in by_test
            }
            rows.append({**cell, "scheduler": scheduler, "threads": threads, **figures})
    return OVERVIEW, pd.DataFrame(rows, columns=[*PLACE, "scheduler", "threads", *TESTS.values()])


def points_table(measured: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return a caption and one row for each device and variant: points and what they are worth."""
    columns = [*PLACE, "comparisons", "points", "wins", "winner", "Friedman p", "mean ranks"]
    rows = []
    for cell, group in _cells(measured):
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


def gains_table(measured: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return a caption and one row for each device, variant, test and number of threads."""
    rows = []
    for cell, group in _cells(measured):
        shown = sorted({group["threads"].min(), group["threads"].max()})
        for test, title in TESTS.items():
            for threads in shown:
                found = gain(_rows_of(group, test=test, threads=threads))
                if found:
                    best, worst, percent = found
                    gained = _interval(percent)
                    where = {"test": title, "threads": threads, "best": best, "worst": worst}
                    rows.append({**cell, **where, "gain_percent": gained})
    return GAINS, pd.DataFrame(
        rows, columns=[*PLACE, "test", "threads", "best", "worst", "gain_percent"]
    )


def _cells(measured: pd.DataFrame) -> Iterator[tuple[dict, pd.DataFrame]]:
    """Yield the rows of each device and variant, with what the tables call its values."""
    keys = [*PLACE, "backing_scheduler"]
    for cell, rows in measured.groupby(keys, sort=True, dropna=False):
        names = dict(zip(keys, cell, strict=True))
        names.pop("backing_scheduler")
        names["machine"] = machine_name(names["machine"])
        names["arm"] = ARMS[names["arm"]]
        names["variant"] = VARIANTS[names["variant"]]
        if len(comparisons(rows)):
            yield names, rows


def _listed(values: pd.Series, form: str) -> str:
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def _interval(value: Interval) -> str:
    if not value.bounded or value.identical:
        return f"{value.value:.4g}"
    return f"{value.value:.4g} ({value.low:.4g} to {value.high:.4g})"
