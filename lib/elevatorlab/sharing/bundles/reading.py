"""Read a bundle that anybody may have made: no part of it is trusted before it is checked."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, Self

from ... import scratch
from ...errors import ElevatorLabError
from ...records import checked
from ...trial.trial import content_hash
from .manifest import FORMAT, NAME, RESULTS, Manifest, ManifestEntry, safe

#: Limits above the size of any bundle of ours: a stranger's could be made to fill the disk.
MANIFEST_LIMIT_BYTES = 64 << 20
LIMIT_BYTES = 8 << 30

_CHUNK_BYTES = 1 << 20
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)


class Bundle:
    """A bundle whose names and sizes have been checked; `damage` checks the files' contents."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._zip = self._opened()
        self._members = {one.filename: one for one in self._zip.infolist() if not one.is_dir()}
        try:
            self._check_names()
            self.manifest = self._read_manifest()
            self._check_sizes()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def _refuse(self, expected: str, found: str) -> NoReturn:
        raise ElevatorLabError(f"bundle {self.path}: expected {expected}; {found}")

    def _opened(self) -> zipfile.ZipFile:
        try:
            with open(self.path, "rb") as file:
                start = file.read(4)
            return zipfile.ZipFile(self.path)
        except OSError as problem:
            self._refuse("a file that can be read", f"found: {problem.strerror}. Name another")
        except zipfile.BadZipFile:
            if start == b"PK\x03\x04":
                self._refuse("a whole file", "its end is missing: it is cut off. Copy it again")
            self._refuse("a file that `elevatorlab bundle` has made", "it is not even a zip file")

    def _check_names(self) -> None:
        names = Counter(one.filename for one in self._zip.infolist())
        for one in self._zip.infolist():
            link = (one.external_attr >> 16) & 0o170000 == 0o120000
            if not safe(one.filename.rstrip("/")) or link or names[one.filename] > 1:
                self._refuse(
                    "plain files, each once, that stay in their folder",
                    f"found {one.filename!r}. Do not unpack it",
                )

    def _read_manifest(self) -> Manifest:
        about = self._members.get(NAME)
        if about is None:
            self._refuse(
                "a file that `elevatorlab bundle` has made", f"it is a zip file without {NAME}"
            )
        if about.file_size > MANIFEST_LIMIT_BYTES:
            self._refuse(f"{NAME} of at most {MANIFEST_LIMIT_BYTES} bytes", "it is larger")
        try:
            content = json.loads(b"".join(self._chunks(NAME, about.file_size)))
            found = content.get("format")
        except (*_DAMAGED, ValueError, AttributeError):
            self._refuse(f"a whole {NAME}", "it is damaged, so nothing can be checked by it")
        if found != FORMAT:
            self._refuse(
                f"format {FORMAT}",
                f"found {found!r}, made by version {content.get('package')!r} of the package. "
                "Verify it with that version",
            )
        return checked(Manifest, content, f"bundle {self.path}: {NAME}")

    def _check_sizes(self) -> None:
        total = sum(one.size_bytes for one in self.manifest.files.values())
        total = max(total, sum(one.file_size for one in self._members.values()))
        if total > LIMIT_BYTES:
            self._refuse(
                f"at most {LIMIT_BYTES >> 30} GiB of files", f"found {total / 2**30:.1f} GiB"
            )

    def _chunks(self, name: str, limit_bytes: int) -> Iterator[bytes]:
        """Yield a file's content; fail if it is longer than it should be, as in a zip bomb."""
        with self._zip.open(self._members[name]) as file:
            left = limit_bytes
            while chunk := file.read(min(_CHUNK_BYTES, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise zipfile.BadZipFile("longer than it should be")
                yield chunk

    def _is_as_described(self, name: str, entry: ManifestEntry) -> bool:
        digest, size_bytes = hashlib.sha256(), 0
        try:
            for chunk in self._chunks(name, entry.size_bytes):
                digest.update(chunk)
                size_bytes += len(chunk)
        except _DAMAGED:
            return False
        return (size_bytes, digest.hexdigest()) == (entry.size_bytes, entry.sha256)

    def damage(self) -> list[str]:
        """Check every file; name each file that differs from the manifest."""
        there, listed = set(self._members) - {NAME}, self.manifest.files
        found = [f"{name}: missing" for name in listed if name not in there]
        found += [f"{name}: not in the manifest" for name in there if name not in listed]
        found += [
            f"{name}: CHANGED, its SHA-256 is not the manifest's"
            for name in listed
            if name in there and not self._is_as_described(name, listed[name])
        ]
        return sorted(found)

    def digest(self) -> str:
        """Return the SHA-256 of the manifest, which stands for every file that it lists."""
        content = b"".join(self._chunks(NAME, self._members[NAME].file_size))
        return hashlib.sha256(content).hexdigest()

    def unpack(self, folder: Path) -> None:
        """Check every file and each trial's name, and write all files below `folder`."""
        if damage := self.damage() or self.misnamed():
            more = f"\n... and {len(damage) - 20} more" if len(damage) > 20 else ""
            raise ElevatorLabError(
                f"bundle {self.path}: {len(damage)} of {len(self.manifest.files)} files are not "
                "what they are said to be:\n" + "\n".join(damage[:20]) + more
            )
        for name, entry in self.manifest.files.items():
            target = Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "xb") as file:
                for chunk in self._chunks(name, entry.size_bytes):
                    file.write(chunk)

    def misnamed(self) -> list[str]:
        """Name the trials whose folder is not named by the hash of the trial."""
        found = []
        for name, entry in self.manifest.files.items():
            parts = name.split("/")
            if parts[0] == RESULTS and len(parts) == 4 and parts[3] == "trial.json":
                try:
                    content = json.loads(b"".join(self._chunks(name, entry.size_bytes)))
                except (*_DAMAGED, ValueError):
                    found.append(f"{name}: no JSON")
                    continue
                if content_hash(content) != parts[2]:
                    found.append(f"{name}: another trial than its folder's name says")
        return found


@contextmanager
def results_of(place: str | Path | None) -> Iterator[str | Path | None]:
    """Give what `store.load` can read: for a bundle, its results, unpacked until the block ends.

    `place`: A path to a file is taken for a bundle. Anything else is given back unchanged.
    """
    if place is None or not Path(place).is_file():
        yield place
        return
    with Bundle(place) as bundle, scratch.folder() as folder:
        bundle.unpack(Path(folder))
        yield Path(folder, RESULTS)
