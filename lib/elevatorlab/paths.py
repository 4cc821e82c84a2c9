"""Where files are: below a checkout's folder, or beside an installed package's modules."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from .errors import NoFolder

PACKAGE = Path(__file__).resolve().parent

#: Files of the checkout that a wheel contains; `setup.py` copies them there.
SHARED = PACKAGE / "share"

#: Whether the package was installed from a wheel, without a checkout around it.
INSTALLED = SHARED.is_dir()

#: The checkout (notebooks, environments, data), or the part of it that a wheel contains.
PROJECT = SHARED if INSTALLED else PACKAGE.parents[1]

DATA = PROJECT / "data"
ENVIRONMENTS = PROJECT / "environments"


def _usual_build() -> Path:
    if not INSTALLED:
        return PROJECT / "build"
    from platformdirs import user_data_path

    return user_data_path("elevatorlab", appauthor=False)


#: Folder of everything that commands make; in a checkout, `make clean` removes it.
BUILD = Path(os.environ.get("ELEVATORLAB_BUILD") or _usual_build())


def command(arguments: str) -> str:
    """Return a command line that the user can type, with this program as it was called.

    Returns: ``.venv/bin/elevatorlab claims --all`` if the program was called by that path.
    ``elevatorlab claims --all`` if the shell finds the program by its name, or if another program,
    such as a notebook, imports this package.
    """
    called = Path(sys.argv[0])
    if called.name != "elevatorlab" or shutil.which("elevatorlab") == str(called):
        called = Path("elevatorlab")
    return f"{shlex.quote(str(called))} {arguments}"


def write_whole(file: Path, text: str) -> None:
    """Replace a file's content at once: no reader finds a part of it."""
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, file)


def make_folder(folder: Path, what: str, remedy: str) -> None:
    """Make a folder unless it exists.

    `what`: What the folder is for; the error message begins with it. `remedy`: What to do if the
    folder cannot be made; the error message ends with it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise NoFolder(
            f"{what}: expected {folder} to be a folder, or a place for a new one; found otherwise "
            f"({problem.strerror}). {remedy}"
        ) from None
