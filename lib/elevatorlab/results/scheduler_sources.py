"""The sources of schedulers, kept beside the results that they gave.

``RESULTS/schedulers/MODULE/DIGEST/`` is a copy of a scheduler's folder from when its trials ran, so
that anybody can build the scheduler again. The file ``current`` beside it has the digest of the
version that ran last. Versions are never pooled: tables have only trials of the current version.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import ElevatorLabError
from ..plugins import scheduler_folders
from ..plugins.schedulers import SCHEDULERS
from ..trial import Trial, kernel_modules

FOLDER = "schedulers"

_CURRENT = "current"


def keep(results: str | Path, trials: Iterable[Trial]) -> None:
    """Store the sources of the schedulers that are built for `trials`, as current versions."""
    for name in {name for trial in trials for name in kernel_modules.scheduler_names(trial)}:
        record = SCHEDULERS.get(name)
        if record.folder is None:
            continue
        place = Path(results, FOLDER, record.folder.module)
        kept = place / record.folder.digest
        if not kept.exists():
            part = kept.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            scheduler_folders.write(record, part)
            os.rename(part, kept)
        (place / _CURRENT).write_text(record.folder.digest + "\n")


def current(results: str | Path) -> dict[str, str]:
    """Return the digests of the sources that ran last, by module."""
    files = sorted(Path(results, FOLDER).glob(f"*/{_CURRENT}"))
    return {file.parent.name: file.read_text().strip() for file in files}


def is_current(trial: Mapping[str, Any], digests: Mapping[str, str]) -> bool:
    """Tell whether a stored trial has the current version of each of its modules."""
    brought = trial.get("modules", ())
    return all(digests.get(one["name"], one["digest"]) == one["digest"] for one in brought)


def register(results: str | Path) -> None:
    """Register the schedulers that are stored in `results` and not registered yet."""
    for module, digest in current(results).items():
        kept = Path(results, FOLDER, module, digest)
        record = scheduler_folders.read(kept)
        if record.folder is None or record.folder.digest != digest:
            raise ElevatorLabError(
                f"{kept}: expected the sources of this digest; found others. Run that scheduler "
                "again: --scheduler FOLDER"
            )
        if record.name not in SCHEDULERS:
            SCHEDULERS.register(record.name, record)
