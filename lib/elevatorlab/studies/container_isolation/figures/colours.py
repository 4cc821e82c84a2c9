"""The colour and the marker of each mechanism, in every figure."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from ....plugins.kinds import POLICIES
from ....plugins.schedulers import marker_of as of_scheduler
from ....showing.style import COLOURS as OF_SCHEDULERS
from ....showing.style import GREY

OTHERS = ("#332288", "#44AA99", "#999933", "#AA4499", "#DDCC77", "#6699CC")
"""Colours of registered policies that have none here (after Tol, as `schedulers.OTHER_COLOURS`)."""


class Colours(dict[str, str]):
    """Colours by mechanism; registered policies that are not listed get those of `OTHERS`."""

    def __missing__(self, mechanism: str) -> str:
        further = [name for name in POLICIES.names() if name not in self]
        known = mechanism in further
        place = further.index(mechanism) if known else zlib.crc32(mechanism.encode())
        return OTHERS[place % len(OTHERS)]

    def of(self, mechanisms: Iterable[str]) -> dict[str, str]:
        """Return the colours of some mechanisms, as a palette for seaborn."""
        return {name: self[name] for name in mechanisms}


COLOURS = Colours(
    {
        "none": GREY,
        "slae-paper": "#56B4E9",
        "slae-paper-mild": "#8FCBEF",
        "slae-paper-speed": "#3A8FC4",
        "slae-paper-utilization": "#A9D8F3",
        "ute-paper": "#B5488A",
        "ute-paper-mild": "#DDA6C6",
        "ute-paper-shared": "#8E2F69",
        "ute-paper-shared-mild": "#E8C4D8",
        "slae": "#0B7FAB",
        "ute": "#CC79A7",
        "aimd": "#882255",
        "pi": "#009E73",
        "guard": "#E69F00",
        "io_max": "#111111",
        "bfq": OF_SCHEDULERS["bfq"],
        "io_cost": "#7A6A00",
    }
)
"""Colours that can be told apart with any colour vision (after Okabe and Ito). Only the readings of
one policy share a hue; they have panels or lines of their own. bfq has the scheduler's colour."""

FRONTIER_COLOURS = Colours({**COLOURS, "alone": GREY, "bfq_tuned": "#661100"})
"""The colours of experiment ``frontier``, which has two more mechanisms."""


def marker_of(mechanism: str) -> str:
    """Return the marker of a mechanism: for bfq, that of the scheduler."""
    return of_scheduler("bfq") if mechanism in ("bfq", "bfq_tuned") else "o"
