"""Outcomes of trials in the user's cache, since the same trial gives the same bits again.

A class whose notebooks run the same trials, and the project's own tests, need each trial once. What
claims that bits are the same must run the trial really: `elevatorlab verify` always does.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from ... import cache
from ...results.outcome import Outcome
from ...trial import Trial

#: The environment variable that allows to take outcomes from the cache, when it is 1.
REUSE = "ELEVATORLAB_REUSE_TRIALS"

KIND = "trial"
TRIAL = "trial.json"
_FILES = "files"
_PROVENANCE = "provenance.json"


def reused() -> bool:
    """Tell whether outcomes are taken from the cache."""
    return os.environ.get(REUSE) == "1"


def outcome(machine: str, trial: Trial, run: Callable[[], Outcome]) -> Outcome:
    """Return the outcome of a trial from the cache; run the trial if it is not there.

    `machine`: All that decides the bits besides the trial: the testbed's name and identity. `run`:
    Runs the trial. What it raises is raised, and nothing is kept then.
    """
    made = cache.obtain(KIND, digest(machine, trial), lambda into: _write(into, trial, run()))
    return _read(made)


def digest(machine: str, trial: Trial) -> str:
    """Return the digest of a trial's entry in the cache."""
    return hashlib.sha256(f"{machine} {trial.hash}".encode()).hexdigest()


def _read(folder: Path) -> Outcome:
    files = [path for path in (folder / _FILES).rglob("*") if path.is_file()]
    return Outcome(
        {str(path.relative_to(folder / _FILES)): path.read_bytes() for path in files},
        json.loads((folder / _PROVENANCE).read_text()),
    )


def _write(folder: Path, trial: Trial, made: Outcome) -> None:
    (folder / TRIAL).write_text(trial.canonical_json())
    for name, content in made.files.items():
        file = folder / _FILES / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    (folder / _PROVENANCE).write_text(json.dumps(made.provenance))
