"""Which verdicts stay the same on other machines: one stored table per study."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path

import pandas as pd

from ..paths import DATA
from .claim import Claim, is_measured
from .verdicts import DECIDED, Verdict

FOLDER = DATA / "sensitivity"

USUAL = "as assumed"
"""The column of verdicts on the machine that the study assumes."""

#: The columns of every table; a table also has a column of verdicts for each other machine.
COLUMNS = ("claim", "role", "preset", USUAL, "stands")


def file(study: str) -> Path:
    """Return the path of a study's table."""
    return FOLDER / f"{study}.csv"


def table(usual: Iterable[Claim], others: Mapping[str, Iterable[Claim]]) -> pd.DataFrame:
    """Return one row for each claim, with its verdict on each machine.

    `usual`: Judged on the machine that the study assumes; one run. `others`: The same claims, by
    the name of the machine that they were judged on. Returns: One row per claim that any of these
    machines could test. `stands` says whether all machines that decide come to the same verdict.
    """
    verdicts = {
        name: {claim.id: str(claim.verdict) for claim in filter(is_measured, claims)}
        for name, claims in others.items()
    }
    rows = []
    for claim in filter(is_measured, usual):
        found = {name: one.get(claim.id, Verdict.NOT_TESTABLE) for name, one in verdicts.items()}
        every = {str(claim.verdict), *found.values()}
        if every != {Verdict.NOT_TESTABLE}:
            fixed = (claim.id, str(claim.role), claim.preset, str(claim.verdict))
            stands = "yes" if len(every & set(DECIDED)) < 2 else "no"
            rows.append(dict(zip(COLUMNS, (*fixed, stands), strict=True)) | found)
    return pd.DataFrame(rows, columns=[*COLUMNS, *verdicts])


def counts(found: pd.DataFrame) -> list[str]:
    """Say for each other machine how many verdicts it turns."""
    names = [name for name in found if name not in COLUMNS]
    turned = {name: sum(_turns(row, name) for row in found.to_dict("records")) for name in names}
    return [f"{name}: {turned[name]} of {len(found)} verdicts turn" for name in names]


def flips(found: pd.DataFrame) -> dict[str, str]:
    """Return, by id, a sentence on each claim that two machines decide differently."""
    names = [name for name in found if name not in COLUMNS]
    said = {}
    for row in found[found["stands"] == "no"].to_dict("records"):
        others = [f"{name} ({row[name]})" for name in names if row[name] != row[USUAL]]
        said[row["claim"]] = (
            f"This verdict does not count: the preset {row['preset']} comes to {row[USUAL]}, and "
            f"to another verdict with {', '.join(others)}."
        )
    return said


def _turns(row: Mapping[Hashable, str], name: Hashable) -> bool:
    """Tell whether a machine decides a claim, and otherwise than the usual one does."""
    return len({row[USUAL], row[name]} & set(DECIDED)) == 2


def stored_flips() -> dict[str, str]:
    """Return the `flips` of all stored tables in one mapping."""
    return {
        claim: sentence
        for stored in sorted(FOLDER.glob("*.csv"))
        for claim, sentence in flips(pd.read_csv(stored)).items()
    }
