"""How emulated processors take turns: varied by repetition, and asked for by verdicts.

The deterministic testbed's processors take turns, and what moving a cache line costs them is not
that of a real machine. So repetitions differ in both. What depends on them widens the intervals,
and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from ...judging.verdicts import Judgement, not_testable
from ...results.tidy_columns import may_lack, whole
from ...trial import Count, Record, Rounds, checked

COLUMNS = (
    may_lack(whole("slot_instructions", "", "a turn of an emulated processor")),
    may_lack(whole("transfer_instructions", "", "what moving a cache line between them costs")),
)


class Turns(Record):
    """Parameters of a study whose trials have several emulated processors."""

    #: How the emulated processors take turns (`elevatorlab.trial.Rounds`): each repetition takes
    #: the next of both.
    slots_instructions: Annotated[tuple[Count, ...], Field(min_length=1)] = (1000, 200)
    transfers_instructions: Annotated[tuple[int, ...], Field(min_length=1)] = (0, 100)

    def rounds(self, repetition: int) -> Rounds:
        """Return how the processors take turns in a repetition: each pair once, then again.

        The second repetition has both otherwise than the first: two are enough to see either.
        """
        slots, transfers = self.slots_instructions, self.transfers_instructions
        lap, place = divmod(repetition - 1, len(slots))
        pair = {
            "slot_instructions": slots[place],
            "transfer_instructions": transfers[(place + lap) % len(transfers)],
        }
        return checked(Rounds, pair, "rounds")


def turns_of(trial: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `COLUMNS` for a trial; None where it does not say."""
    rounds = trial.get("rounds") or {}
    return {column.name: rounds.get(column.name) for column in COLUMNS}


def one_way(rows: pd.DataFrame) -> Judgement | None:
    """Refuse emulated processors that all took turns in one way; None if they did not.

    On a real machine there is nothing to vary.
    """
    emulated = rows[[column.name for column in COLUMNS]].dropna()
    if emulated.empty or (emulated.nunique() > 1).all():
        return None
    slots, transfers = (", ".join(f"{n:g}" for n in sorted(set(emulated[one]))) for one in emulated)
    return not_testable(
        "A verdict about emulated processors needs two lengths of a turn and two costs of moving a "
        f"cache line (two repetitions). Here the turns have {slots} instructions, and the costs "
        f"are {transfers}."
    )
