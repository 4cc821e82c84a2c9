"""Results on disk, and the tidy tables made of them.

One folder a trial, ``RESULTS/TESTBED/HASH/`` (on a real testbed the folder's name tells the
machine, too), written under another name and renamed when
whole. A folder without ``result.json`` was interrupted; a finished one is never written again.
"""

import csv
import fcntl
import hashlib
import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from .errors import ElevatorLabError
from .paths import BUILD, DATA

REFERENCE = DATA / "reference"

#: Files that the host decides; they are no part of a deterministic result.
HOST_DECIDES = ("provenance.json", "log.txt")


def default_results(testbed):
    """Return where results go unless another folder is named.

    One folder for each image of the deterministic testbed, and one for each physical machine: all
    the testbeds on it, so that its arms can be compared.
    """
    return BUILD / "results" / testbed.machine()[:12]


def folder(results, testbed):
    """Return the folder of a testbed's results, whether or not it is there."""
    return Path(results) / testbed.folder_name()


def finished(folder):
    """Tell whether `folder` holds a whole result."""
    return (folder / "result.json").exists() and (folder / "provenance.json").exists()


def check(results, testbed):
    """Refuse a folder whose results came from another image, or machine: they are never pooled.

    Raises
    ------
    ElevatorLabError
    """
    file = folder(results, testbed) / "identity"
    if Path(results).exists() and not Path(results).is_dir():
        raise ElevatorLabError(f"results folder: expected a folder; {results} is a file")
    if not file.exists():
        leftovers = [path.name for path in Path(results).glob("*") if path.is_file()]
        if leftovers:
            raise ElevatorLabError(
                f"results folder {results}: expected a new folder or one of ours; found other "
                f"files ({', '.join(leftovers[:3])}). Name another folder"
            )
        file.parent.mkdir(parents=True, exist_ok=True)
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
def sole_writer(results, testbed):
    """Let one process at a time run trials into `results`.

    Raises
    ------
    ElevatorLabError
        When another one does so now.
    """
    with open(folder(results, testbed) / "identity") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ElevatorLabError(
                f"results folder {results}: expected to be alone; another elevatorlab is running "
                "trials into it. Wait for it to end, or name another folder"
            ) from None
        yield


class Writer:
    """Writes one result: a temporary folder that is renamed when whole, or removed."""

    def __init__(self, folder):
        self.folder = folder
        self.part = folder.with_name(folder.name + ".part")

    def __enter__(self):
        shutil.rmtree(self.part, ignore_errors=True)
        self.part.mkdir(parents=True)
        return self

    def finish(self, trial, provenance):
        """Add what the client knows, and make the result visible, even to a power cut."""
        (self.part / "trial.json").write_text(trial.canonical_json() + "\n")
        text = json.dumps(provenance, indent=1, sort_keys=True)
        (self.part / "provenance.json").write_text(text + "\n")
        for path in [*self.part.rglob("*"), self.part]:
            _flush(path)
        os.rename(self.part, self.folder)
        _flush(self.folder.parent)

    def __exit__(self, *_):
        shutil.rmtree(self.part, ignore_errors=True)


