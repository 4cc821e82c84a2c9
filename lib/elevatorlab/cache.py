"""What takes minutes to build, kept for each user and named by the digest of what it is made from.

A second checkout, a CI run, or a student on a shared server takes it from here. An entry is a
folder ``KIND/DIGEST`` below `ROOT`. It is written under another name and renamed when whole, and
``entry.json`` has the size and the SHA-256 of each of its files. A damaged entry is built again,
never used.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from .errors import ElevatorLabError
from .paths import make_folder

#: Another folder: ELEVATORLAB_CACHE, for a server's users to share one, or for a larger disk.
ROOT = Path(os.environ.get("ELEVATORLAB_CACHE") or user_cache_path("elevatorlab", appauthor=False))

#: Age at which `prune` removes what nobody has used since.
UNUSED_DAYS = 30

REMEDY = "Set ELEVATORLAB_CACHE to another folder"

#: What the files of an entry are.
INDEX = "entry.json"

#: What the folders of an entry that is being made are called after its digest.
_HALF_MADE = ".part"
_WORK = ".work"


@dataclass(frozen=True)
class Entry:
    """One folder of the cache.

    Attributes
    ----------
    kind : str
        What it holds, such as ``image``.
    digest : str
        SHA-256 of what it was made from.
    folder : Path
    """

    kind: str
    digest: str
    folder: Path

    @property
    def size_bytes(self) -> int:
        """Disk space that its files take."""
        files = (path.stat() for path in self.folder.rglob("*") if path.is_file())
        return sum(512 * file.st_blocks for file in files)

    @property
    def last_used_s(self) -> float:
        """When it was made or used last, in seconds since 1970."""
        index = self.folder / INDEX
        return (index if index.exists() else self.folder).stat().st_mtime

    def damage(self, thorough: bool = False) -> str:
        """Say what is not as it was when the entry was made; "" where nothing is.

        Parameters
        ----------
        thorough : bool
            Read every file and compare its SHA-256; otherwise sizes alone are compared.
        """
        if self.folder.suffix in (_HALF_MADE, _WORK):
            return "is being built, or was interrupted"
        try:
            expected = json.loads((self.folder / INDEX).read_text())
        except (OSError, ValueError):
            return f"{INDEX} is missing or damaged"
        for name, was in expected.items():
            file = self.folder / name
            if not file.is_file() or file.stat().st_size != was["size_bytes"]:
                return f"{name} is missing or has another size"
            if thorough and sha256(file) != was["sha256"]:
                return f"{name} has another content"
        return ""


def obtain(kind: str, digest: str, make: Callable[[Path], None], anew: bool = False) -> Path:
    """Return the folder of an entry. If it is missing or damaged, `make` fills it first.

    Callers may only read its files. A caller waits while another process makes the entry.

    Parameters
    ----------
    kind : str
        One word, a folder's name.
    digest : str
        SHA-256 of all that decides the content.
    make : callable
        ``make(folder)`` writes the content into an empty folder, or raises.
    anew : bool
        Make the entry even if it exists.

    Returns
    -------
    Path

    Raises
    ------
    NoFolder
        When the cache's folder cannot be made.
    OSError
        When the cache cannot be written.
    """
    entry = Entry(kind, digest, ROOT / kind / digest)
    if anew or entry.damage(thorough=True):
        make_folder(entry.folder.parent, "cache", REMEDY)
        with _lock(entry):
            if anew or entry.damage(thorough=True):  # nobody has made it meanwhile
                _fill(entry, make)
    with suppress(PermissionError):  # of a cache that another user keeps
        os.utime(entry.folder / INDEX)
    return entry.folder


def _lock(entry: Entry) -> FileLock:
    """Return the lock of an entry, half-made or whole."""
    whole = entry.digest.removesuffix(_HALF_MADE).removesuffix(_WORK)
    return FileLock(entry.folder.with_name(f"{whole}.lock"))


def work_folder(kind: str, digest: str) -> Path:
    """Return where the maker of an entry may put what the next one goes on from.

    It stays where making fails or is killed. `prune` removes it, but not while `obtain` makes the
    entry.
    """
    return ROOT / kind / f"{digest}{_WORK}"


def _fill(entry: Entry, make: Callable[[Path], None]) -> None:
    part = entry.folder.with_name(entry.digest + _HALF_MADE)
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        make(part)
        _seal(part)
        shutil.rmtree(entry.folder, ignore_errors=True)
        part.rename(entry.folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _seal(folder: Path) -> None:
    """Write down what the files are, and let nobody change one by mistake."""
    index = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        file.chmod(file.stat().st_mode & ~0o222)
        name = str(file.relative_to(folder))
        index[name] = {"size_bytes": file.stat().st_size, "sha256": sha256(file)}
    (folder / INDEX).write_text(json.dumps(index, indent=1) + "\n")


def take_out(entry: Path, folder: Path) -> None:
    """Put the files of an entry into `folder`, as links where the disk is the same.

    Parameters
    ----------
    entry : Path
        As `obtain` returns it.
    folder : Path
        A new one.
    """
    folder.mkdir(parents=True)
    for file in sorted(path for path in entry.rglob("*") if path.is_file()):
        name = file.relative_to(entry)
        if str(name) == INDEX:
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, target)
        except OSError:  # another disk, or another user's file
            # cp, since holes stay holes, and some file systems copy by reference.
            copy = ["cp", "--sparse=always", "--reflink=auto", str(file), str(target)]
            subprocess.run(copy, check=True)


def entries() -> Iterator[Entry]:
    """Yield everything in the cache, half-made entries of killed processes included."""
    if ROOT.exists() and not ROOT.is_dir():
        raise ElevatorLabError(f"cache: expected a folder; {ROOT} is a file. {REMEDY}")
    for folder in sorted(ROOT.glob("*/*")):
        if folder.is_dir():
            yield Entry(folder.parent.name, folder.name, folder)


def prune(everything: bool = False) -> list[Entry]:
    """Remove what is damaged, half-made, or has not been used for `UNUSED_DAYS`.

    What a process makes at the moment stays.

    Parameters
    ----------
    everything : bool
        Remove all entries.

    Returns
    -------
    list of Entry
        What was removed.
    """
    oldest_s = time.time() - UNUSED_DAYS * 24 * 3600
    removed = []
    for entry in list(entries()):
        lock = _lock(entry)
        with suppress(Timeout), lock.acquire(blocking=False):
            if everything or entry.last_used_s < oldest_s or entry.damage():
                shutil.rmtree(entry.folder)
                removed.append(entry)
                Path(lock.lock_file).unlink()
    return removed


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
