"""What can be said against a fit, in sentences: its points, its solution, its residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from .models import Model
from .queueing import think_time_ms

if TYPE_CHECKING:
    import lmfit

ROUNDING = 1e-9
"""Residuals below this share of the largest ``|y|`` count as rounding."""

_CLEARLY = 0.01
"""p-value below which residuals are called unequal or dependent."""

_FEWEST_FOR_RESIDUALS = 8
"""With fewer points, the rank tests on residuals can hardly come to a p-value below `_CLEARLY`."""

_CONSTANT = 0.1
_VARIES = 3.0
"""A closed system is recognised by its think time.

Its relative spread is at most 10 %, and at most a third of the spread of the quantity that an open
system would keep constant.
"""


def is_exact(y: np.ndarray, fitted: np.ndarray) -> bool:
    """Whether the curve meets every point but for rounding."""
    return bool(np.abs(y - fitted).max() <= ROUNDING * np.abs(y).max())


def of_points(model: Model, x: np.ndarray, inside: np.ndarray) -> list[str]:
    """Judge the number of the points, and whether they lie in the model's domain."""
    found = []
    if not inside.all():
        outside = ", ".join(f"{value:.4g}" for value in np.unique(x[~inside])[:5])
        found.append(
            f"{np.sum(~inside)} of {len(x)} points were left out: {model.equation} means nothing "
            f"at x = {outside}; it is valid {model.domain_text()}."
        )
    n, parameters = int(inside.sum()), len(model.parameters)
    if n <= parameters:
        found.append(
            f"Too few points: {n} for {parameters} parameters. This is a curve drawn through "
            "points, not a fit: it has no errors and no intervals."
        )
    elif n < parameters + 3:
        found.append(
            f"Too few points: {n} for {parameters} parameters. AICc needs {parameters + 3}, and "
            "intervals are wide."
        )
    return found


def of_solution(solution: lmfit.model.ModelResult, errors: list[float]) -> list[str]:
    """Judge the solver's result, and whether the result determines the parameters."""
    found = []
    if not solution.success:
        found.append(f"The fit did not converge: {solution.message}")
    for name, one in solution.params.items():
        scale = abs(one.init_value) or 1.0
        for bound in (one.min, one.max):
            if abs(one.value - bound) <= 1e-6 * scale:
                found.append(
                    f"Parameter {name} is at its bound {bound:g}. The data ask for a value "
                    "beyond the bound, so no error of the fit means anything."
                )
    if not found and solution.nfree > 0 and not np.isfinite(errors).all():
        found.append(
            f"The points do not determine {' and '.join(solution.params)} separately: other "
            "values fit as well, and there are no errors."
        )
    return found


def of_system(
    model: Model, utilization_ratio: np.ndarray, wait_ms: np.ndarray, iops: np.ndarray
) -> list[str]:
    """Recognise data of a closed system, given to an open model, by their constant think time.

    `utilization_ratio`, `wait_ms`, `iops`: One value per observation; `iops` are those of one
    writer, NaN where unknown.
    """
    if model.system != "open" or len(wait_ms) < 3:
        return []
    think_ms = wait_ms * (1 - utilization_ratio) / utilization_ratio
    if _steadier(think_ms, wait_ms * (1 - utilization_ratio)):
        return [_closed(model, "W (1 - U) / U", think_ms)]
    if np.isfinite(iops).all() and (iops > 0).all():
        think_ms = think_time_ms(iops, wait_ms)
        if _steadier(think_ms, 1 / iops):
            return [_closed(model, "1 / X - W", think_ms)]
    return []


def _steadier(think_ms: np.ndarray, other: np.ndarray) -> bool:
    if think_ms.mean() <= 0:
        return False
    spread = think_ms.std() / think_ms.mean()
    return bool(spread <= _CONSTANT and _VARIES * spread <= other.std() / other.mean())


def _closed(model: Model, formula: str, think_ms: np.ndarray) -> str:
    return (
        f"Closed data in an open model: the think time {formula} stays within "
        f"{think_ms.min():.3g} to {think_ms.max():.3g} ms. So each writer waits for its own "
        f"request before the next one, and the arrivals that {model.name} assumes do not exist."
    )


def of_residuals(
    x: np.ndarray, y: np.ndarray, fitted: np.ndarray, weights: np.ndarray, slopes: np.ndarray
) -> list[str]:
    """Warn of residuals that are rounding alone, come in runs along x, or have unequal sizes.

    Runs: Kendall's rank correlation of the mean residual at each x with that at the x before
    (Ferguson, Genest and Hallin, "Kendall's tau for serial dependence", Canadian Journal of
    Statistics 28(3), 2000).

    Sizes: Spearman's rank correlation of the absolute weighted residuals with the curve (Carroll
    and Ruppert, "Transformation and Weighting in Regression", 1988, section 2.7). Residuals are
    first corrected for leverage, which shrinks them. This test is left out if the residuals come in
    runs, since it means nothing for a curve of the wrong shape.

    Either test gives a warning only if its p-value is below 1 %.
    """
    if len(y) <= slopes.shape[1]:
        return []
    if is_exact(y, fitted):
        return [
            "The residuals are rounding: the equation is an identity of these data. So the "
            "agreement says nothing about the system."
        ]
    leverage = np.sum(np.linalg.qr(slopes)[0] ** 2, axis=1)
    residuals = weights * (y - fitted) / np.sqrt(np.maximum(1 - leverage, ROUNDING))
    places = np.unique(x)
    means = np.array([residuals[x == place].mean() for place in places])
    if len(places) >= _FEWEST_FOR_RESIDUALS:
        runs = stats.kendalltau(means[:-1], means[1:], alternative="greater")
        if runs.pvalue < _CLEARLY:
            return [
                f"The residuals come in runs along x (tau = {runs.statistic:.2f}, p = "
                f"{runs.pvalue:.1g}). The curve has another shape than the data, and the "
                "intervals are too narrow."
            ]
    if len(y) >= _FEWEST_FOR_RESIDUALS and np.ptp(fitted) > 0:
        size = stats.spearmanr(np.abs(residuals), fitted)
        if size.pvalue < _CLEARLY:
            grows = "grow" if size.statistic > 0 else "shrink"
            return [
                f"The residuals {grows} with the curve (rho = {size.statistic:.2f}, p = "
                f"{size.pvalue:.1g}). Weight the points by 1 / standard deviation."
            ]
    return []


def of_prediction(model: Model, x: np.ndarray, measured: np.ndarray) -> tuple[str, ...]:
    """Say which part of a prediction lies beyond the data, or outside the model's domain."""
    found = []
    inside = model.valid(x)
    if not inside.all():
        found.append(
            f"{np.sum(~inside)} of {len(x)} values were not predicted: {model.equation} is valid "
            f"{model.domain_text()}."
        )
    low, high = measured.min(), measured.max()
    beyond = x[inside & ((x < low) | (x > high))]
    if len(beyond):
        found.append(
            f"Extrapolation: {len(beyond)} of {len(x)} values lie beyond the data, which end at "
            f"x = {low:.4g} and {high:.4g}; the band assumes that the equation goes on."
        )
    return tuple(found)
