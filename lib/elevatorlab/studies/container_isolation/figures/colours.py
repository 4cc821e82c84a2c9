"""The colour and the marker of each mechanism, in every figure."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from ....plugins.kinds import POLICIES
from ....plugins.schedulers import marker_of as of_scheduler
from ....showing.style import COLOURS as OF_SCHEDULERS
from ....showing.style import GREY

OTHERS = ("#44AA99", "#999933", "#AA4499", "#DDCC77", "#6699CC")
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
        "slae-paper": "#6FBCE8",
        "slae-paper-mild": "#A5D3F3",
        "slae-paper-speed": "#4BA6B8",
        "slae-paper-utilization": "#C0E0F7",
        "ute-paper": "#5B2A86",
        "ute-paper-mild": "#B48FCE",
        "ute-paper-shared": "#46106E",
        "ute-paper-shared-mild": "#CDB4E0",
        "slae": "#3B93D6",
        "ute": "#7B3FA0",
        "aimd": "#C2185B",
        "pi": "#2FA8A0",
        "guard": "#332288",
        "io_max": "#111111",
        "bfq": OF_SCHEDULERS["bfq"],
        "io_cost": "#7A6A00",
    }
)
"""Colours that no scheduler of the studies has; only bfq, which is one, has the scheduler's.

Some pairs are alike to people who see fewer colours, so each mechanism also has its own marker.
Only the readings of one policy share a hue; they have panels or lines of their own.
"""

FRONTIER_COLOURS = Colours({**COLOURS, "alone": GREY, "bfq_tuned": "#661100"})
"""The colours of experiment ``frontier``, which has two more mechanisms."""

_MARKERS = {
    "slae": "p",
    "ute": "h",
    "aimd": "v",
    "pi": "X",
    "guard": "s",
    "io_max": ">",
    "io_cost": "<",
    "bfq": of_scheduler("bfq"),
    "bfq_tuned": "d",
}


def marker_of(mechanism: str) -> str:
    """Return the marker of a mechanism: for a reading of a policy, that of the policy."""
    return _MARKERS.get(mechanism.partition("-")[0], "o")
