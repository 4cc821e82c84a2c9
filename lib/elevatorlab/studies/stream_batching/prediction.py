"""What one core's cost of a request says of many cores: a prediction, not a measurement.

If requests of different cores shared nothing, n cores would serve n times as many, until the link
is full or the target's disk does no more. What the disk does at most is taken from the document's
own curves, so for the SSD it is a calibration point. That cores share nothing is a premise, which
the document's curves do not bear out: `tables.prediction_table` holds the two against each other.
"""

from __future__ import annotations

import math

import pandas as pd

from .measures import THROUGHPUT, at, where_of
from .published import KIB_BITS, LINK_GBPS, SCHEDULER, core_scaling


def link_limit_kiops(request_kib: float) -> float:
    """Return how many thousand requests of a size a second the document's link carries."""
    return LINK_GBPS * 1e9 / (request_kib * KIB_BITS) / 1000


def limit_kiops(target: str, operation: str) -> float:
    """Return the most that the document's rig could do: the link, or the SSD, where it flattens.

    Parameters
    ----------
    target : str
        "nvme_ssd" or "ram".
    operation : str
        "randread" or "randwrite"; 4 KiB each.
    """
    link = link_limit_kiops(4)
    if target != "nvme_ssd":
        return link
    table = core_scaling()
    shown = table[(table["target"] == target) & (table["operation"] == operation)]
    return min(link, float(shown["throughput_kiops"].max()))


def throughput_kiops(one_core_kiops: float, cores: int, most_kiops: float) -> float:
    """Predict the throughput of `cores` from that of one.

    Parameters
    ----------
    one_core_kiops : float
        Thousand requests a second, on the document's scale.
    cores : int
    most_kiops : float
        See `limit_kiops`.

    Examples
    --------
    >>> throughput_kiops(140, 4, 3052)
    560
    >>> throughput_kiops(140, 24, 3052)
    3052
    """
    return min(one_core_kiops * cores, most_kiops)


def gain_is_gone_cores(noop_kiops: float, most_kiops: float) -> int:
    """Predict the number of cores from which noop does as much as anything could.

    Parameters
    ----------
    noop_kiops : float
        On one core.
    most_kiops : float

    Examples
    --------
    >>> gain_is_gone_cores(142, 727)
    6
    """
    return math.ceil(most_kiops / noop_kiops)


def predicted_kiops(table: pd.DataFrame, row: dict, cores: int) -> float | None:
    """Predict a point of Figures 3 and 4 from one core, on the document's scale.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of one run.
    row : dict
        target, operation, driver, and scheduler as the document calls it.
    cores : int
    """
    where = where_of(row, table)
    found = at(table, THROUGHPUT, **where, scheduler=SCHEDULER[row["scheduler"]])
    if found.empty:
        return None
    one_core = found.mean() / 1000 * where["time_scale"]
    most = limit_kiops(row["target"], row["operation"])
    return throughput_kiops(one_core, cores, most)
