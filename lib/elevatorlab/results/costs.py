"""What the reference's trials took: time and disk space, by study."""

from __future__ import annotations

import csv
from pathlib import Path

from ..plugins import studies
from . import store


def file() -> Path:
    """Return where the costs of the reference's trials are."""
    return store.REFERENCE / "costs.csv"


def write(results: Path) -> None:
    """Store what the quick preset of each study took: time of its trials, and disk space."""
    rows = []
    for study in studies.ours():
        everything = store.results_in(results, study.NAME)
        found = [one for one in everything if one.trial["preset"] == "quick"]
        sizes = [file.stat().st_size for one in found for file in one.folder.rglob("*")]
        wall_s = sum(one.provenance.wall_s for one in found)
        rows.append([study.NAME, len(found), round(wall_s, 1), sum(sizes)])
    with open(file(), "w", newline="") as table:
        out = csv.writer(table, lineterminator="\n")
        out.writerow(["study", "trials", "wall_s", "size_bytes"])
        out.writerows(rows)


def read() -> dict[str, dict[str, str]]:
    """Return the rows of `write` by study; none where it was never called."""
    if not file().exists():
        return {}
    with open(file(), newline="") as lines:
        return {row["study"]: row for row in csv.DictReader(lines)}
