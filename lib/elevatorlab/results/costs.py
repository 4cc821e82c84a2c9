"""The costs of the reference's trials by study: time and disk space."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from ..plugins import studies
from ..plugins.studies import Study
from . import references


def file(preset: str = "quick") -> Path:
    """Return the file with the costs of a reference's trials."""
    return references.folder(preset) / "costs.csv"


def write(results: Path, preset: str, some: Iterable[Study]) -> None:
    """Store the time and disk space that the trials of some studies' references took.

    The costs of other studies stay as they are.
    """
    known = read(preset)
    rows: dict[str, list[object]] = {name: list(row.values()) for name, row in known.items()}
    for study in some:
        hashes = references.digests(study.NAME, preset)
        found = list(references.results_of(results, study, hashes))
        sizes = [file.stat().st_size for one in found for file in one.folder.rglob("*")]
        wall_s = sum(one.provenance.wall_s for one in found)
        rows[study.NAME] = [study.NAME, len(found), round(wall_s, 1), sum(sizes)]
    in_order = [rows[study.NAME] for study in studies.ours() if study.NAME in rows]
    with open(file(preset), "w", newline="") as table:
        out = csv.writer(table, lineterminator="\n")
        out.writerow(["study", "trials", "wall_s", "size_bytes"])
        out.writerows(in_order)


def read(preset: str = "quick") -> dict[str, dict[str, str]]:
    """Return the rows that `write` stored, by study; empty if nothing was stored."""
    if not file(preset).exists():
        return {}
    with open(file(preset), newline="") as lines:
        return {row["study"]: row for row in csv.DictReader(lines)}
