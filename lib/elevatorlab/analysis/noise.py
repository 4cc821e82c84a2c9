"""Fits whose intervals hold whether the noise is the same everywhere or grows with the curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from . import solver
from .fits import Fit, fit
from .models import Model

_ROUNDS = 4
"""Rounds of weighting; after the first, the curve changes by less than its own error."""


def fit_either(
    model: Model, x: npt.ArrayLike, y: npt.ArrayLike, *, iops: npt.ArrayLike | None = None
) -> Fit:
    """Fit with the noise that the points show: constant, or in proportion to the curve.

    Both are fitted, and the likelier fit is returned. Its intervals and bands are averaged over
    both (`fits.Fit.rival`), in the shares of their likelihoods: the less the points tell the two
    apart, the more the other one counts. So they contain the truth about as often as they should
    with either noise (benchmarks/coverage.py).

    The likelihood is the restricted one (Patterson and Thompson, "Recovery of inter-block
    information when block sizes are unequal", Biometrika 58(3), 1971; for variances that depend on
    the mean: Carroll and Ruppert, "Transformation and Weighting in Regression", 1988, chapter 3).
    The plain likelihood favours the noise with which the curve follows a few points most closely.

    Parameters
    ----------
    model, x, y, iops
        As in `fits.fit`.

    Returns
    -------
    Fit
        `Fit.noise` says which noise it has: "constant" or "proportional".
    """
    constant = fit(model, x, y, iops=iops)
    proportional = fit_proportional(model, x, y, iops=iops)
    if proportional is None or constant.exact or not _determined(constant, proportional):
        return constant
    difference = _restricted(proportional) - _restricted(constant)
    best, other = (proportional, constant) if difference < 0 else (constant, proportional)
    return best.averaged_with(other, 1 / (1 + np.exp(-abs(difference) / 2)))


def fit_proportional(
    model: Model, x: npt.ArrayLike, y: npt.ArrayLike, *, iops: npt.ArrayLike | None = None
) -> Fit | None:
    """Fit by least squares of relative residuals: noise in proportion to the curve.

    Weights are 1 / curve, so the fit is repeated with the curve of the fit before.

    Returns: None if a point or the curve is not positive, or if a point lies outside the model's
    domain.
    """
    curve, start, found = np.asarray(y, dtype=float), None, None
    for _ in range(_ROUNDS):
        if not (curve > 0).all() or len(curve) != np.size(x):
            return None
        found = fit(model, x, y, 1 / curve, start=start, iops=iops)
        curve, start = found.fitted, {name: one.value for name, one in found.parameters.items()}
    return found and replace(found, noise="proportional")


def _determined(*fits: Fit) -> bool:
    return all(np.isfinite(one.error) for some in fits for one in some.parameters.values())


def _restricted(found: Fit) -> float:
    """Return -2 times the logarithm of the restricted likelihood, up to a constant."""
    values = {name: one.value for name, one in found.parameters.items()}
    slopes = found.weights[:, None] * solver.slopes(found.model, values, found.x)
    free = len(found.x) - len(values)
    information = np.linalg.slogdet(slopes.T @ slopes).logabsdet
    return float(free * np.log(found.rss / free) - 2 * np.sum(np.log(found.weights)) + information)
