"""Say in sentences how a trial that was run again differs from the stored one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

#: Columns that identify a row or say where it comes from; all other columns were measured.
_NOT_MEASURED = {"trial", "machine", "accelerator", "image_digest", "seed", "repetition"}

#: How many of the packages that differ are named.
NAMED = 3


def of_images(stored: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Say which parts of two images differ."""
    parts = []
    if stored.get("agent_digest") != here.get("agent_digest"):
        parts.append("the agent (lib/elevatorlab/agent)")
    for key, name in (("kernel", "the kernel"), ("qemu", "QEMU")):
        if stored.get(key) != here.get(key):
            parts.append(f"{name} ({stored.get(key)}, now {here.get(key)})")
    before, after = stored.get("packages", {}), here.get("packages", {})
    changed = [
        name
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name) and not name.startswith("linux-image")
    ]
    if changed:
        some = ", ".join(changed[:NAMED]) + (", ..." if len(changed) > NAMED else "")
        parts.append(f"{len(changed)} Debian packages ({some})")
    return ", ".join(parts) or "the recipe (environments/), or QEMU's options"


def of_rows(stored: pd.DataFrame, fresh: pd.DataFrame) -> str:
    """Say in a sentence how much two tables of one trial differ."""
    if len(stored) != len(fresh):
        return f"Stored: {len(stored)} rows; now: {len(fresh)}."
    same, parts = 0, []
    for column in [name for name in stored if name not in _NOT_MEASURED]:
        before, after = (rows[column].reset_index(drop=True) for rows in (stored, fresh))
        both_missing = before.isna() & after.isna()
        if ((before == after) | both_missing).all():
            same += 1
        elif pd.api.types.is_numeric_dtype(before) and pd.api.types.is_numeric_dtype(after):
            relative = ((after - before).abs() / before.abs())[before != 0].max()
            parts.append(f"{column} by up to {relative:.2%}")
        else:
            parts.append(f"{column} ({before.iloc[0]!r}, now {after.iloc[0]!r})")
    if not parts:
        return f"Its {len(stored)} rows of the table are equal."
    return f"In its {len(stored)} rows {same} columns are equal; these differ: {', '.join(parts)}."
