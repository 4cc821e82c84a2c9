"""Read a stored result: everything is checked, and an error names the file and the field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from pydantic.fields import FieldInfo

from ..errors import ElevatorLabError
from ..paths import command
from ..plugins.trial_parts import WORKLOADS
from ..records import AnyRecord, checked
from .models import SCHEMA_VERSION, Provenance, Result, Sample

#: Files that the host decides; they are no part of a deterministic result.
HOST_DECIDES = ("provenance.json", "log.txt")

REMEDY = "Remove that folder and run the trial again, or read it with the version that made it"


@dataclass(frozen=True)
class Stored:
    """The stored result of a finished trial."""

    #: Folder of the result; its name is the trial's hash.
    folder: Path
    #: Content of ``trial.json``. Another version may have written it, so it is not validated
    #: (`elevatorlab.trial.parse` does that).
    trial: Mapping[str, Any]

    @cached_property
    def result(self) -> Result:
        """What was measured."""
        return read_result(self.folder, self.trial)

    @cached_property
    def provenance(self) -> Provenance:
        """Where the result comes from."""
        return read_provenance(self.folder)


def read(folder: Path) -> Stored:
    """Return the result in a folder."""
    trial, what = _content(folder, "trial.json")
    for name in ("study", "preset", "workloads"):
        if name not in trial:
            raise ElevatorLabError(f"{what}: {name}: required, and not given. {REMEDY}")
    return Stored(folder, trial)


#: Ends the name of a damaged result's folder, once its trial has run again.
DAMAGED = ".damaged"


def finished(folder: Path) -> bool:
    """Tell whether `folder` holds the result of a finished trial, damaged or not."""
    return (folder / "result.json").exists() and (folder / "provenance.json").exists()


def whole(folder: Path) -> bool:
    """Tell whether a finished result can be read: no file of it was cut off."""
    try:
        for name in ("result.json", "provenance.json"):
            json.loads((folder / name).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    return True


def results_in(results: Path | str, study: str | None = None) -> Iterator[Stored]:
    """Yield the finished trials, of one study or of all, in a fixed order."""
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
        if not finished(folder) or folder.suffix in (".part", DAMAGED):
            continue
        stored = read(folder)
        if study in (None, stored.trial["study"]):
            yield stored


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


def read_result(folder: Path, trial: Mapping[str, Any]) -> Result:
    """Return the measurements of a trial, from its ``result.json``.

    `trial`: Content of ``trial.json``, which has the kind of each workload.
    """
    content, what = _content(folder, "result.json")
    result = _checked(Result, content, what)
    for workload in trial["workloads"]:
        name, kind = workload["name"], workload["kind"]
        if name not in result.workloads:
            raise ElevatorLabError(f"{what}: workloads.{name}: required, and not given. {REMEDY}")
        expected = WORKLOADS.get(kind).measurements if kind in WORKLOADS else None
        if expected is not None:
            _checked(expected, result.workloads[name], what, ("workloads", name))
    return result


def read_provenance(folder: Path) -> Provenance:
    """Return the provenance of a result, from its ``provenance.json``."""
    return _checked(Provenance, *_content(folder, "provenance.json"))


def read_exits(folder: Path) -> dict[str, dict[str, int]]:
    """Return the number of exits of each virtual machine inside while the workloads ran.

    Returns: By group, then by reason; ``exits`` is the number of all exits. Empty if the trial had
    no virtual machine.
    """
    found = {}
    for file in sorted((folder / "raw").glob("*.exits.json")):
        try:
            counts = json.loads(file.read_text())
            found[file.name.removesuffix(".exits.json")] = {
                name: int(counts[name]) for name in ("exits", *counts)
            }
        except (OSError, ValueError, KeyError, TypeError):
            raise ElevatorLabError(
                f"{file.name} of trial {folder.name}: expected counts of exits; found otherwise. "
                f"{REMEDY}"
            ) from None
    return found


def read_samples(folder: Path) -> pd.DataFrame:
    """Return the counters of the device and of each group over time.

    Returns: One row per interval and target; the columns are the fields of `Sample`.
    """
    file = folder / "samples.csv"
    try:
        # Only an empty cell is empty: a group may be called "null".
        table = pd.read_csv(
            file,
            dtype={"target": str},
            keep_default_na=False,
            na_values=[""],
            skip_blank_lines=False,
        )
    except (OSError, ValueError) as problem:
        raise ElevatorLabError(f"{_of(file)}: {_unreadable(problem)}. {REMEDY}") from None
    if list(table) != (expected := list(Sample.model_fields)):
        raise ElevatorLabError(
            f"{_of(file)}: expected the columns {', '.join(expected)}; found "
            f"{', '.join(map(str, table))}. {REMEDY}"
        )
    for column, field in Sample.model_fields.items():
        _refuse_wrong_cells(table[column], field, _of(file))
    return table


def _refuse_wrong_cells(cells: pd.Series[Any], field: FieldInfo, what: str) -> None:
    """Refuse a column of samples with a cell that is no number, or empty though it may not be."""
    expected, empty = "a name", cells.isna()
    may_be_empty = type(None) in get_args(field.annotation)
    wrong = empty & (not may_be_empty)
    if field.annotation is not str:
        expected = "a number or nothing" if may_be_empty else "a number"
        wrong |= ~np.isfinite(pd.to_numeric(cells, errors="coerce")) & ~empty
    if wrong.any():
        line = int(wrong.to_numpy().argmax())
        found = "an empty cell" if empty[line] else repr(str(cells[line]))
        raise ElevatorLabError(
            f"{what}, line {line + 2}: {cells.name}: expected {expected}; found {found}. {REMEDY}"
        )


def _of(file: Path) -> str:
    return f"{file.name} of trial {file.parent.name}"


def _content(folder: Path, name: str) -> tuple[Mapping[str, Any], str]:
    """Return the content of a file and its name for messages; refuse another version."""
    what = _of(folder / name)
    try:
        content = json.loads((folder / name).read_text())
    except (OSError, ValueError) as problem:
        raise ElevatorLabError(f"{what}: {_unreadable(problem)}. {REMEDY}") from None
    if not isinstance(content, dict):
        found = type(content).__name__
        raise ElevatorLabError(f"{what}: expected a JSON object; found {found}. {REMEDY}")
    if name == "trial.json":
        return content, what
    if (version := content.get("schema_version")) != SCHEMA_VERSION:
        raise ElevatorLabError(
            f"{what}: schema_version: expected {SCHEMA_VERSION}; found {version!r}. "
            "Read it with the version of the package that made it"
        )
    return content, what


def _unreadable(problem: OSError | ValueError) -> str:
    if isinstance(problem, OSError):
        return f"expected a file that can be read; found otherwise ({problem.strerror})"
    return f"expected a whole file; found that it is damaged ({problem})"


def _checked(
    record: type[AnyRecord], content: Mapping[str, Any], what: str, at: tuple[str, ...] = ()
) -> AnyRecord:
    try:
        return checked(record, content, what, at)
    except ElevatorLabError as problem:
        raise ElevatorLabError(f"{problem}. {REMEDY}") from None