def _flush(path):
    """Wait until a file or a folder is on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def keep(results, testbed, trial, files, provenance):
    """Store the result of a trial.

    Parameters
    ----------
    results : path
    testbed : Testbed
    trial : Trial
    files : dict of str to bytes
        By their names in the folder of the result.
    provenance : dict
    """
    with Writer(folder(results, testbed) / trial.hash) as writer:
        for name, content in files.items():
            target = writer.part / name
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(content)
        writer.finish(trial, provenance)


def digest(folder):
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


def results_in(results, study=None):
    """Yield (trial, result, provenance, folder) of each finished trial, in a fixed order.

    Raises
    ------
    ElevatorLabError
        When there is no such folder.
    """
    if not Path(results).is_dir():
        found = (
            f"a folder; {results} is a file"
            if Path(results).exists()
            else (f"{results} to exist; it does not")
        )
        raise ElevatorLabError(
            f"results folder: expected {found}. "
            "Make one with: elevatorlab run STUDY --results FOLDER"
        )
    if not any(Path(results).glob("*/identity")):
        raise ElevatorLabError(
            f"results folder {results}: expected results of ours in it; found none. "
            "Make some with: elevatorlab run STUDY --results FOLDER"
        )
    for folder in sorted(Path(results).glob("*/*")):
        if not finished(folder) or folder.suffix == ".part":
            continue
        trial = json.loads((folder / "trial.json").read_text())
        if study in (None, trial["study"]):
            result = json.loads((folder / "result.json").read_text())
            provenance = json.loads((folder / "provenance.json").read_text())
            yield trial, result, provenance, folder


def tidy(results, study):
    """Return the table of a study: one row a repetition of a quantity's measurement.

    Parameters
    ----------
    results : path
    study : module
        One of `elevatorlab.studies`.
    """
    rows = []
    for trial, result, provenance, folder in results_in(results, study.NAME):
        common = {
            "trial": folder.name,
            "study": trial["study"],
            "testbed": provenance["testbed"],
            "machine": provenance["machine"],
            "accelerator": provenance["accelerator"],
            "image_digest": provenance["image_digest"],
            "preset": trial["preset"],
            "device": _named(trial["device"]),
            "backing_scheduler": trial["backing_scheduler"],
            "scheduler": trial["scheduler"]["name"],
            "seed": trial["seed"],
            "repetition": trial["repetition"],
        }
        rows += [{**common, **row} for row in study.rows(trial, result)]
    table = pd.DataFrame(rows, columns=study.COLUMNS)
    return table.sort_values(study.ORDER, ignore_index=True) if len(table) else table


def _named(device):
    """Name a trial's device: devices of different names are never compared."""
    known = device.get("profile") or device.get("id")
    parts = [device["kind"], known, device.get("size_mib") and f"{device['size_mib']} MiB"]
    return ", ".join(part for part in parts if part)


def load(study_name, results=None):
    """Return a study's tidy table.

    Parameters
    ----------
    study_name : str
    results : path, "reference", "published" or None
        A folder of results; "reference" or None for the stored reference; "published" for no
        measurement at all (an empty table).
    """
    from . import studies

    study = studies.get(study_name)
    if results in (None, "reference"):
        file = REFERENCE / f"{study.NAME}.csv"
        if not file.exists():
            raise ElevatorLabError(
                f"no stored reference for {study.NAME}; expected {file}. Name a folder of results, "
                "or 'published' for the published numbers alone"
            )
        table = pd.read_csv(file)
        if missing := sorted(set(study.COLUMNS) - set(table)):
            raise ElevatorLabError(
                f"{file} lacks {', '.join(missing)}; expected all of {study.NAME}. Another "
                "version has made it: make it anew with elevatorlab reproduce and reference"
            )
        return table[study.COLUMNS]
    if results == "published":
        return pd.DataFrame(columns=study.COLUMNS)
    return tidy(results, study)


def provenance_of(results):
    """Return the provenance of every finished trial in `results`, or of the reference."""
    if results is None:
        return [json.loads((REFERENCE / "provenance.json").read_text())]
    return [provenance for _, _, provenance, _ in results_in(results)]


def write_reference(results, study):
    """Store the table of a study's quick preset and the digests of its results as the reference."""
    REFERENCE.mkdir(parents=True, exist_ok=True)
    table = tidy(results, study)
    table = table[table["preset"] == "quick"]
    table.to_csv(REFERENCE / f"{study.NAME}.csv", index=False, lineterminator="\n")
    with open(REFERENCE / f"{study.NAME}.digests.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["trial", "image_digest", "result_sha256"])
        for trial, _, provenance, folder in results_in(results, study.NAME):
            if trial["preset"] == "quick":
                out.writerow([folder.name, provenance["image_digest"], digest(folder)])
    kept = ("testbed", "image_digest", "agent_digest", "boot_ram_sha256", "kernel", "packages")
    kept += ("accelerator", "qemu", "package")
    last = {key: provenance[key] for key in kept}
    (REFERENCE / "provenance.json").write_text(json.dumps(last, indent=1, sort_keys=True) + "\n")


def reference_digests(study_name):
    """Return the stored digests of a study: trial hash -> (image digest, result SHA-256)."""
    file = REFERENCE / f"{study_name}.digests.csv"
    if not file.exists():
        raise ElevatorLabError(f"no stored reference for {study_name}; expected {file}")
    with open(file, newline="") as lines:
        return {r["trial"]: (r["image_digest"], r["result_sha256"]) for r in csv.DictReader(lines)}
