"""Verdicts, cached by the digest of everything that decides them, because judging takes seconds.

They are in the user's cache (`elevatorlab.cache`). If a table, a claim, a module of this package or
the version of a library changes, the digest changes, and the claims are judged again.
"""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache as once
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from .. import cache
from ..errors import ElevatorLabError, NoFolder
from ..paths import DATA, PACKAGE, SHARED
from ..plugins import studies
from ..results import references
from ..results.references import ResultSource
from .claim import Claim
from .claims import to_json

#: Libraries that compute the numbers behind a verdict.
LIBRARIES = ("numpy", "pandas", "pydantic", "scipy")

#: Subpackages that cannot change a verdict: no judge imports them.
WITHOUT_A_SAY = ("agent", "cli", "lectures", "notebook", "sharing", "showing")

_FILE = "claims.json"


class Judged(NamedTuple):
    """The claims of a study, each with its verdict."""

    #: Sorts the study among all studies.
    place: float
    claims: list[Claim]


def every_claim(results: str | Path | None = None) -> list[Claim]:
    """Return the claims of all studies with their verdicts, study by study."""
    try:
        judged = [judge(name, results) for name in studies.STUDIES.names()]
    except ElevatorLabError:  # raise that of the first study in order; the order needs all imports
        judged = [judge(study.NAME, results) for study in studies.STUDIES.values()]
    return [claim for one in sorted(judged, key=lambda one: one.place) for claim in one.claims]


def judge(study: str, results: str | Path | None = None) -> Judged:
    """Return the claims of a study, from the cache if nothing has changed since they were judged.

    Verdicts on a study of another package are never cached. `results`: See `ResultSource.of`.
    """
    source = ResultSource.of(study, results)
    if not studies.is_ours(study):
        return _judge(source)
    try:
        folder = cache.obtain("claims", _digest(source), lambda to: _keep(to, source))
        content = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except (NoFolder, OSError):  # the cache cannot be used
        return _judge(source)
    claims = [Claim.model_validate(one) for one in content["claims"]]
    return Judged(content["place"], claims)


def _judge(source: ResultSource) -> Judged:
    from ..results import store  # pandas takes longer to import than cached verdicts take to read

    study = studies.get(source.study)
    return Judged(studies.place(study), study.judge(store.table(source)))


def _keep(folder: Path, source: ResultSource) -> None:
    place, claims = _judge(source)
    content = {"place": place, "claims": to_json(claims)}
    (folder / _FILE).write_text(json.dumps(content), encoding="utf-8")


def _digest(source: ResultSource) -> str:
    """Return the SHA-256 of everything that decides the verdicts."""
    name = source.study
    parts = [("claims", DATA / "claims", f"{name}.yaml")]
    parts.append(("published", DATA / "published" / name, "**/*"))
    if source.folder:
        parts.append(("results", source.folder, "*/*/*.json"))
        # Which version of a scheduler a table has (`results.scheduler_sources`).
        parts.append(("schedulers", source.folder, "schedulers/*/current"))
    if source.preset:
        parts.append(("reference", references.folder(source.preset), f"{name}.csv"))
    # An empty folder, or a missing reference, must not get the digest of published numbers alone.
    kinds = " ".join(part for part, _, _ in parts)
    total = hashlib.sha256(f"{name} {kinds} {_code()}".encode())
    for part, folder, pattern in parts:
        for file in sorted(path for path in folder.glob(pattern) if path.is_file()):
            total.update(f"\0{part}/{file.relative_to(folder).as_posix()}\0".encode())
            total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


@once
def _code() -> str:
    """Return the SHA-256 of all that this process executes: its modules, libraries and Python."""
    total = hashlib.sha256(platform.python_version().encode())
    for library in LIBRARIES:
        total.update(f"\0{library} {version(library)}".encode())
    for file in modules():
        module = file.relative_to(PACKAGE)
        if module.parts[0] not in WITHOUT_A_SAY:
            total.update(f"\0{module.as_posix()}\0".encode())
            total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def modules() -> list[Path]:
    """Return the files of this package's modules, the same in a checkout and in a wheel.

    A wheel also carries other files of the checkout, in `SHARED`. These are left out.
    """
    return sorted(one for one in PACKAGE.rglob("*.py") if not one.is_relative_to(SHARED))
