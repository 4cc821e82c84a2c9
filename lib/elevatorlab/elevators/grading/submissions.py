"""Read what students have handed in: a folder or an archive for each student."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ...errors import ElevatorLabError

#: Most bytes and files in a submission. A module's sources may have as many bytes.
LARGEST_BYTES = 4 << 20
MOST_FILES = 1000

#: Most bytes of an archive as it is, and of a tar when it is unpacked. A small file may unpack to
#: gigabytes, and a tar has them where no file is: in a header, say.
LARGEST_ARCHIVE_BYTES = 2 * LARGEST_BYTES

_UNPACKED: dict[str, Any] = {
    ".gz": gzip.open,
    ".tgz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".tar": open,
}

TOO_LARGE = f"expected at most {MOST_FILES} files and {LARGEST_BYTES >> 20} MiB; found more"

#: Longest name of a file that Linux's file systems take.
LONGEST_NAME_BYTES = 255

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")

#: What Python raises for a damaged archive; a RuntimeError for one that needs a password.
UNREADABLE = (
    *(OSError, EOFError, RuntimeError),
    *(tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error),
)

#: Names that editors and operating systems leave in archives.
_LEFTOVERS = {"__MACOSX", ".git", ".DS_Store"}


@dataclass(frozen=True)
class Submission:
    """What one student has handed in."""

    #: Name of the folder, or of the archive without its ending.
    student: str
    #: Files of the scheduler's folder, by name; empty if there is a problem.
    files: Mapping[str, bytes] = field(default_factory=dict)
    #: Why the submission cannot be graded, in a sentence; "" if it can.
    problem: str = ""

    @property
    def slug(self) -> str:
        """A name for files and addresses, which no other student's submission has."""
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", self.student).strip("-.")[:60]
        if plain == self.student:
            return plain
        return f"{plain}-{hashlib.sha256(self.student.encode()).hexdigest()[:6]}".lstrip("-")

    @property
    def digest(self) -> str:
        """SHA-256 over the files, or the problem."""
        found = hashlib.sha256(self.problem.encode())
        for name, content in sorted(self.files.items()):
            found.update(f"{name}\0{len(content)}\0".encode() + content)
        return found.hexdigest()


def find(folder: Path) -> list[Submission]:
    """Return the submissions in a folder, in the order of their names."""
    if not folder.is_dir():
        raise ElevatorLabError(
            f"{folder}: expected a folder with a folder, or an archive, for each student; "
            "found none"
        )
    if (folder / "Kbuild").is_file():
        raise ElevatorLabError(
            f"{folder}: expected a folder with a folder, or an archive, for each student; found "
            "a scheduler's own. Put it into a folder, and give that"
        )
    entries = (one for one in sorted(folder.iterdir()) if not one.name.startswith("."))
    found = [read(one) for one in entries if not _is_stray(one)]
    if not found:
        raise ElevatorLabError(f"{folder}: expected at least one submission; found none")
    students = [one.student for one in found]
    if twice := [student for student in students if students.count(student) > 1]:
        raise ElevatorLabError(
            f"{folder}: expected one submission per student; found two of {twice[0]!r}. Remove one"
        )
    return found


def ignored(folder: Path) -> list[str]:
    """Return the names of the files in a folder of submissions that are no submissions."""
    return sorted(one.name for one in folder.iterdir() if _is_stray(one))


def _is_stray(entry: Path) -> bool:
    """Tell whether an entry is a plain file, but no archive, such as a teacher's notes."""
    plain = entry.is_file() and not entry.is_symlink()
    return plain and not entry.name.endswith(_ARCHIVES)


def read(entry: Path) -> Submission:
    """Read one submission; `problem` says why if it cannot be read."""
    student = _student(entry)
    try:
        return Submission(student, _scheduler_in(dict(_files(entry))))
    except ElevatorLabError as problem:
        return Submission(student, problem=str(problem))
    except UNREADABLE as problem:
        found = " ".join(str(problem).split())
        said = f"expected a folder or an archive that can be read; found {found}"
        return Submission(student, problem=said)


def _student(entry: Path) -> str:
    endings = [ending for ending in _ARCHIVES if entry.name.endswith(ending)]
    return entry.name.removesuffix(endings[0]) if endings and entry.is_file() else entry.name


def _files(entry: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield the plain files of a submission; nothing is written, and no link is followed."""
    if entry.is_dir() and not entry.is_symlink():
        found = _of_folder(entry)
    elif entry.is_file() and entry.name.endswith(_ARCHIVES):
        found = _of_archive(entry)
    else:
        raise ElevatorLabError(
            f"expected a folder, or an archive ({', '.join(_ARCHIVES)}); found {entry.name!r}"
        )
    total_bytes = 0
    for number, (path, content) in enumerate(found, start=1):
        total_bytes += len(content)
        if number > MOST_FILES or total_bytes > LARGEST_BYTES:
            raise ElevatorLabError(TOO_LARGE)
        if len(os.fsencode(path.name)) > LONGEST_NAME_BYTES:
            raise ElevatorLabError(
                f"expected names of at most {LONGEST_NAME_BYTES} bytes; found {path.name[:20]!r}..."
            )
        if not _LEFTOVERS.intersection(path.parts):
            yield path, content


def _of_folder(folder: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    plain = [one for one in sorted(folder.rglob("*")) if one.is_file() and not one.is_symlink()]
    if len(plain) == 1 and plain[0].name.endswith(_ARCHIVES):
        yield from _of_archive(plain[0])  # Moodle makes a folder for what a student uploads
    else:
        for file in plain:
            with open(file, "rb") as opened:
                yield PurePosixPath(file.relative_to(folder)), opened.read(LARGEST_BYTES + 1)


def _of_archive(file: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    if file.stat().st_size > LARGEST_ARCHIVE_BYTES:
        raise ElevatorLabError(TOO_LARGE)
    return _of_zip(file) if file.name.endswith(".zip") else _of_tar(file)


def _of_zip(file: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                with archive.open(member) as opened:
                    yield PurePosixPath(member.filename), opened.read(LARGEST_BYTES + 1)


def _of_tar(file: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    with _UNPACKED[file.suffix](file, "rb") as opened:
        content: bytes = opened.read(LARGEST_ARCHIVE_BYTES + 1)
    if len(content) > LARGEST_ARCHIVE_BYTES:
        raise ElevatorLabError(TOO_LARGE)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            inside = archive.extractfile(member) if member.isreg() else None
            if inside is not None:
                yield PurePosixPath(member.name), inside.read(LARGEST_BYTES + 1)


def _scheduler_in(files: Mapping[PurePosixPath, bytes]) -> dict[str, bytes]:
    """Return the files of the one folder that has a Kbuild, by name."""
    if not files:
        raise ElevatorLabError("expected the folder of a scheduler; found no file in it")
    places = [path.parent for path in files if path.name == "Kbuild"]
    if len(places) != 1:
        found = f"{len(places)} of them" if places else "none"
        raise ElevatorLabError(f"expected one folder with a Kbuild; found {found}")
    return {path.name: content for path, content in files.items() if path.parent == places[0]}
