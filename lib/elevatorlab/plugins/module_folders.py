"""Folders with the sources of a kernel module, which is built for the machine that runs a trial.

A trial names the module by the digest of its sources. The built module travels with the trial, and
is not part of any image.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..errors import ElevatorLabError
from ..paths import ENVIRONMENTS

#: Folder of headers that any module may include by name. A module's own file of that name wins.
OFFERED = ENVIRONMENTS / "module-root" / "include"

#: Suffixes of the files that take part in a build, besides the file Kbuild.
SUFFIXES = (".c", ".h", ".patch")

#: Suffix of the files that Kbuild writes into a folder in which somebody has called make.
_MADE = ".mod.c"

LARGEST_BYTES = 4 << 20


@dataclass(frozen=True)
class ModuleFolder:
    """The sources of a kernel module, as they were when the folder was read."""

    #: The folder.
    path: Path
    #: The module's name: its build makes ``MODULE.ko``.
    module: str
    #: Files that take part in the build, by name, with the offered headers that they include.
    files: Mapping[str, bytes]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the module's name and the files, in the order of their names."""
        found = hashlib.sha256(f"{self.module}\0".encode())
        for name, content in sorted(self.files.items()):
            found.update(f"{name}\0{len(content)}\0".encode() + content)
        return found.hexdigest()


def read(path: Path, module: str, more: Mapping[str, bytes] | None = None) -> ModuleFolder:
    """Read the sources of a module.

    `path`: A folder with C sources and a ``Kbuild``; folders in it are not read. `more`: Further
    content, by name, that decides what the module does; it counts for the digest.
    """
    if not path.is_dir():
        raise ElevatorLabError(f"{path}: expected a folder with a Kbuild and C sources; found none")
    files = {file.name: file for file in sorted(path.iterdir()) if _takes_part(file)}
    for name, file in files.items():
        if file.is_symlink() or not file.is_file():
            raise ElevatorLabError(
                f"{path}: expected plain files; {name} is none. Copy what it stands for there"
            )
    if "Kbuild" not in files or not any(name.endswith(".c") for name in files):
        makefile = "Kbuild" not in files and (path / "Makefile").is_file()
        raise ElevatorLabError(
            f"{path}: expected a Kbuild (obj-m := {module}.o) and C sources; "
            f"found {', '.join(files) or 'neither'}"
            + (" and a Makefile, which is not read. Copy its obj-m to a Kbuild" if makefile else "")
        )
    if (bytes_found := sum(file.stat().st_size for file in files.values())) > LARGEST_BYTES:
        raise ElevatorLabError(
            f"{path}: expected at most {LARGEST_BYTES} bytes of sources "
            f"({LARGEST_BYTES >> 20} MiB); found {bytes_found}"
        )
    content = {name: file.read_bytes() for name, file in files.items()}
    return ModuleFolder(path, module, {**_included(content), **content, **(more or {})})


def made_in(kbuild: str) -> list[str]:
    """Return the modules that the ``obj-m`` lines of a Kbuild name."""
    lines = re.findall(r"^\s*obj-m\s*[:+?]?=(.*)", kbuild, re.M)
    return re.findall(r"([\w-]+)\.o\b", " ".join(lines))


def _included(content: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the offered headers that sources include, by name."""
    includes = re.findall(rb'^\s*#\s*include\s+"([^"]+)"', b"\n".join(content.values()), re.M)
    offered = {file.name: file for file in OFFERED.glob("*.h")}
    return {name: offered[name].read_bytes() for name in offered if name.encode() in includes}


def _takes_part(file: Path) -> bool:
    made = file.name.endswith(_MADE)
    return file.name == "Kbuild" or (file.suffix in SUFFIXES and not made)
