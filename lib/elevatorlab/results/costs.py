"""What the reference's trials took: time and disk space, by study."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from ..plugins import studies
from ..plugins.studies import Study
from . import store


def file(preset: str = "quick") -> Path:
    """Return where the costs of a reference's trials are."""
    return store.reference_folder(preset) / "costs.csv"


def write(results: Path, preset: str = "quick", some: Iterable[Study] | None = None) -> None:
    """Store what a preset of some studies, by default of all ours, took: time and disk space.

    What is known of the other studies stays.
    """
    rows: dict[str, list[object]] = {n: list(row.values()) for n, row in read(preset).items()}
    for study in some or studies.ours():
        everything = store.results_in(results, study.NAME)
        found = [one for one in everything if one.trial["preset"] == preset]
        sizes = [file.stat().st_size for one in found for file in one.folder.rglob("*")]
        wall_s = sum(one.provenance.wall_s for one in found)
        rows[study.NAME] = [study.NAME, len(found), round(wall_s, 1), sum(sizes)]
    in_order = [rows[study.NAME] for study in studies.ours() if study.NAME in rows]
    with open(file(preset), "w", newline="") as table:
        out = csv.writer(table, lineterminator="\n")
        out.writerow(["study", "trials", "wall_s", "size_bytes"])
        out.writerows(in_order)


def read(preset: str = "quick") -> dict[str, dict[str, str]]:
    """Return the rows of `write` by study; none where it was never called."""
    if not file(preset).exists():
        return {}
    with open(file(preset), newline="") as lines:
        return {row["study"]: row for row in csv.DictReader(lines)}
