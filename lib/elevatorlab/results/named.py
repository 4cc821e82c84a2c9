"""The names of results that are stored with this package; this module imports nothing slow."""

from __future__ import annotations

from pathlib import Path

#: The presets that a reference is stored of; the first that a study has is the one that is shown.
PRESETS = ("paper", "quick")

#: What `store.load` takes for a name, and not for a folder.
NAMES = ("reference", *(f"reference/{preset}" for preset in PRESETS), "published")


def is_named(results: str | Path | None) -> bool:
    """Tell whether `results` is a name that `store.load` knows, and no folder."""
    return results is None or str(results) in NAMES
