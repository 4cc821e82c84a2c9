"""Least squares by lmfit with exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .models import Model

if TYPE_CHECKING:
    import lmfit

_SOLVER = {"x_scale": "jac", "xtol": 1e-15, "ftol": 1e-15, "gtol": None}
_MOST_EVALUATIONS = 20_000
_STEP = 1e-30
_LARGEST_CONDITION = 1e8
"""Largest condition number of the derivatives.

Beyond it, rounding decides how parameters divide an effect between them.
"""


def solve(
    model: Model,
    x: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    start: Mapping[str, float],
) -> lmfit.model.ModelResult:
    """Minimise the sum of squared weighted residuals within the model's bounds.

    Returns: Its `success` tells whether the solver converged.
    """
    import lmfit  # takes half a second, and most who import this package fit nothing

    curve = lmfit.Model(model.function)
    parameters = lmfit.Parameters()
    for name in model.parameters:
        low, high = model.bounds.get(name, (-np.inf, np.inf))
        parameters.add(name, value=float(start[name]), min=low, max=high)

    def slopes_of_residuals(values: lmfit.Parameters, *_: object, **__: object) -> np.ndarray:
        weighted: np.ndarray = -weights[:, None] * slopes(model, values.valuesdict(), x)
        return weighted

    return curve.fit(
        y,
        parameters,
        **{curve.independent_vars[0]: x},
        weights=weights,
        method="least_squares",
        fit_kws={"jac": slopes_of_residuals, **_SOLVER},
        max_nfev=_MOST_EVALUATIONS,
        nan_policy="propagate",
    )


def slopes(model: Model, values: Mapping[str, float], x: np.ndarray) -> np.ndarray:
    """Return the derivatives by the parameters, one column each, exact but for rounding.

    The method is the complex step (Squire and Trapp, "Using complex variables to estimate
    derivatives of real functions", SIAM Review 40(1), 1998). It takes no difference, so that no
    digits are lost, whatever a parameter's size.
    """
    columns = []
    for name in model.parameters:
        moved = {**values, name: values[name] + 1j * _STEP}
        columns.append(np.imag(model.function(x, **moved)) / _STEP)
    return np.stack(np.broadcast_arrays(*columns), axis=1)


def determined(slopes_of_points: np.ndarray) -> bool:
    """Tell whether points with these (weighted) derivatives determine each parameter separately."""
    sizes = np.linalg.norm(slopes_of_points, axis=0)
    return bool(sizes.all() and np.linalg.cond(slopes_of_points / sizes) < _LARGEST_CONDITION)
