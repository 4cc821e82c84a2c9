"""What is measured of a study whose reference is not whole yet: an archive, which git keeps.

A reference takes longer than a machine may be at hand. Whoever goes on, there or elsewhere, takes
up the archive's results first, and no finished trial runs twice. Nothing is judged by them before
the study is whole.
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..trial import Trial
from . import references, store
from .reading import whole
from .store import Identified

#: How hard xz tries: with 9, it looks for likenesses 64 MiB back, which is about 1000 results.
XZ_PRESET: Final = 9


def archive(study_name: str, preset: str) -> Path:
    """Return the file with the finished results of a study that is not whole."""
    return references.folder(preset) / f"{study_name}.unfinished.tar.xz"


def take_up(file: Path, results: Path, testbed: Identified) -> int:
    """Put an archive's results that `results` lacks there; return how many.

    Those of another image or emulator stay where they are.
    """
    if not file.exists():
        return 0
    place = store.folder(results, testbed)
    with tarfile.open(file, "r:xz") as kept:
        if kept.pax_headers.get("comment") != testbed.identity():
            return 0
        store.check(results, testbed)
        members = {name: Path(name).parts[0] for name in kept.getnames()}
        lacking = {trial for trial in members.values() if not whole(place / trial)}
        some = [one for one in kept.getmembers() if members[one.name] in lacking]
        with tempfile.TemporaryDirectory(dir=place, suffix=".part") as part:
            kept.extractall(part, some, filter="data")
            for trial in lacking:
                store.appear(Path(part, trial), place / trial)
    return len(lacking)


def keep(file: Path, results: Path, testbed: Identified, trials: Sequence[Trial]) -> int:
    """Make the archive of those among a study's trials that are finished; return how many.

    The same results make the same bytes. Where nothing is finished, an archive, which may be of
    another image, stays as it is. Where all is finished, there is none.
    """
    place = store.folder(results, testbed)
    finished = [place / trial.hash for trial in trials if whole(place / trial.hash)]
    if not finished:
        return 0
    if len(finished) == len(trials):
        file.unlink(missing_ok=True)
        return 0
    part = file.with_name(f"{file.name}.part")
    origin = {"comment": testbed.identity()}
    try:
        with tarfile.open(part, "w:xz", preset=XZ_PRESET, pax_headers=origin) as kept:
            for path in sorted(path for one in finished for path in one.rglob("*")):
                if path.is_file():
                    kept.add(path, path.relative_to(place), filter=_without_its_maker)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return len(finished)


def _without_its_maker(file: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out who made a file, and when."""
    return file.replace(uid=0, gid=0, uname="", gname="", mode=0o644, mtime=0, deep=False)
