"""The list of a bundle's files, with which every byte of the bundle can be checked."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field

from ...records import Record
from ...trial.required_plugins import Plugin

NAME = "manifest.json"
FORMAT: Literal["elevatorlab-bundle/1"] = "elevatorlab-bundle/1"

#: Where the results are in a bundle, one folder per trial below one folder per testbed.
RESULTS = "results"

Size = Annotated[int, Field(ge=0)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ManifestEntry(Record):
    """Size and digest of one file."""

    size_bytes: Size
    sha256: Digest


class Manifest(Record):
    """What is in a bundle.

    Attributes
    ----------
    format : str
        Version of the bundle's format; another version of this package may have another format.
    package : str
        The version of the package that made the bundle.
    files : dict of str to ManifestEntry
        Every file but the manifest itself, by its name in the bundle.
    plugins : tuple of Plugin
        What somebody needs, in addition to this package, to rerun and judge the bundle's trials.
    """

    format: Literal["elevatorlab-bundle/1"]
    package: str
    files: dict[str, ManifestEntry]
    plugins: tuple[Plugin, ...] = ()


def entry_of(file: Path) -> ManifestEntry:
    """Describe a file."""
    with open(file, "rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    return ManifestEntry(size_bytes=file.stat().st_size, sha256=sha256)


def safe(name: str) -> bool:
    r"""Tell whether a file of this name stays inside the folder that it is unpacked to.

    Examples
    --------
    >>> safe("results/deterministic/identity")
    True
    >>> [safe(name) for name in ("../up", "/etc/passwd", "a//b", "a\\b", "C:x", "")]
    [False, False, False, False, False, False]
    """
    parts = name.split("/")
    plain = not set(name) & set("\\:\0") and name.isprintable()
    return plain and not PurePosixPath(name).is_absolute() and not {"", ".", ".."} & set(parts)
