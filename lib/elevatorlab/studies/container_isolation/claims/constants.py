"""The numbers in this study's code on which verdicts of its claims depend."""

from __future__ import annotations

from datetime import date

from ....analysis.rivals import INDISTINGUISHABLE
from ....judging.claim import Constant
from ....judging.constants import TIES, DecidedBy
from ..columns import CALM_PERIODS, PERIOD_S
from ..measures.curves import FEWEST_PLACES
from ..measures.interference import WIDEST_GAP
from ..measures.regulation import SETTLING_S

_CURVES = (
    *("curve", "linear_without_scheduling", "linear_before_knee", "exponential_above_knee"),
    "mm1",
)
_CHANGES = ("rise_changes_little", "system_rise_grows")
_AFTER = (
    *("regulation_rate", "regulation_wait", "regulation_longest_wait"),
    *("regulation_normal_rate_rises", "regulation_utilisation_falls"),
)

DECIDED_BY: DecidedBy = {
    TIES: ("ratio_of_ends", "normal_suffers_more", *_CHANGES, "regulation_rate", "regulation_wait"),
    Constant(
        name="INDISTINGUISHABLE",
        value=INDISTINGUISHABLE,
        of="of AICc: curves that differ by less are not told apart",
        reason="Burnham and Anderson, Model Selection and Multimodel Inference, section 2.6",
        fixed=date(2026, 11, 21),
    ): _CURVES,
    Constant(
        name="FEWEST_PLACES",
        value=FEWEST_PLACES,
        of="different loads at least",
        reason="fewer do not tell the shapes of curves apart",
        fixed=date(2026, 11, 21),
    ): _CURVES,
    Constant(
        name="WIDEST_GAP",
        value=WIDEST_GAP,
        of="of utilisation at most between the neighbouring loads",
        reason="the wait bends too much for a line across a wider gap",
        fixed=date(2026, 11, 21),
    ): ("wait_at",),
    Constant(
        name="PERIOD_S",
        value=PERIOD_S,
        of="s is a control period, of which each has a mean",
        reason="the regulator's own period, so that a mean belongs to one decision",
        fixed=date(2026, 11, 21),
    ): (*_AFTER, "regulation_immediately"),
    Constant(
        name="SETTLING_S",
        value=SETTLING_S,
        of="s at most until the regulator is done; what follows is called after",
        reason="one control period to see the overload, and one to see what the limit did",
        fixed=date(2026, 11, 21),
    ): (*_AFTER, "regulation_immediately"),
    Constant(
        name="CALM_PERIODS",
        value=CALM_PERIODS,
        of="control periods without a violation end one",
        reason="a calm period between two violated ones ends nothing",
        fixed=date(2026, 11, 21),
    ): ("regulation_immediately",),
}
