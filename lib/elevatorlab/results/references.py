"""The stored references: for each study, the table of a preset, and the digests of its results.

All were measured on the default testbed. That of the preset ``quick`` lies in ``data/reference``
itself, those of other presets in folders below it. Functions that read or write a table import
pandas themselves, since finding a reference needs none.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ElevatorLabError
from ..paths import DATA, command
from ..plugins.studies import Study, is_ours

if TYPE_CHECKING:
    import pandas as pd

    from ..trial import Trial
    from .reading import Stored

FOLDER = DATA / "reference"

#: The presets that a reference is stored of; the first that a study has is the one that is shown.
PRESETS = ("paper", "quick")

#: What `ResultSource.of` takes for no folder.
NAMES = ("reference", *(f"reference/{preset}" for preset in PRESETS), "published")


def table(study: Study, preset: str) -> pd.DataFrame:
    """Return the table of a study in one stored reference."""
    import pandas as pd

    from .tidying import checked

    file = folder(preset) / f"{study.NAME}.csv"
    if not file.exists():
        raise ElevatorLabError(
            f"no stored reference for {study.NAME}; expected {file}. Name a folder of results, "
            "or 'published' for the published numbers alone"
        )
    return checked(study, pd.read_csv(file, low_memory=False), str(file))


class ResultSource(NamedTuple):
    """Where the results of a study come from."""

    study: str
    #: The folder of results, if they are no stored ones.
    folder: Path | None
    #: The preset of the stored reference, if it is one. Without it, and without a folder, there are
    #: published numbers alone.
    preset: str | None

    @classmethod
    def of(cls, study: str, results: str | Path | None = None) -> ResultSource:
        """Find out what `results` means for a study.

        `results`: A folder of results; "reference" or None for the first of `PRESETS` that is
        stored; "published" for no measurement at all. A study of another package has no reference.
        """
        name = str(results or "reference")
        if name not in NAMES:
            return cls(study, Path(name), None)
        if name == "published" or not is_ours(study):
            return cls(study, None, None)
        asked = name.removeprefix("reference").removeprefix("/")
        stored = (preset for preset in PRESETS if is_stored(study, preset))
        # Who reads one that is not stored is told so.
        return cls(study, None, asked or next(stored, "quick"))


def is_stored(study_name: str, preset: str = "quick") -> bool:
    """Tell whether there is a reference of a study's preset."""
    return (folder(preset) / f"{study_name}.csv").exists()


def is_current(study_name: str, preset: str, trials: Iterable[Trial], image_digest: str) -> bool:
    """Tell whether the reference has just these trials, all of them measured on this image."""
    if not is_stored(study_name, preset):
        return False
    stored = digests(study_name, preset)
    images = {image for image, _ in stored.values()}
    return stored.keys() == {trial.hash for trial in trials} and images == {image_digest}


def folder(preset: str = "quick") -> Path:
    """Return the folder of a reference: that of quick is the outer one."""
    return FOLDER if preset == "quick" else FOLDER / preset


def provenance(preset: str = "quick") -> dict[str, Any]:
    """Return what the results of a stored reference have in common of their provenance."""
    file = folder(preset) / "provenance.json"
    if not file.exists():
        raise ElevatorLabError(f"no stored reference of the preset {preset}; expected {file}")
    content: dict[str, Any] = json.loads(file.read_text())
    return content


def results_of(results: str | Path, study: Study, hashes: Collection[str]) -> Iterator[Stored]:
    """Yield those of some trials of a study that are finished."""
    from .reading import results_in

    return (one for one in results_in(results, study.NAME) if one.folder.name in hashes)


def write(results: str | Path, study: Study, preset: str, trials: Iterable[Trial]) -> None:
    """Store the table of a study's preset and the digests of its results as its reference.

    `trials`: Those of the preset. A folder may have others under its name, of an earlier version or
    of other parameters.
    """
    from .tidying import tidy

    hashes = {trial.hash for trial in trials}
    found = {one.folder.name: one for one in results_of(results, study, hashes)}
    rows = tidy(results, study)
    rows = rows[rows["trial"].isin(list(found))]
    if rows.empty:
        raise ElevatorLabError(
            f"reference of {study.NAME}: expected trials of the preset {preset} in {results}; "
            f"found none. Make them with: {command(f'run {study.NAME} --preset {preset}')}"
        )
    place = folder(preset)
    place.mkdir(parents=True, exist_ok=True)
    rows.to_csv(place / f"{study.NAME}.csv", index=False, lineterminator="\n")
    _write_digests(place / f"{study.NAME}.digests.csv", found)
    _write_provenance(place / "provenance.json", found)


def _write_digests(file: Path, found: Mapping[str, Stored]) -> None:
    from .reading import digest

    with open(file, "w", newline="") as lines:
        out = csv.writer(lines, lineterminator="\n")
        out.writerow(["trial", "image_digest", "result_sha256"])
        for trial, stored in found.items():
            out.writerow([trial, stored.provenance.image_digest, digest(stored.folder)])


def _write_provenance(file: Path, found: Mapping[str, Stored]) -> None:
    """Write what all trials share; how the emulator ran depends on a trial's processors."""
    *_, last = found.values()
    kept = "testbed", "image_digest", "agent_digest", "kernel", "packages", "qemu", "package"
    common = {key: getattr(last.provenance, key) for key in kept}
    file.write_text(json.dumps(common, indent=1, sort_keys=True) + "\n")


def digests(study_name: str, preset: str = "quick") -> dict[str, tuple[str, str]]:
    """Return the stored digests of a study: trial hash -> (image digest, result SHA-256)."""
    file = folder(preset) / f"{study_name}.digests.csv"
    if not file.exists():
        raise ElevatorLabError(f"no stored reference for {study_name}; expected {file}")
    with open(file, newline="") as lines:
        return {r["trial"]: (r["image_digest"], r["result_sha256"]) for r in csv.DictReader(lines)}
