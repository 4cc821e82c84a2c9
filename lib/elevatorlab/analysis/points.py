"""Points for places: the article's method for any number of schedulers, and how far to trust it.

In each comparison, a scheduler gets a point for each scheduler that it beats, and half a point for
each with which it ties. This is a Borda count; for three schedulers without ties, it gives the
article's 2, 1 and 0 points. A comparison of k schedulers always gives k (k - 1) / 2 points in all.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from .intervals import Interval, mean_interval
from .ranking import DECIDED, DRAWS


@dataclass(frozen=True)
class Points:
    """Points of each scheduler, and how often the same scheduler wins among resampled runs."""

    #: Points by scheduler, the most first; schedulers that tie are in the order of the columns.
    total: pd.Series
    #: 95 % confidence interval of each total (Student's t over the points of each run); NaN bounds
    #: with one run.
    interval: dict[str, Interval]
    #: Share of resamples, 0 to 1, in which a scheduler has the most points; NaN with one run.
    #: Schedulers that share the first place divide the resample equally.
    wins: pd.Series
    #: comparisons, runs: How many comparisons gave points, and how many runs they come from.
    comparisons: int
    runs: int

    @property
    def winner(self) -> str | None:
        """The scheduler with the most points; None if several share the first place."""
        first = self.total.index[self.total == self.total.max()]
        return first[0] if len(first) == 1 else None

    @property
    def fewest_runs(self) -> int:
        """The fewest runs for which it is unlikely that all agree by chance alone."""
        # If no scheduler differs, all other runs have the first run's winner with this probability.
        by_chance = ((runs, len(self.total) ** (1 - runs)) for runs in itertools.count(2))
        return next(runs for runs, share in by_chance if share <= 1 - DECIDED)

    @property
    def says(self) -> str:
        """What may be said of the winner: decided, undecided, or too few runs."""
        if self.runs < 2:
            return "one run: cannot be told"
        if self.wins.max() < DECIDED:
            return "undecided"
        return "decided" if self.runs >= self.fewest_runs else "too few runs"


def points(throughput: pd.DataFrame, seed: int = 0, draws: int = DRAWS) -> Points | None:
    """Give points for places, and bootstrap them over runs.

    Whole runs are drawn with replacement, so that tests of the same run stay together.

    `throughput`: One row per comparison (a test, number of threads and run), one column per
    scheduler, in any one unit, more is better. The index level ``repetition`` names the run.
    Comparisons that lack a scheduler are left out. Returns: None with fewer than two schedulers, or
    without a comparison that has all of them.

    References
    ----------
    J.-C. de Borda, "Memoire sur les elections au scrutin", 1781. Efron and Tibshirani, "An
    Introduction to the Bootstrap", 1993, chapter 8 (resampling of whole observations).

    Examples
    --------
    >>> runs = pd.MultiIndex.from_tuples([("write", 1), ("write", 2)], names=["test", "repetition"])
    >>> found = points(pd.DataFrame({"a": [3.0, 3.0], "b": [2.0, 2.0], "c": [1.0, 2.0]}, runs))
    >>> found.total.to_dict()
    {'a': 4.0, 'b': 1.5, 'c': 0.5}
    """
    whole = throughput.dropna()
    if whole.empty or len(whole.columns) < 2:
        return None
    given = pd.DataFrame(
        stats.rankdata(whole, axis=1) - 1, columns=whole.columns, index=whole.index
    )
    by_run = given.groupby(level="repetition").sum()
    total = given.sum().sort_values(ascending=False, kind="stable")
    by_run = by_run[total.index]
    runs = len(by_run)
    interval = {
        name: mean_interval(by_run[name]).map(lambda value: value * runs) for name in total.index
    }
    if runs < 2:
        return Points(total, interval, total * math.nan, len(given), runs)
    chosen = np.random.default_rng(seed).integers(runs, size=(draws, runs))
    drawn = by_run.to_numpy()[chosen].sum(axis=1)
    first = drawn == drawn.max(axis=1, keepdims=True)
    wins = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    return Points(total, interval, pd.Series(wins, total.index), len(given), runs)
