"""Operational laws as checks on measured samples: a violation is shown, never averaged away.

The laws hold for every system whatever its distributions, as long as counters are honest
and the interval is long against one request. So a violation is about the measurement: a
wrong counter, a device that is not the one that was meant, requests that straddle the
interval's ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .queueing import queue_length, utilization

TOLERANCE_PERCENT = 5.0


class Law(NamedTuple):
    """An equation between columns of a sample table.

    Attributes
    ----------
    name, equation : str
    column : str
        The measured column that the law foresees.
    needs : tuple of str
        The columns that it foresees it from, in the order of `foresee`'s arguments.
    foresee : callable
        Columns -> the value that `column` should have.
    """

    name: str
    equation: str
    column: str
    needs: tuple[str, ...]
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
"""One request outstanding at most: time with any request is time-weighted queue length."""


def check(
    samples: pd.DataFrame, law: Law, tolerance_percent: float = TOLERANCE_PERCENT
) -> pd.DataFrame:
    """Hold every row of a sample table against a law.

    Parameters
    ----------
    samples : pandas.DataFrame
        One row per sample, with the law's columns: iops (requests per second), wait_ms,
        service_ms, queue_length (requests), utilization_ratio.
    law : Law
        `LITTLE`, `UTILIZATION` or `DEPTH_ONE`.
    tolerance_percent : float
        How far a row may be off before it is called a violation.

    Returns
    -------
    pandas.DataFrame
        One row per sample, same index: law, expected, found, violation_percent (found over
        expected minus 1; infinite where nothing was expected, NaN where something was not
        measured) and beyond (whether it exceeds the tolerance; a row that was not measured
        does not).

    Raises
    ------
    ValueError
        When a column is missing, or the tolerance is negative.

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


def summary(checked: pd.DataFrame) -> str:
    """Say in one sentence how many rows of a `check` break the law, and the worst of them."""
    tested = checked.dropna(subset="violation_percent")
    untested = len(checked) - len(tested)
    if tested.empty:
        return f"Nothing was tested: no row of {len(checked)} has all values."
    law = tested["law"].iloc[0]
    note = f" ({untested} more could not be tested)" if untested else ""
    broken = tested[tested["beyond"]]
    if broken.empty:
        return f"{law} holds in all of {len(tested)} rows{note}."
    worst = int(np.argmax(broken["violation_percent"].abs()))
    return (
        f"{law} is broken in {len(broken)} of {len(tested)} rows{note}, by "
        f"{broken['violation_percent'].iloc[worst]:+.3g} % at worst (row {broken.index[worst]})."
    )
