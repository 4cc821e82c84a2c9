"""Results on disk: which folder has whose, how a new one is kept, and the tables of them.

One folder per trial, ``RESULTS/TESTBED/HASH/`` (on a real testbed the folder's name tells the
machine, too), written under another name and renamed when whole. A folder without ``result.json``
was interrupted; a finished one is never written again.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pandas as pd
from filelock import FileLock, Timeout

from ..errors import ElevatorLabError
from ..paths import BUILD, make_folder
from ..plugins import studies
from ..records import checked
from ..trial import Trial
from . import references
from .models import SCHEMA_VERSION, Provenance
from .outcome import Outcome
from .reading import DAMAGED, finished
from .references import ResultSource
from .tidying import tidy


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


def default_results(testbed: Identified, kind: str = "results") -> Path:
    """Return where results of a kind go unless another folder is named.

    One folder for each image of the deterministic testbed, and one for each physical machine: all
    the testbeds on it, so that its arms can be compared.
    """
    return BUILD / kind / testbed.machine()[:12]


def folder(results: str | Path, testbed: Identified) -> Path:
    """Return the folder of a testbed's results, whether or not it is there."""
    return Path(results) / testbed.folder_name()


def refuse_a_file(results: str | Path) -> None:
    """Refuse a file where the folder of the results is to be."""
    if Path(results).exists() and not Path(results).is_dir():
        raise ElevatorLabError(
            f"results folder: expected a folder; {results} is a file. Name another with --results"
        )


def check(results: str | Path, testbed: Identified) -> None:
    """Refuse a folder whose results came from another image, or machine: they are never pooled."""
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
    """Let one process at a time run trials into `results`."""
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
    """Store the result of a trial that a testbed has run."""
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

    Until then it has another name. Nothing is left of one that could not be written. A damaged
    result that is there already is kept beside it.
    """
    told = checked(Provenance, outcome.provenance, f"provenance of trial {trial.hash}")
    origin = {"schema_version": SCHEMA_VERSION, **told.as_given()}
    files = {
        **outcome.files,
        "trial.json": f"{trial.canonical_json()}\n".encode(),
        "provenance.json": f"{json.dumps(origin, indent=1, sort_keys=True)}\n".encode(),
    }
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        for name, content in files.items():
            target = part / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        appear(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def appear(part: Path, folder: Path) -> None:
    """Give a whole result its name, for good; a damaged result of that name is kept beside it."""
    for path in [*part.rglob("*"), part]:
        _flush(path)
    if folder.exists():
        aside = folder.with_name(folder.name + DAMAGED)
        shutil.rmtree(aside, ignore_errors=True)
        os.rename(folder, aside)
    os.rename(part, folder)
    _flush(folder.parent)


def _flush(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def load(study_name: str, results: str | Path | None = None) -> pd.DataFrame:
    """Return a study's tidy table.

    Parameters
    ----------
    study_name : str
    results : path, "reference", "reference/PRESET", "published" or None
        See `references.ResultSource.of`.

    Examples
    --------
    >>> sorted(set(load("innodb_commit", "reference/quick")["preset"]))
    ['quick']
    """
    return table(ResultSource.of(study_name, results))


def table(source: ResultSource) -> pd.DataFrame:
    """Return a study's tidy table, an empty one where nothing was measured."""
    study = studies.get(source.study)
    if source.folder:
        return tidy(source.folder, study)
    if source.preset:
        return references.table(study, source.preset)
    return pd.DataFrame(columns=study.COLUMNS)
