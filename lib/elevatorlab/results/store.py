"""Results on disk, and the tidy tables made of them.

One folder per trial, ``RESULTS/TESTBED/HASH/`` (on a real testbed the folder's name tells the
machine, too), written under another name and renamed when
whole. A folder without ``result.json`` was interrupted; a finished one is never written again.
"""

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from filelock import FileLock, Timeout

from ..errors import ElevatorLabError
from ..paths import BUILD, DATA, command, make_folder
from ..plugins import studies
from ..plugins.studies import Study
from ..plugins.testbeds import DEFAULT, NESTED
from ..records import checked
from ..trial import Trial
from . import reading, schedulers
from .models import SCHEMA_VERSION, Provenance
from .outcome import Outcome
from .reading import Stored
from .tables import Table

REFERENCE = DATA / "reference"

#: The presets that a reference is stored of; the first that a study has is the one that is shown.
REFERENCES = ("paper", "quick")

#: Testbeds whose results are a reference beside the default testbed's, and the folder of each.
BESIDE = {NESTED: "virtual_machines"}

#: Files that the host decides; they are no part of a deterministic result.
HOST_DECIDES = ("provenance.json", "log.txt")


class Identified(Protocol):
    """Where results come from: the part of a testbed that the store needs to know."""

    name: str
    identity_is: str

    def machine(self) -> str:
        """Return an id that only this physical machine has."""
        ...

    def folder_name(self) -> str:
        """Return the name of the folder that its results go to."""
        ...

    def identity(self) -> str:
        """Return what, besides the trial, decides the results."""
        ...


def default_results(testbed: Identified) -> Path:
    """Return where results go unless another folder is named.

    One folder for each image of the deterministic testbed, and one for each physical machine: all
    the testbeds on it, so that its arms can be compared.
    """
    return BUILD / "results" / testbed.machine()[:12]


def folder(results: str | Path, testbed: Identified) -> Path:
    """Return the folder of a testbed's results, whether or not it is there."""
    return Path(results) / testbed.folder_name()


def finished(folder: Path) -> bool:
    """Tell whether `folder` holds a whole result."""
    return (folder / "result.json").exists() and (folder / "provenance.json").exists()


def refuse_a_file(results: str | Path) -> None:
    """Refuse a file where the folder of the results is to be.

    Raises
    ------
    ElevatorLabError
    """
    if Path(results).exists() and not Path(results).is_dir():
        raise ElevatorLabError(
            f"results folder: expected a folder; {results} is a file. Name another with --results"
        )


def check(results: str | Path, testbed: Identified) -> None:
    """Refuse a folder whose results came from another image, or machine: they are never pooled.

    Raises
    ------
    ElevatorLabError
    """
    file = folder(results, testbed) / "identity"
    refuse_a_file(results)
    if not file.exists():
        leftovers = [path.name for path in Path(results).glob("*") if path.is_file()]
        if leftovers:
            raise ElevatorLabError(
                f"results folder {results}: expected a new folder or one of ours; found other "
                f"files ({', '.join(leftovers[:3])}). Name another folder"
            )
        make_folder(file.parent, "results folder", "Name another with --results")
        file.touch()
    identity, found = testbed.identity(), file.read_text().strip()
    if identity and not (found and any(map(finished, file.parent.iterdir()))):
        file.write_text(identity + "\n")
    elif identity and found != identity:
        raise ElevatorLabError(
            f"results folder {results} holds results of {testbed.name} {found[:12]}; this is "
            f"{testbed.name} {identity[:12]}{testbed.identity_is}. Name another folder with "
            "--results, or remove that one"
        )


@contextmanager
def sole_writer(results: str | Path, testbed: Identified) -> Iterator[None]:
    """Let one process at a time run trials into `results`.

    Raises
    ------
    ElevatorLabError
        When another one does so now.
    """
    try:
        lock = FileLock(folder(results, testbed) / "identity").acquire(blocking=False)
    except Timeout:
        raise ElevatorLabError(
            f"results folder {results}: expected to be alone; another elevatorlab is running "
            "trials into it. Wait for it to end, or name another folder"
        ) from None
    with lock:
        yield


