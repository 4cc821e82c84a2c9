"""Claims whose verdict on a hard disk (a disk with an arm) differs from that on other disks."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ...judging.claim import Claim, is_measured
from ...judging.verdicts import Verdict
from .tables import Captioned

CAPTION = (
    "Verdicts that the arm of a hard disk changes: {turned} of the {decided} verdicts that could "
    "be reached with and without an arm. The column “why” says what was found without the arm, and "
    "then with it."
)
COLUMNS = ["claim", "without arm", "with arm", "why"]


def with_arm(measured: pd.DataFrame) -> pd.Series[bool]:
    """Tell for each row whether the device is a drive (device kind ``drive``)."""
    return (measured["device"].astype(str) + ",").str.startswith("drive,")


def on_main_disk(rows: pd.DataFrame) -> pd.DataFrame:
    """Return, for each experiment, its rows on drives; all its rows if it has none on drives."""
    armed = with_arm(rows)
    return rows[armed | ~rows["experiment"].isin(rows.loc[armed, "experiment"])]


def turned(
    judge: Callable[[pd.DataFrame], list[Claim]], without: pd.DataFrame, armed: pd.DataFrame
) -> list[Captioned]:
    """Return a table, with its caption, of the claims whose verdict the disk's arm changes.

    The list has this table, or nothing unless disks with and without an arm were measured.

    `judge`: The study's function that gives its claims their verdicts. `without`, `armed`: Tidy
    tables to judge. `without` has the rows on disks without an arm. `armed` has the rows of the
    same cells on drives. It may also have other rows, if `judge` prefers drives.
    """
    if without.empty or not with_arm(armed).any():
        return []
    before = {_key(claim): claim for claim in judge(without)}
    measured = [claim for claim in judge(armed) if is_measured(claim) and _key(claim) in before]
    pairs = [(before[_key(now)], now) for now in measured]
    decided = [pair for pair in pairs if Verdict.NOT_TESTABLE not in (one.verdict for one in pair)]
    rows = [_row(then, now) for then, now in decided if then.verdict != now.verdict]
    caption = CAPTION.format(turned=len(rows), decided=len(decided))
    return [(caption, pd.DataFrame(rows, columns=COLUMNS))]


def _row(then: Claim, now: Claim) -> dict[str, str]:
    why = f"Without: {then.reason} With: {now.reason}"
    return dict(zip(COLUMNS, (now.quantity, then.verdict, now.verdict, why), strict=True))


def _key(claim: Claim) -> tuple[str, str, str]:
    return claim.id, claim.machine, claim.preset
