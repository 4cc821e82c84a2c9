"""Least-squares fits, with a warning wherever a fit cannot be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from . import fit_warnings, solver
from .intervals import CONFIDENCE
from .models import Model

if TYPE_CHECKING:
    import lmfit

LARGEST = 1e100
"""The largest x and the largest y lie between this and its inverse: their squares are numbers."""


class Parameter(NamedTuple):
    """A fitted parameter: value, standard error and bounds of its confidence interval.

    Error and bounds are NaN if the points do not determine them.
    """

    value: float
    error: float
    low: float
    high: float


class Prediction(NamedTuple):
    """A curve to draw: x, fitted value, confidence band of the curve, and warnings.

    The band is that of the mean curve, not of single observations. Outside of the model's domain,
    value and band are NaN.
    """

    x: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Fit:
    """The outcome of fitting one model.

    Attributes
    ----------
    model : Model
    x, y, weights : numpy.ndarray
        The points that were used, and the weight of each residual.
    fitted, residuals : numpy.ndarray
        The curve at x, and y minus it (unweighted), in the unit of y.
    parameters : dict of str to Parameter
        With linearised (Wald) intervals at the confidence of `intervals.CONFIDENCE`, averaged if
        there is a rival.
    rss, r2, aicc : float
        Weighted sum of squared residuals; 1 - rss / total; Akaike's criterion with the
        correction for small samples (NaN where the sample is too small for it). Values of AICc
        from different weights can be compared, because each comes from the density of y itself.
    warnings : tuple of str
        Sentences on why not to trust the fit; empty if there is no reason.
    noise : str
        "constant" without weights, "proportional" (see `noise.fit_either`), else "as weighted".
    rival : Fit or None
        A fit of the same curve with the other noise. Intervals and bands are then averaged.
    share : float
        The weight of this fit in these averages; its rival has the rest of the weight.

    Examples
    --------
    >>> from elevatorlab.analysis.models import POWER
    >>> fit(POWER, [1, 2, 4, 8, 16], [8.0, 4.1, 2.0, 0.9, 0.5]).r2 > 0.99
    True
    """

    model: Model
    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    fitted: np.ndarray
    parameters: dict[str, Parameter]
    rss: float
    r2: float
    aicc: float
    warnings: tuple[str, ...]
    _solution: lmfit.model.ModelResult = field(repr=False)
    noise: str = "constant"
    rival: Fit | None = None
    share: float = 1.0

    @property
    def residuals(self) -> np.ndarray:
        """Observed minus fitted, in the unit of y."""
        return np.asarray(self.y - self.fitted)

    @property
    def exact(self) -> bool:
        """Whether the residuals are rounding alone: the curve is then an identity of the data."""
        return fit_warnings.is_exact(self.y, self.fitted)

    def predict(self, x: npt.ArrayLike) -> Prediction:
        """Evaluate the curve and its confidence band (delta method).

        Parameters
        ----------
        x : array
            Where to predict. A place beyond the data gives a warning.

        Returns
        -------
        Prediction
            Arrays of the length of x.
        """
        places = np.atleast_1d(np.asarray(x, dtype=float))
        inside = self.model.valid(places)
        value, half = np.full(places.shape, np.nan), np.full(places.shape, np.nan)
        if inside.any():
            value[inside] = self.model.function(places[inside], **self._solution.best_values)
            half[inside] = self._half_band(places[inside])
        low, high = value - half, value + half
        if self.rival is not None:
            other = self.rival.predict(places)
            low, high = _averaged((low, high), (other.low, other.high), self.share, self._free)
        warnings = fit_warnings.of_prediction(self.model, places, self.x)
        return Prediction(places, value, low, high, warnings)

    def _half_band(self, x: np.ndarray) -> np.ndarray | float:
        if not all(np.isfinite(one.error) for one in self.parameters.values()):
            return np.nan
        slopes = solver.slopes(self.model, self._solution.best_values, x)
        variance = np.maximum(np.einsum("ij,jk,ik->i", slopes, self._solution.covar, slopes), 0)
        return np.asarray(_student(self._free) * np.sqrt(variance))

    @property
    def _free(self) -> int:
        return int(self._solution.nfree)

    def averaged_with(self, rival: Fit, share: float) -> Fit:
        """Return this fit with intervals averaged over a less likely fit of the same curve.

        Parameters
        ----------
        rival : Fit
            Of the same model and points.
        share : float
            What this fit counts, from 0.5 to 1. The rival counts for the rest.

        References
        ----------
        Turek and Fletcher, "Model-averaged Wald confidence intervals", Computational Statistics
        and Data Analysis 56(9), 2012: each end leaves out the wanted probability in the average
        of both distributions.
        """
        parameters = {}
        for name, one in self.parameters.items():
            other = rival.parameters[name]
            ends = (one.low, one.high), (other.low, other.high)
            low, high = _averaged(*ends, share, self._free)
            parameters[name] = one._replace(low=float(low), high=float(high))
        return replace(self, parameters=parameters, rival=rival, share=share)


def fit(
    model: Model,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    start: Mapping[str, float] | None = None,
    iops: npt.ArrayLike | None = None,
) -> Fit:
    """Fit a model by (weighted) least squares.

    Parameters
    ----------
    model : Model
        For example `models.POWER`.
    x, y : array of float
        One point per observation; each repetition is a point of its own. Points outside the
        model's domain are left out, and a warning says so.
    weights : array of float, optional
        Positive factors of the residuals: the inverse of the standard deviation of each.
    start : mapping, optional
        Start values instead of the model's own guess.
    iops : array of float, optional
        For laws of the wait over utilisation: throughput of one writer or stream, in requests per
        second. With it, the fit of an open model recognises data of a closed system even if x is
        the utilisation of a shared disk.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        For values that are not finite or beyond `LARGEST`, weights that are not positive, unequal
        lengths, fewer distinct x than parameters, or y that the curve cannot have.

    References
    ----------
    Tested with the certified values of NIST's Statistical Reference Datasets (test_fits.py).

    Examples
    --------
    >>> from elevatorlab.analysis.models import POWER
    >>> found = fit(POWER, [1, 2, 4, 8, 16], [8.0, 4.1, 2.0, 0.9, 0.5])
    >>> round(found.parameters["b"].value, 1), found.warnings
    (-1.0, ())
    """
    columns = _points(x, y, weights, iops)
    inside = model.valid(columns[0])
    of_points = fit_warnings.of_points(model, columns[0], inside)
    found = _fit(model, of_points, [column[inside] for column in columns], start)
    return found if weights is None else replace(found, noise="as weighted")


def _fit(
    model: Model,
    of_points: Sequence[str],
    columns: Sequence[np.ndarray],
    start: Mapping[str, float] | None,
) -> Fit:
    x, y, weights, iops = columns
    needed, there = len(model.parameters), len(np.unique(x))
    if there < needed:
        raise ValueError(
            f"{model.name}: expected points at {needed} or more different x "
            f"{model.domain_text()}, found {there}: measure more points"
        )
    start = model.guess(x, y) if start is None else start
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        solution = solver.solve(model, x, y, weights, start)
    fitted = np.asarray(solution.best_fit, dtype=float)
    slopes = weights[:, None] * solver.slopes(model, solution.best_values, x)
    parameters = _parameters(solution, slopes)
    warnings = (
        *of_points,
        *fit_warnings.of_solution(solution, [one.error for one in parameters.values()]),
        *fit_warnings.of_system(model, x, y, iops),
        *fit_warnings.of_residuals(x, y, fitted, weights, slopes),
    )
    rss, r2, aicc = _quality(y, fitted, weights, needed)
    return Fit(model, x, y, weights, fitted, parameters, rss, r2, aicc, warnings, solution)


def _points(
    x: npt.ArrayLike, y: npt.ArrayLike, weights: npt.ArrayLike | None, iops: npt.ArrayLike | None
) -> list[np.ndarray]:
    # By default, every weight is 1, and no IOPS are known.
    size = np.shape(x)
    given = (
        *(x, y, np.ones(size) if weights is None else weights),
        np.full(size, np.nan) if iops is None else iops,
    )
    columns = [np.asarray(values, dtype=float) for values in given]
    if columns[0].ndim != 1 or any(values.shape != size for values in columns):
        shapes = ", ".join(str(values.shape) for values in columns)
        raise ValueError(
            f"expected x, y, weights and iops as columns of one length, found {shapes}"
        )
    for name, values in zip("xy", columns, strict=False):
        if not np.isfinite(values).all():
            raise ValueError(
                f"expected finite numbers, found {np.sum(~np.isfinite(values))} of {len(values)} "
                f"values of {name} that are not: leave out what was not measured"
            )
        size = np.abs(values).max(initial=0)
        if size and not 1 / LARGEST <= size <= LARGEST:
            raise ValueError(
                f"expected values of {name} of which the largest is between {1 / LARGEST:g} and "
                f"{LARGEST:g}, found {size:g}, whose square is no number: use another unit"
            )
    if not (np.isfinite(columns[2]) & (columns[2] > 0)).all():
        raise ValueError("expected positive weights, found others: use 1 / standard deviation")
    return columns


#: Halvings of an interval's end: its error is then a rounding of what both intervals span.
_HALVINGS = 50


def _averaged(
    one: tuple[npt.ArrayLike, npt.ArrayLike],
    other: tuple[npt.ArrayLike, npt.ArrayLike],
    share: float,
    free: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Average two of Student's intervals; the first counts for `share`."""
    (low, high), (other_low, other_high) = np.asarray(one), np.asarray(other)
    ends = []
    for tail in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2):
        below, above = np.minimum(low, other_low), np.maximum(high, other_high)
        for _ in range(_HALVINGS):
            place = (below + above) / 2
            left_out = share * _below(place, low, high, free)
            left_out += (1 - share) * _below(place, other_low, other_high, free)
            less = left_out < tail
            below, above = np.where(less, place, below), np.where(less, above, place)
        ends.append((below + above) / 2)
    return ends[0], ends[1]


