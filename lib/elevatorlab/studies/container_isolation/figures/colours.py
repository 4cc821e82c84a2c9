"""The colour of each mechanism, in every figure."""

from __future__ import annotations

from ....showing.style import COLOURS as OF_SCHEDULERS
from ....showing.style import GREY

COLOURS = {
    "none": GREY,
    "slae": "#0B7FAB",
    "ute": "#CC79A7",
    "io_max": "#111111",
    "bfq": OF_SCHEDULERS["bfq"],
    "io_cost": "#7A6A00",
}
"""Told apart with any colour vision (after Okabe and Ito); bfq has the scheduler's own."""
