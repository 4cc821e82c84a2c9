"""Rival curves through what was measured, and the knee of the wait."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ....analysis import knee as knees
from ....analysis.models import CURVES, FALLING_CURVES, SHARE_CURVES, Model
from ....analysis.rivals import Comparison, compare
from .interference import QUANTITIES

FEWEST_PLACES = 3
"""As many places tell shapes apart."""

RIVALS = {
    "iops": FALLING_CURVES,
    "write_kb_s": FALLING_CURVES,
    "utilization_percent": SHARE_CURVES,
    "queue_length": SHARE_CURVES,
    "wait_ms": CURVES,
}
"""The curves that a quantity may follow: the closed law's own among them, which has one for what
containers share and one for the share of time in which they wait."""


def curves_over_containers(loads: pd.DataFrame, quantity: str) -> Comparison | None:
    """Compare the curves that a quantity may follow over the number of containers."""
    return compare_curves(loads, RIVALS[quantity], "containers", QUANTITIES[quantity])


def compare_curves(
    loads: pd.DataFrame, models: Sequence[Model], x: str, y: str
) -> Comparison | None:
    """Compare curves over the means of each load; None where these are too few.

    Repetitions of a load are no independent points of a curve. Those at which one of the curves
    means nothing (a utilisation of 1) are left out for all.
    """
    fewest = max(len(model.parameters) for model in models) + 3  # for AICc
    columns = list({x, y, "iops"} - {"containers"})
    of_loads = loads.groupby(["containers", "offered_ratio"], dropna=False)[columns]
    points = of_loads.mean().reset_index()[list({x, y, "iops"})].dropna().astype(float)
    points = points[np.logical_and.reduce([model.valid(points[x]) for model in models])]
    if len(points) < fewest or points[x].nunique() < FEWEST_PLACES:
        return None
    return compare(models, points[x], points[y], iops=points["iops"])


def knee_of(loads: pd.DataFrame) -> knees.Knee | None:
    """Find the knee of the wait over the utilisation, repetitions averaged; None if too few."""
    means = loads.groupby("containers")[["utilization_ratio", "wait_ms"]].mean()
    try:
        return knees.knee(means["utilization_ratio"], means["wait_ms"])
    except ValueError:
        return None
