"""Rival curves fitted to the measurements, and the knee of the wait."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ....analysis import knee as knees
from ....analysis.models import CURVES, FALLING_CURVES, SHARE_CURVES, Model
from ....analysis.rivals import ModelComparison, compare_models
from .interference import QUANTITIES

FEWEST_PLACES = 3
"""The smallest number of different loads that tells the shapes of curves apart."""

RIVALS = {
    "iops": FALLING_CURVES,
    "write_kb_s": FALLING_CURVES,
    "utilization_percent": SHARE_CURVES,
    "queue_length": SHARE_CURVES,
    "wait_ms": CURVES,
}
"""The curves that a quantity may follow. One of them is the closed law: in one form for a rate that
the containers share, in another for the share of time in which a container waits."""


def curves_over_containers(loads: pd.DataFrame, quantity: str) -> ModelComparison | None:
    """Compare the curves that a quantity may follow over the number of containers."""
    return compare_curves(loads, RIVALS[quantity], "containers", QUANTITIES[quantity])


def compare_curves(
    loads: pd.DataFrame, models: Sequence[Model], x: str, y: str
) -> ModelComparison | None:
    """Compare curves fitted to the means of each load; None if there are too few loads.

    The repetitions of a load are averaged, because they are not independent points of a curve. A
    load at which one of the curves is undefined (a utilisation of 1) is left out for all curves.
    """
    fewest = max(len(model.parameters) for model in models) + 3  # as AICc needs
    columns = list({x, y, "iops"} - {"containers"})
    of_loads = loads.groupby(["containers", "offered_ratio"], dropna=False)[columns]
    points = of_loads.mean().reset_index()[list({x, y, "iops"})].dropna().astype(float)
    points = points[np.logical_and.reduce([model.valid(points[x]) for model in models])]
    if len(points) < fewest or points[x].nunique() < FEWEST_PLACES:
        return None
    return _compared(tuple(models), *(tuple(points[name]) for name in (x, y, "iops")))


@functools.cache
def _compared(models: tuple[Model, ...], *points: tuple[float, ...]) -> ModelComparison:
    """Compare curves once, since claims, figures and tables ask for the same ones."""
    x, y, iops = map(np.asarray, points)
    return compare_models(models, x, y, iops=iops)


def knee_of(loads: pd.DataFrame) -> knees.Knee | None:
    """Find the knee of the mean wait over the mean utilisation; None if there are too few loads."""
    means = loads.groupby("containers")[["utilization_ratio", "wait_ms"]].mean()
    try:
        return knees.knee(means["utilization_ratio"], means["wait_ms"])
    except ValueError:
        return None
