"""How far the response times of a modelled disk are from those of the real one."""

from __future__ import annotations

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
