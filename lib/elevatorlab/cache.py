"""A cache for each user of what takes minutes to build, such as the emulated machine's image.

A second checkout, a CI run, or a student on a shared server takes a build from the cache. An entry
is a folder ``KIND/DIGEST`` below `ROOT`. DIGEST is the SHA-256 of all that the entry is made from.
An entry is written under another name, and renamed when it is whole. Its ``entry.json`` has the
size and the SHA-256 of each of its files. A damaged entry is built again, never used.
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

from platformdirs import user_cache_path

from .errors import ElevatorLabError
from .paths import make_folder

#: The cache's folder. ELEVATORLAB_CACHE can name another one, for example one that users share.
ROOT = Path(os.environ.get("ELEVATORLAB_CACHE") or user_cache_path("elevatorlab", appauthor=False))

#: Days without use after which `prune` removes an entry.
UNUSED_DAYS = 30

REMEDY = "Set ELEVATORLAB_CACHE to another folder"

#: File of an entry that lists its other files, with sizes and SHA-256.
INDEX = "entry.json"

#: Suffixes of the two folders of an entry that is being made, after its digest.
_HALF_MADE = ".part"
_WORK = ".work"


@dataclass(frozen=True)
class CacheEntry:
    """One folder of the cache."""

    #: What the entry holds, such as ``image``.
    kind: str
    #: SHA-256 of what the entry was made from.
    digest: str
    folder: Path

    @property
    def size_bytes(self) -> int:
        """Disk space that its files take."""
        files = (path.stat() for path in self.folder.rglob("*") if path.is_file())
        return sum(512 * file.st_blocks for file in files)

    @property
    def last_used_s(self) -> float:
        """When the entry was last made or used, in seconds since 1970."""
        index = self.folder / INDEX
        return (index if index.exists() else self.folder).stat().st_mtime

    def note_use(self) -> None:
        """Note that the entry is used now, so that `prune` leaves it."""
        with suppress(PermissionError):  # another user owns this cache
            os.utime(self.folder / INDEX)

    def damage(self, thorough: bool = False) -> str:
        """Say what has changed since the entry was made; "" if nothing.

        An entry that is not finished counts as damaged, too.

        `thorough`: Read every file and compare its SHA-256; otherwise compare sizes alone.
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

    `kind`: One word, the name of the folder below `ROOT` that contains the entry. `make`:
    ``make(folder)`` writes the content into an empty folder, or raises.
    """
    entry = CacheEntry(kind, digest, ROOT / kind / digest)
    if anew or entry.damage(thorough=True):
        from filelock import FileLock  # takes longer to import than an entry takes to read

        make_folder(entry.folder.parent, "cache", REMEDY)
        with FileLock(_lock(entry)):
            if anew or entry.damage(thorough=True):  # nobody has made it meanwhile
                _fill(entry, make)
    entry.note_use()
    return entry.folder


def _lock(entry: CacheEntry) -> Path:
    """Return the file that locks an entry, half-made or whole."""
    whole = entry.digest.removesuffix(_HALF_MADE).removesuffix(_WORK)
    return entry.folder.with_name(f"{whole}.lock")


def work_folder(kind: str, digest: str) -> Path:
    """Return the folder in which the maker of an entry may keep intermediate files.

    If making fails or is killed, the folder stays, so that the next attempt can continue from it.
    `prune` removes the folder, but not while `obtain` makes the entry.
    """
    return ROOT / kind / f"{digest}{_WORK}"


def _fill(entry: CacheEntry, make: Callable[[Path], None]) -> None:
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
    """Write the index of the files, and make the files read-only."""
    index = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        file.chmod(file.stat().st_mode & ~0o222)
        name = str(file.relative_to(folder))
        index[name] = {"size_bytes": file.stat().st_size, "sha256": sha256(file)}
    (folder / INDEX).write_text(json.dumps(index, indent=1) + "\n")


def take_out(entry: Path, folder: Path) -> None:
    """Put the files of an entry into `folder`: hard links on the same disk, otherwise copies."""
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
            # cp keeps holes as holes, and copies by reference where the file system can.
            copy = ["cp", "--sparse=always", "--reflink=auto", str(file), str(target)]
            subprocess.run(copy, check=True)


def entries() -> Iterator[CacheEntry]:
    """Yield every entry of the cache, also the half-made entries of killed processes."""
    if ROOT.exists() and not ROOT.is_dir():
        raise ElevatorLabError(f"cache: expected a folder; {ROOT} is a file. {REMEDY}")
    for folder in sorted(ROOT.glob("*/*")):
        if folder.is_dir():
            yield CacheEntry(folder.parent.name, folder.name, folder)


def prune(everything: bool = False) -> list[CacheEntry]:
    """Remove entries that are damaged, half-made, or unused for `UNUSED_DAYS`.

    An entry that a process is making stays.
    """
    from filelock import FileLock, Timeout

    oldest_s = time.time() - UNUSED_DAYS * 24 * 3600
    removed = []
    for entry in list(entries()):
        lock = _lock(entry)
        with suppress(Timeout), FileLock(lock).acquire(blocking=False):
            if everything or entry.last_used_s < oldest_s or entry.damage():
                shutil.rmtree(entry.folder)
                removed.append(entry)
                lock.unlink()
    return removed


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
