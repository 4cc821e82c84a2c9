"""One number for a distribution: how fair it is, and how far it is from another one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike


def demerit(model: ArrayLike, real: ArrayLike) -> float:
    """Return the demerit figure: how far apart two distributions are, horizontally.

    It is the root mean square of the distances between the two cumulative distributions, in the
    unit of the values.

    References
    ----------
    .. [1] C. Ruemmler, J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3),
       1994.

    Examples
    --------
    >>> demerit([1, 2, 3], [3, 2, 1])
    0.0
    >>> demerit([1, 2, 3], [4, 3, 2])
    1.0
    """
    ours, theirs = np.sort(np.asarray(model, float)), np.sort(np.asarray(real, float))
    return float(np.sqrt(np.mean((ours - theirs) ** 2)))


def jain(shares: Iterable[float]) -> float:
    """Return Jain's index of fairness, (sum x)^2 / (n sum x^2).

    The index is 1 if all n get the same, 1/n if one gets everything, and NaN if nobody gets
    anything. Where groups have weights, first divide each share by its group's weight.

    References
    ----------
    Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination for resource
    allocation in shared computer systems", DEC-TR-301, 1984.

    Examples
    --------
    >>> jain([1, 1, 1, 1]), jain([1, 0, 0, 0]), jain([3, 1])
    (1.0, 0.25, 0.8)
    """
    given = [float(share) for share in shares]
    total = sum(given)
    return total**2 / (len(given) * sum(share**2 for share in given)) if total else float("nan")
