"""How stable an order is: would other repetitions have ranked the same?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

DECIDED = 0.95
"""The share of resamples that must keep an order, or a winner, for it to be decided.

There must also be enough repetitions: chance alone may make all of them agree at most once in
twenty times.
"""

DRAWS = 2000


@dataclass(frozen=True)
class Ranking:
    """An order with the share of bootstrap resamples that keep it.

    Attributes
    ----------
    order : tuple of str
        Names, the smallest mean first.
    repetitions : int
        How many repetitions have a value for every name.
    order_stays, winner_stays : float
        Share of resamples, 0 to 1, with the same strict order, and with the same name first; NaN
        with fewer than two repetitions.

    Examples
    --------
    >>> Ranking(("a", "b"), 8, order_stays=0.99, winner_stays=0.99).order[0]
    'a'
    """

    order: tuple[str, ...]
    repetitions: int
    order_stays: float
    winner_stays: float

    @property
    def order_says(self) -> str:
        """What may be said of the order: decided, undecided, or too few repetitions."""
        return self._says(self.order_stays, math.factorial(len(self.order)))

    @property
    def winner_says(self) -> str:
        """What may be said of the winner: decided, undecided, or too few repetitions."""
        return self._says(self.winner_stays, len(self.order))

    def _says(self, share: float, outcomes: int) -> str:
        if self.repetitions < 2:
            return "one repetition: cannot be told"
        if share < DECIDED:
            return "undecided"
        # If nothing differs, all others agree with the first repetition with this probability.
        by_chance = outcomes ** (1 - self.repetitions)
        return "decided" if by_chance <= 1 - DECIDED else "too few repetitions"

    def text(self) -> str:
        """Say in a sentence how stable the order is."""
        if self.repetitions < 2:
            return "One repetition says nothing about how stable the order is."
        return (
            f"Of resampled repetitions (n = {self.repetitions}), {self.order_stays:.0%} keep the "
            f"order {' < '.join(self.order)} ({self.order_says}) and {self.winner_stays:.0%} keep "
            f"{self.order[0]} first ({self.winner_says})."
        )


def rank(times: pd.DataFrame, seed: int = 0, draws: int = DRAWS) -> Ranking | None:
    """Rank the columns of a table and bootstrap the order over its rows.

    Whole rows are drawn with replacement, so that values of the same repetition stay paired.
    Columns are compared by their geometric means. A resample with a tie does not keep the order.

    The bootstrap knows only the repetitions in the table: if these happen to agree, every resample
    agrees, too. If two columns do not differ, the same one is still smaller in all n repetitions
    with probability 1 / 2^(n-1). `Ranking` takes this into account.

    Parameters
    ----------
    times : pandas.DataFrame
        Positive times, one row per repetition, one column per scheduler, in any one unit. Rows that
        lack a time are left out.
    seed : int
        The same seed draws the same resamples.
    draws : int
        How many resamples.

    Returns
    -------
    Ranking or None
        None if there are fewer than two columns, or if no row has all times.

    Raises
    ------
    ValueError
        For a time that is not positive.

    References
    ----------
    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 6 and 8 (resampling
    of whole observations).

    Examples
    --------
    >>> found = rank(pd.DataFrame({"a": [1.0, 1.1, 0.9], "b": [2.0, 2.1, 1.9]}))
    >>> found.order, found.order_stays
    (('a', 'b'), 1.0)
    """
    whole = times.dropna()
    if whole.empty or len(whole.columns) < 2:
        return None
    if (whole <= 0).any(axis=None):
        raise ValueError(
            f"expected positive times, found {float(whole.to_numpy().min())}: leave out what was "
            "not timed"
        )
    logs = np.log(whole)
    order = logs.mean().sort_values(kind="stable").index
    repetitions = len(whole)
    if repetitions < 2:
        return Ranking(tuple(order), repetitions, math.nan, math.nan)
    chosen = np.random.default_rng(seed).integers(repetitions, size=(draws, repetitions))
    means = logs[order].to_numpy()[chosen].mean(axis=1)
    keeps_order = (np.diff(means, axis=1) > 0).all(axis=1)
    keeps_winner = (means[:, 1:] > means[:, :1]).all(axis=1)
    shares = float(keeps_order.mean()), float(keeps_winner.mean())
    return Ranking(tuple(order), repetitions, *shares)
