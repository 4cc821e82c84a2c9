"""Where things are: in a checkout below its folder, in an installed package beside its modules."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from .errors import NoFolder

PACKAGE = Path(__file__).resolve().parent

#: What a wheel carries of the checkout; `setup.py` puts it there.
SHARED = PACKAGE / "share"

#: Whether the package was installed from a wheel, without a checkout around it.
INSTALLED = SHARED.is_dir()

#: The checkout (notebooks, environments, data), or what an installed package has of it.
PROJECT = SHARED if INSTALLED else PACKAGE.parents[1]

DATA = PROJECT / "data"
ENVIRONMENTS = PROJECT / "environments"


def _usual_build() -> Path:
    if not INSTALLED:
        return PROJECT / "build"
    from platformdirs import user_data_path

    return user_data_path("elevatorlab", appauthor=False)


#: Everything that a command makes; in a checkout `make clean` removes it.
BUILD = Path(os.environ.get("ELEVATORLAB_BUILD") or _usual_build())


def command(arguments: str) -> str:
    """Return a command of ours as the user can give it: the program as it was called.

    Parameters
    ----------
    arguments : str
        For example "claims --all".

    Returns
    -------
    str
        ``.venv/bin/elevatorlab claims --all`` where the program was called like that;
        ``elevatorlab claims --all`` where the shell finds it, or where another program runs us.
    """
    called = Path(sys.argv[0])
    if called.name != "elevatorlab" or shutil.which("elevatorlab") == str(called):
        called = Path("elevatorlab")
    return f"{called} {arguments}"


def make_folder(folder: Path, what: str, remedy: str) -> None:
    """Make a folder where there is none yet.

    Parameters
    ----------
    folder : Path
    what : str
        What it is for, as the beginning of the sentence.
    remedy : str
        What to do where it cannot be.

    Raises
    ------
    NoFolder
        When a file is in the way, or nothing can be made there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise NoFolder(
            f"{what}: expected {folder} to be a folder, or a place for a new one; found otherwise "
            f"({problem.strerror}). {remedy}"
        ) from None
