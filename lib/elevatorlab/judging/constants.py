"""The numbers in the judges' code that decide verdicts, each with its reason and its date.

Tolerances and thresholds stand with the claims, in `data/claims`. These constants stand in the
code, because several judges share them. Each constant here takes its value from the module that
uses it, so that the value is written down once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from ..analysis import intervals
from . import multiple_testing, verdicts
from .claim import Constant

DecidedBy = Mapping[Constant, Sequence[str]]
"""For each constant, the names of the study's judges that decide by it."""

TIES = Constant(
    name="TIE_MARGIN",
    value=verdicts.TIE_MARGIN,
    of="of the value: the smallest difference",
    reason="below a hundredth nobody would choose a scheduler",
    fixed=date(2026, 11, 21),
)

SHARED = (
    Constant(
        name="CONFIDENCE",
        value=intervals.CONFIDENCE,
        of="is the confidence of every interval",
        reason="what the field uses",
        fixed=date(2026, 11, 20),
    ),
    Constant(
        name="ORDER_OF_MAGNITUDE",
        value=verdicts.ORDER_OF_MAGNITUDE,
        of="times the published value, or a part of it: further off, no direction counts",
        reason="a value of another order of magnitude does not support the document in part",
        fixed=date(2026, 11, 24),
    ),
    Constant(
        name="LARGEST_P",
        value=multiple_testing.LARGEST_P,
        of="is the largest adjusted p-value of a verdict that stands",
        reason="what the intervals leave to chance",
        fixed=date(2026, 11, 22),
    ),
    Constant(
        name="MOST_REPETITIONS",
        value=verdicts.MOST_REPETITIONS,
        of="repetitions are the most that an undecided claim is told to need",
        reason="what would take more of them is not going to be decided",
        fixed=date(2026, 11, 22),
    ),
)
"""The constants that decide every claim that rests on intervals."""
