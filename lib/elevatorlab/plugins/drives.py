"""Disks with an arm: ours, and those of other packages or a notebook, each described by a file.

`elevatorlab.trial.drive_records` describes the fields of such a file.
"""

from __future__ import annotations

from pathlib import Path

from ..paths import DATA
from .registry import Registry

OURS = {file.stem: file for file in sorted((DATA / "drives").glob("*.json"))}

#: The file of every drive that is installed or was registered; ours first.
DRIVES: Registry[Path] = Registry("drive", "elevatorlab.drives", collections=True)
