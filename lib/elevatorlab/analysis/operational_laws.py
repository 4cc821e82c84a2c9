"""Operational laws as checks on measured samples: a violation is shown, never averaged away.

The laws hold for every system with any distributions, as long as the counters are right and the
interval is long compared with one request. So a violation says something about the measurement: a
counter is wrong, another device was measured, or requests straddle the interval's ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .queueing import queue_length, utilization

TOLERANCE_PERCENT = 5.0


class Law(NamedTuple):
    """An equation between columns of a sample table."""

    name: str
    equation: str
    #: The measured column that the law predicts.
    column: str
    #: The columns from which the law predicts it, in the order of `foresee`'s arguments.
    needs: tuple[str, ...]
    #: Takes the columns in `needs`; returns the values that `column` should have.
    foresee: Callable[..., Any]


LITTLE = Law("Little's law", "L = X W", "queue_length", ("iops", "wait_ms"), queue_length)
UTILIZATION = Law(
    "utilisation law", "U = X S", "utilization_ratio", ("iops", "service_ms"), utilization
)
DEPTH_ONE = Law(
    "depth-one identity",
    "U = L",
    "utilization_ratio",
    ("queue_length",),
    lambda queue: queue,
)
"""With at most one request outstanding, the share of busy time is the mean queue length."""


def check(
    samples: pd.DataFrame, law: Law, tolerance_percent: float = TOLERANCE_PERCENT
) -> pd.DataFrame:
    """Compare every row of a sample table with a law.

    `samples`: One row per sample, with the law's columns: iops (requests per second), wait_ms,
    service_ms, queue_length (requests), utilization_ratio. `tolerance_percent`: Largest deviation
    that is not called a violation, in percent. Returns: One row per sample, same index: law,
    expected, found, violation_percent and beyond. violation_percent is found over expected minus 1,
    in percent. It is infinite if 0 was expected and something else found, and NaN if a value was
    not measured. beyond says whether it exceeds the tolerance; NaN does not.

    Examples
    --------
    >>> rows = pd.DataFrame({"iops": [328.0], "wait_ms": [0.82], "queue_length": [0.268]})
    >>> check(rows, LITTLE)[["expected", "violation_percent", "beyond"]].round(3).values.tolist()
    [[0.269, -0.357, False]]
    """
    missing = [name for name in (law.column, *law.needs) if name not in samples]
    if missing:
        raise ValueError(
            f"{law.name} ({law.equation}): expected the columns {law.column} and "
            f"{', '.join(law.needs)}, found none named {', '.join(missing)}"
        )
    if not tolerance_percent >= 0:
        raise ValueError(f"expected a tolerance of 0 % or more, found {tolerance_percent}")
    expected = law.foresee(*(samples[name].astype(float) for name in law.needs))
    found = samples[law.column].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        violation = (found / expected - 1) * 100
    violation = violation.mask((found == 0) & (expected == 0), 0.0)
    return pd.DataFrame(
        {
            "law": law.name,
            "expected": expected,
            "found": found,
            "violation_percent": violation,
            "beyond": violation.abs() > tolerance_percent,
        }
    )
