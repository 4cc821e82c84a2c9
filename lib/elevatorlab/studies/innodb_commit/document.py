"""Judge the claims that need the article alone: do its numbers agree with each other?"""

from __future__ import annotations

import pandas as pd

from ...judging.engine import Judge
from ...judging.families import Statement
from ...judging.verdicts import Judgement, reproduced_if, six_digits
from .measures import Cell
from .published import CELL, printed


def cells_of(item: Statement) -> tuple[Cell, Cell]:
    """Return the two cells that a statement names, each by scheduler, setting and threads."""
    above, below = (dict(zip(CELL, item.select[name], strict=True)) for name in ("above", "below"))
    return above, below


def _arithmetic(item: Statement, _: pd.DataFrame) -> Judgement:
    above, below = (printed(cell, "tps") for cell in cells_of(item))
    value = above / below
    reason = f"{above:g} / {below:g} = {value:.3g}."
    return Judgement(reproduced_if(value < 1), six_digits(value), reason)


JUDGES: dict[str, Judge] = {
    "arithmetic": _arithmetic,
}
