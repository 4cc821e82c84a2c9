"""What the reference's trials took: time and disk space, by study."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from ..plugins import studies
from ..plugins.studies import Study
from ..plugins.testbeds import DEFAULT
from . import store


def file(preset: str = "quick", testbed: str = DEFAULT) -> Path:
    """Return where the costs of a reference's trials are."""
    return store.reference_folder(preset, testbed) / "costs.csv"


def write(
    results: Path,
    preset: str = "quick",
    some: Iterable[Study] | None = None,
    testbed: str = DEFAULT,
) -> None:
    """Store what a preset of some studies, by default of all ours, took: time and disk space.

    What is known of the other studies stays.
    """
    known = read(preset, testbed)
    rows: dict[str, list[object]] = {name: list(row.values()) for name, row in known.items()}
    for study in some or studies.ours():
        found = list(store.results_for_reference(results, study, preset, testbed))
        sizes = [file.stat().st_size for one in found for file in one.folder.rglob("*")]
        wall_s = sum(one.provenance.wall_s for one in found)
        rows[study.NAME] = [study.NAME, len(found), round(wall_s, 1), sum(sizes)]
    in_order = [rows[study.NAME] for study in studies.ours() if study.NAME in rows]
    with open(file(preset, testbed), "w", newline="") as table:
        out = csv.writer(table, lineterminator="\n")
        out.writerow(["study", "trials", "wall_s", "size_bytes"])
        out.writerows(in_order)


def read(preset: str = "quick", testbed: str = DEFAULT) -> dict[str, dict[str, str]]:
    """Return the rows of `write` by study; none where it was never called."""
    if not file(preset, testbed).exists():
        return {}
    with open(file(preset, testbed), newline="") as lines:
        return {row["study"]: row for row in csv.DictReader(lines)}
