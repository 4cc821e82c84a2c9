"""Rival curves through what was measured, and the knee of the wait."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ....analysis import knee as knees
from ....analysis.models import CLOSED_SHARE, CURVES, Model
from ....analysis.rivals import Comparison, compare
from .interference import QUANTITIES

FEWEST_PLACES = 3
"""As many places tell shapes apart."""

FALLING = ("iops", "write_kb_s")
"""What containers share; the other quantities rise with their number."""


def curves_over_containers(loads: pd.DataFrame, quantity: str) -> Comparison | None:
    """Compare the curves that a quantity may follow over the number of containers.

    A closed share can only fall, so it is no rival where the quantity rises.
    """
    models = [model for model in CURVES if quantity in FALLING or model is not CLOSED_SHARE]
    return compare_curves(loads, models, "containers", QUANTITIES[quantity])


def compare_curves(
    loads: pd.DataFrame, models: Sequence[Model], x: str, y: str
) -> Comparison | None:
    """Compare curves over the points of all repetitions; None where they are too few.

    Points at which one of the curves means nothing (a utilisation of 1) are left out for all.
    """
    fewest = max(len(model.parameters) for model in models) + 3  # for AICc
    points = loads[list({x, y, "iops"})].dropna().astype(float)
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
