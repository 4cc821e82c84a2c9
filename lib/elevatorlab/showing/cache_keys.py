"""A digest of everything that decides what is shown, made without the libraries that draw it."""

from __future__ import annotations

import hashlib
import platform
import sys
import zlib
from importlib.metadata import entry_points
from pathlib import Path

from ..cache import sha256
from ..paths import DATA, ENVIRONMENTS, PACKAGE, SHARED
from ..plugins import studies
from ..plugins.registry import OURS
from ..plugins.schedulers import SCHEDULERS


def are_known() -> bool:
    """Tell whether this package brings every plug-in: nobody knows of which files others are."""
    groups = [group for group in entry_points().groups if group.startswith(f"{OURS}.")]
    points = [point for group in groups for point in entry_points(group=group)]
    ours = all(point.dist and point.dist.name == OURS for point in points)
    return ours and all(map(studies.is_ours, studies.STUDIES.names()))


def digest(*parts: str | None) -> str:
    """Return the SHA-256 of some words, and of all that decides what is made of them.

    That is this package, its data, the looks of the schedulers, and what else is installed.
    """
    looks = sorted((name, one.label, one.colour, one.marker) for name, one in SCHEDULERS.items())
    # The folder in which a package says what it is has its name and its version.
    installed = sorted({one.name for place in sys.path for one in Path(place).glob("*-info")})
    system = platform.python_version(), platform.machine(), zlib.ZLIB_RUNTIME_VERSION
    files = of_files(PACKAGE, SHARED), of_files(DATA), of_files(ENVIRONMENTS)
    return hashlib.sha256(repr((parts, looks, installed, system, files)).encode()).hexdigest()


def of_files(folder: Path, apart: Path | None = None) -> str:
    """Return a SHA-256 of the names and the contents of all files below a folder."""
    files = [
        (file.relative_to(folder).as_posix(), sha256(file))
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix != ".pyc" and not (apart and file.is_relative_to(apart))
    ]
    return hashlib.sha256(repr(files).encode()).hexdigest()