def _below(place: np.ndarray, low: np.ndarray, high: np.ndarray, free: int) -> np.ndarray:
    """Return the probability below a place of the distribution that an interval stands for."""
    error = (high - low) / 2 / _student(free)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(special.stdtr(free, (place - (low + high) / 2) / error))


def _student(free: int) -> float:
    return float(special.stdtrit(free, (1 + CONFIDENCE) / 2))


def _parameters(solution: lmfit.model.ModelResult, slopes: np.ndarray) -> dict[str, Parameter]:
    determined = solver.determined(slopes)
    found = {}
    for name, one in solution.params.items():
        value, error = float(one.value), np.nan
        if determined and solution.nfree > 0 and one.stderr is not None:
            error = float(one.stderr)
        half = _student(solution.nfree) * error
        found[name] = Parameter(value, error, value - half, value + half)
    return found


def _quality(
    y: np.ndarray, fitted: np.ndarray, weights: np.ndarray, parameters: int
) -> tuple[float, float, float]:
    n = len(y)
    rss = float(np.sum((weights * (y - fitted)) ** 2))
    mean = np.average(y, weights=weights**2)
    total = float(np.sum((weights * (y - mean)) ** 2))
    r2 = 1 - rss / total if total > 0 else np.nan
    k = parameters + 1  # the variance is estimated, too
    if n - k - 1 <= 0:
        return rss, r2, np.nan
    # Rounding is no evidence, so exact fits differ in their number of parameters alone.
    counted = max(rss, np.sum((weights * fit_warnings.ROUNDING * np.abs(y).max()) ** 2))
    aicc = n * np.log(counted / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
    aicc -= 2 * np.sum(np.log(weights))
    return rss, r2, float(aicc)
