"""Do schedulers differ at all over several tests? Friedman's test and Nemenyi's afterwards."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
from scipy import stats


@dataclass(frozen=True)
class Friedman:
    """Outcome of Friedman's test, and of Nemenyi's for each pair."""

    #: Mean rank of each scheduler, 1 is best; the best first.
    ranks: pd.Series
    #: statistic, p_value: Friedman's chi-squared, corrected for ties, and its p-value. NaN if the
    #: test does not exist: with fewer than three schedulers, or if every block is a tie.
    statistic: float
    p_value: float
    #: Nemenyi's: mean ranks that differ by less do not differ at the level of 5 %.
    critical_difference: float
    #: The blocks over which ranks are averaged, one per row: those that have every scheduler.
    whole: pd.DataFrame

    @property
    def blocks(self) -> int:
        """Number of blocks over which the ranks are averaged."""
        return len(self.whole)

    @property
    def pairs(self) -> pd.DataFrame:
        """Nemenyi's p-value for each pair of schedulers."""
        import scikit_posthocs  # imports libraries that draw, which verdicts do without

        probabilities: pd.DataFrame = scikit_posthocs.posthoc_nemenyi_friedman(self.whole)
        return probabilities


def friedman(throughput: pd.DataFrame) -> Friedman | None:
    """Rank schedulers within blocks, and test whether the mean ranks differ.

    Parameters
    ----------
    throughput : pandas.DataFrame
        One row per block, one column per scheduler, more is better. A block is a test with a number
        of threads, averaged over its runs: a single run is not a block. Blocks that lack a
        scheduler are left out.

    Returns
    -------
    Friedman or None
        None with fewer than two schedulers, or with fewer than two blocks that have all of them.

    References
    ----------
    M. Friedman, "The use of ranks to avoid the assumption of normality implicit in the analysis
    of variance", JASA 32, 1937. J. Demsar, "Statistical comparisons of classifiers over multiple
    data sets", JMLR 7, 2006 (the critical difference, section 3.2.2).

    Examples
    --------
    >>> better = pd.DataFrame({"a": [3.0, 9.0, 5.0], "b": [2.0, 8.0, 4.0], "c": [1.0, 7.0, 3.0]})
    >>> found = friedman(better)
    >>> found.ranks.to_dict(), round(found.statistic, 6)
    ({'a': 1.0, 'b': 2.0, 'c': 3.0}, 6.0)
    """
    whole = throughput.dropna()
    blocks, schedulers = whole.shape
    if blocks < 2 or schedulers < 2:
        return None
    ranks = (-whole).rank(axis=1)
    statistic = p_value = math.nan
    if schedulers > 2 and (whole.nunique(axis=1) > 1).any():
        statistic, p_value = stats.friedmanchisquare(*(whole[name] for name in whole))
    quantile = stats.studentized_range.ppf(0.95, schedulers, math.inf) / math.sqrt(2)
    difference = quantile * math.sqrt(schedulers * (schedulers + 1) / (6 * blocks))
    mean = ranks.mean().sort_values(kind="stable")
    whole = whole.reset_index(drop=True)
    return Friedman(mean, float(statistic), float(p_value), float(difference), whole)
