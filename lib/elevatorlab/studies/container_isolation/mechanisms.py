"""What people call each mechanism, and its colour in every figure."""

from __future__ import annotations

import pandas as pd

from ...figures import COLOURS as OF_SCHEDULERS
from ...figures import GREY
from .compared import MECHANISMS

LABELS = {
    "none": "nothing",
    "slae": "regulator, SLAE",
    "ute": "regulator, UTE",
    "io_max": "io.max, 1 MB/s",
    "bfq": "BFQ, 10:1000",
    "io_cost": "io.cost, 10:100",
}
COLOURS = {
    "none": GREY,
    "slae": "#0B7FAB",
    "ute": "#CC79A7",
    "io_max": "#111111",
    "bfq": OF_SCHEDULERS["bfq"],
    "io_cost": "#7A6A00",
}
"""Told apart with any colour vision (after Okabe and Ito); bfq has the scheduler's own."""

UNTESTED = (
    "io.latency is not compiled into Debian's kernel (CONFIG_BLK_CGROUP_IOLATENCY): not testable "
    "here."
)

LOAD_LABELS = {
    "step": "step: 3 writers",
    "ramp": "ramp: 1, 2, 3 writers",
    "burst": "bursts: 3 writers, on and off",
    "two": "two offenders: 2 writers each",
}


def present(rows: pd.DataFrame) -> list[str]:
    """Return the mechanisms that were run, in the order of `compared.MECHANISMS`."""
    return [name for name in MECHANISMS if name in set(rows["mechanism"])]


def loads_in(rows: pd.DataFrame) -> list[str]:
    """Return the loads that were run, in order."""
    return [name for name in LOAD_LABELS if name in set(rows["load"])]