def keep(results: Path | str, testbed: Identified, trial: Trial, outcome: Outcome) -> None:
    """Store the result of a trial that a testbed has run.

    Parameters
    ----------
    results : path
    testbed : Testbed
    trial : Trial
    outcome : Outcome
    """
    place = folder(results, testbed) / trial.hash
    write(place, trial, outcome)
    failed_log(place).unlink(missing_ok=True)


def keep_log(results: Path | str, testbed: Identified, trial: Trial, log: bytes) -> Path:
    """Store what the agent logged of a trial that failed; return the file."""
    file = failed_log(folder(results, testbed) / trial.hash)
    file.write_bytes(log)
    return file


def failed_log(folder: Path) -> Path:
    """Return the file beside a trial's folder that has the log of its last failure."""
    return folder.with_name(f"{folder.name}.failed.txt")


def write(folder: Path, trial: Trial, outcome: Outcome) -> None:
    """Write a result to `folder`, which appears when it is whole, also after a power cut.

    Until then it has another name. Nothing is left of one that could not be written.

    Parameters
    ----------
    folder : Path
        One that does not exist, or is empty.
    trial : Trial
    outcome : Outcome
    """
    told = checked(Provenance, outcome.provenance, f"provenance of trial {trial.hash}")
    files = {
        **outcome.files,
        "trial.json": f"{trial.canonical_json()}\n".encode(),
        "provenance.json": _spelled({"schema_version": SCHEMA_VERSION, **told.as_given()}),
    }
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        for name, content in files.items():
            target = part / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        for path in [*part.rglob("*"), part]:
            _flush(path)
        os.rename(part, folder)
        _flush(folder.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _spelled(content: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(content, indent=1, sort_keys=True)}\n".encode()


def _flush(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def digest(folder: Path) -> str:
    """Return the SHA-256 of a result, without what the host decides.

    On the deterministic testbed two runs of a trial have the same digest.
    """
    total = hashlib.sha256()
    for file in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
        name = str(file.relative_to(folder))
        if name not in HOST_DECIDES:
            total.update(f"{name}\0".encode())
            total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def results_in(results: Path | str, study: str | None = None) -> Iterator[Stored]:
    """Yield the finished trials, of one study or of all, in a fixed order.

    Raises
    ------
    ElevatorLabError
        When there is no such folder, or a file in it is damaged.
    """
    if not Path(results).is_dir():
        found = (
            f"a folder; {results} is a file"
            if Path(results).exists()
            else (f"{results} to exist; it does not")
        )
        raise ElevatorLabError(
            f"results folder: expected {found}. "
            f"Make one with: {command('run STUDY --results FOLDER')}"
        )
    if not any(Path(results).glob("*/identity")):
        raise ElevatorLabError(
            f"results folder {results}: expected results of ours in it; found none. "
            f"Make some with: {command('run STUDY --results FOLDER')}"
        )
    for folder in sorted(Path(results).glob("*/*")):
        if not finished(folder) or folder.suffix == ".part":
            continue
        stored = reading.read(folder)
        if study in (None, stored.trial["study"]):
            yield stored


def tidy(results: str | Path, study: Study) -> pd.DataFrame:
    """Return the table of a study: one row per repetition of a quantity's measurement.

    Of a scheduler that was changed, it has the version that was run last.

    Parameters
    ----------
    results : path
    study : module
        One of `elevatorlab.studies`.
    """
    rows = []
    schedulers.register(results)
    digests = schedulers.current(results)
    for stored in results_in(results, study.NAME):
        trial, provenance = stored.trial, stored.provenance
        if not schedulers.is_current(trial, digests):
            continue
        common = {
            "trial": stored.folder.name,
            "study": trial["study"],
            "testbed": provenance.testbed,
            "machine": provenance.machine,
            "accelerator": provenance.accelerator,
            "image_digest": provenance.image_digest,
            "preset": trial["preset"],
            "device": _named(trial["device"]),
            "backing_scheduler": trial["backing_scheduler"],
            "scheduler": trial["scheduler"]["name"],
            "seed": trial["seed"],
            "repetition": trial["repetition"],
            **_of_window(stored),
        }
        rows += [{**common, **row} for row in study.rows(trial, stored.result.as_given())]
    table = pd.DataFrame(rows, columns=study.COLUMNS)
    if len(table) == 0:
        return table
    table = _checked(study, table, f"table of {study.NAME} from {results}")
    return table.sort_values(study.ORDER, ignore_index=True)


def _of_window(stored: Stored) -> dict[str, float | None]:
    """Return what was counted of a whole trial while its workloads ran."""
    rates, busy_ratio = stored.result.device, stored.result.cpu_busy_ratio
    exits = reading.read_exits(stored.folder)
    return {
        "window_s": rates.duration_s,
        "busy_s": None if busy_ratio is None else busy_ratio * rates.duration_s,
        "requests": round((rates.read_iops + rates.write_iops) * rates.duration_s),
        "exits": sum(one["exits"] for one in exits.values()) if exits else None,
    }


def _checked(study: Study, table: pd.DataFrame, what: str) -> pd.DataFrame:
    """Hold a table against what its study says of its columns, where it does."""
    declared: Table | None = getattr(study, "TABLE", None)
    return table if declared is None else declared.checked(table, what)


def _named(device: Mapping[str, Any]) -> str:
    """Name a trial's device: devices of different names are never compared."""
    known = device.get("profile") or device.get("id")
    parts = [device["kind"], known, device.get("size_mib") and f"{device['size_mib']} MiB"]
    return ", ".join(part for part in parts if part)


def load(study_name: str, results: str | Path | None = None) -> pd.DataFrame:
    """Return a study's tidy table.

    Parameters
    ----------
    study_name : str
    results : path, "reference", "reference/PRESET", "published" or None
        A folder of results; "reference" or None for the stored reference, which has our own
        studies alone (see `reference_preset`); "published" for no measurement at all (an empty
        table).
    """
    study = studies.get(study_name)
    preset = reference_preset(study_name, results)
    if preset and studies.is_ours(study_name):
        tables = [stored_table(study, preset)]
        for testbed, beside in references_beside(study_name, results).items():
            tables.append(stored_table(study, beside, testbed))
        return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
    if preset or results is None or results == "published":
        return pd.DataFrame(columns=study.COLUMNS)
    return tidy(results, study)


def stored_table(study: Study, preset: str, testbed: str = DEFAULT) -> pd.DataFrame:
    """Return the table of a study in one stored reference."""
    file = reference_folder(preset, testbed) / f"{study.NAME}.csv"
    if not file.exists():
        raise ElevatorLabError(
            f"no stored reference for {study.NAME}; expected {file}. Name a folder of results, "
            "or 'published' for the published numbers alone"
        )
    return _checked(study, pd.read_csv(file), str(file))


def is_named(results: str | Path | None) -> bool:
    """Tell whether `results` is a name that `load` knows, and no folder."""
    named = (f"reference/{preset}" for preset in REFERENCES)
    return results is None or str(results) in ("reference", "published", *named)


def reference_preset(
    study_name: str, results: str | Path | None = None, testbed: str = DEFAULT
) -> str | None:
    """Return the preset of the stored reference that `results` means for a study.

    Parameters
    ----------
    study_name : str
    results : path, "reference", "reference/PRESET", "published" or None
        "reference" and None mean the first of `REFERENCES` that is stored of the study.
    testbed : str
        The default one, or one of `BESIDE`.

    Returns
    -------
    str or None
        None where `results` is no reference.
    """
    name = str(results or "reference")
    if name == "published" or not is_named(name):
        return None
    if name != "reference":
        return name.removeprefix("reference/")
    stored = (one for one in REFERENCES if is_stored(study_name, one, testbed))
    return next(stored, "quick")


def references_beside(study_name: str, results: str | Path | None = None) -> dict[str, str]:
    """Return which references of other testbeds `results` means for a study, too.

    Returns
    -------
    dict of str to str
        By testbed, one of `BESIDE`: the preset. Empty if no such reference is stored.
    """
    presets = {testbed: reference_preset(study_name, results, testbed) for testbed in BESIDE}
    return {
        testbed: preset
        for testbed, preset in presets.items()
        if preset and is_stored(study_name, preset, testbed)
    }


def is_stored(study_name: str, preset: str = "quick", testbed: str = DEFAULT) -> bool:
    """Tell whether there is a reference of a study's preset on a testbed."""
    return (reference_folder(preset, testbed) / f"{study_name}.csv").exists()


def reference_folder(preset: str = "quick", testbed: str = DEFAULT) -> Path:
    """Return the folder of a reference: that of quick on the default testbed is the outer one."""
    place = REFERENCE / BESIDE[testbed] if testbed in BESIDE else REFERENCE
    return place if preset == "quick" else place / preset


def reference_provenance(preset: str = "quick", testbed: str = DEFAULT) -> dict[str, Any]:
    """Return what the results of a stored reference have in common of their provenance."""
    file = reference_folder(preset, testbed) / "provenance.json"
    if not file.exists():
        raise ElevatorLabError(f"no stored reference of the preset {preset}; expected {file}")
    content: dict[str, Any] = json.loads(file.read_text())
    return content


def reference_parameters(
    study_name: str, preset: str = "quick", testbed: str = DEFAULT
) -> dict[str, Any]:
    """Return the parameters in which a study's reference differs from the preset."""
    parameters = reference_provenance(preset, testbed).get("parameters", {})
    found: dict[str, Any] = parameters.get(study_name, {})
    return found


def results_for_reference(
    results: str | Path, study: Study, preset: str, testbed: str = DEFAULT
) -> Iterator[Stored]:
    """Yield the finished trials of a study's preset that are of a reference's testbed."""
    for stored in results_in(results, study.NAME):
        found = stored.provenance.testbed
        ours = found == testbed if testbed in BESIDE else found not in BESIDE
        if ours and stored.trial["preset"] == preset:
            yield stored


def write_reference(
    results: str | Path,
    study: Study,
    preset: str = "quick",
    testbed: str = DEFAULT,
    parameters: Mapping[str, Any] | None = None,
    trials: Collection[str] | None = None,
) -> None:
    """Store the table of a study's preset and the digests of its results as its reference.

    Parameters
    ----------
    results : path
    study : module
    preset : str
    testbed : str
        The default one, or one of `BESIDE`.
    parameters : mapping, optional
        Parameters that differ from the preset's. They are stored as well.
    trials : collection of str, optional
        The hashes of those that the reference consists of; by default all that are there.

    Raises
    ------
    ElevatorLabError
        When no trial of that preset is among the results, or one of `trials` is not.
    """
    folder = reference_folder(preset, testbed)
    found = {
        one.folder.name: one
        for one in results_for_reference(results, study, preset, testbed)
        if trials is None or one.folder.name in trials
    }
    table = tidy(results, study)
    table = table[table["trial"].isin(list(found))]
    if table.empty:
        raise ElevatorLabError(
            f"reference of {study.NAME}: expected trials of the preset {preset} in {results}; "
            f"found none. Make them with: {command(f'run {study.NAME} --preset {preset}')}"
        )
    wanted = set(trials or ())
    if lacking := wanted - set(found):
        raise ElevatorLabError(
            f"reference of {study.NAME}: expected all {len(wanted)} trials of its parameters in "
            f"{results}; {len(lacking)} are not finished. Run the study with the "
            "same parameters, which goes on where it stopped"
        )
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / f"{study.NAME}.csv", index=False, lineterminator="\n")
    with open(folder / f"{study.NAME}.digests.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["trial", "image_digest", "result_sha256"])
        for name, stored in found.items():
            provenance = stored.provenance
            out.writerow([name, provenance.image_digest, digest(stored.folder)])
    kept = (
        *("testbed", "image_digest", "agent_digest", "boot_ram_sha256", "kernel", "packages"),
        *("accelerator", "qemu", "package"),
    )
    last = {key: getattr(provenance, key) for key in kept}
    there = folder / "provenance.json"
    changed = json.loads(there.read_text()).get("parameters", {}) if there.exists() else {}
    changed = {name: given for name, given in changed.items() if name != study.NAME}
    if parameters:
        changed[study.NAME] = dict(parameters)
    if changed:
        last["parameters"] = changed
    there.write_text(json.dumps(last, indent=1, sort_keys=True) + "\n")


def reference_digests(
    study_name: str, preset: str = "quick", testbed: str = DEFAULT
) -> dict[str, tuple[str, str]]:
    """Return the stored digests of a study: trial hash -> (image digest, result SHA-256)."""
    file = reference_folder(preset, testbed) / f"{study_name}.digests.csv"
    if not file.exists():
        raise ElevatorLabError(f"no stored reference for {study_name}; expected {file}")
    with open(file, newline="") as lines:
        return {r["trial"]: (r["image_digest"], r["result_sha256"]) for r in csv.DictReader(lines)}
