"""Names of the mechanisms for people; the paper's policies are sharp unless the name says mild."""

from __future__ import annotations

import pandas as pd

from ...kit.cells import in_order
from ..trials.comparison import MECHANISMS


class Labels(dict[str, str]):
    """Names for people by mechanism; a registered policy that is not listed keeps its name."""

    def __missing__(self, mechanism: str) -> str:
        return mechanism


LABELS = Labels(
    {
        "none": "nothing",
        "slae-paper": "paper's SLAE",
        "slae-paper-mild": "paper's SLAE, mild",
        "slae-paper-speed": "paper's SLAE, by speed",
        "slae-paper-utilization": "paper's SLAE, by utilisation",
        "ute-paper": "paper's UTE",
        "ute-paper-mild": "paper's UTE, mild",
        "ute-paper-shared": "paper's UTE, shared disk",
        "ute-paper-shared-mild": "paper's UTE, shared disk, mild",
        "slae": "our SLAE",
        "ute": "our UTE",
        "aimd": "AIMD",
        "pi": "PI",
        "guard": "guard",
        "io_max": "io.max, 1 MB/s",
        "bfq": "BFQ, 10:1000",
        "io_cost": "io.cost, 10:100",
    }
)
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

FRONTIER_LABELS = Labels(
    {
        "alone": "no offenders",
        **LABELS,
        "io_max": "io.max",
        "io_cost": "io.cost",
        "bfq": "BFQ",
        "bfq_tuned": "BFQ, no idling",
    }
)
"""As `LABELS`, but for experiment ``frontier``, in which a mechanism has several settings."""

FRONTIER_LOADS = {
    "step": "step",
    "ramp": "ramp",
    "burst-0.2": "bursts of 0.2 s",
    "burst-1": "bursts of 1 s",
    "burst-5": "bursts of 5 s",
    "two": "two offenders",
    "many": "sixteen small ones",
    "mixed": "small and large requests",
}


def present(rows: pd.DataFrame) -> list[str]:
    """Return the mechanisms that were run: those of `comparison.MECHANISMS`, then the others."""
    return in_order(rows, "mechanism", MECHANISMS)


def loads_in(rows: pd.DataFrame) -> list[str]:
    """Return the loads that were run, in order."""
    return [name for name in LOAD_LABELS if name in set(rows["load"])]
