"""The image as one file, to be kept after Debian's mirrors have removed its packages.

The file is a compressed tar archive that begins with ``image.json``. This description lists the
SHA-256 of every other file, and the parts of the image digest. So anybody who knows the digest can
check every byte of the image. The archive also has the emulator, compiled. A machine that has built
the emulator keeps its own.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import tarfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Annotated, Final, Literal, NamedTuple, NoReturn

from pydantic import Field

from ... import cache, scratch
from ...errors import ElevatorLabError
from ...paths import command
from ...records import Record, checked
from . import emulator_archive, image, our_qemu

FORMAT: Literal["elevatorlab-image/4"] = "elevatorlab-image/4"
DESCRIPTION = "image.json"
EMULATOR = "emulator.tar"
FILES = (*image.FILES, image.PACKAGES, EMULATOR)

#: Larger than any file of our images. An archive from elsewhere could be made to fill the disk.
LIMIT_BYTES = 3 << 30
DESCRIPTION_LIMIT_BYTES = 1 << 20

#: Compression level of xz. Higher levels take minutes, and save a tenth of the size.
PRESET: Final = 1

_CHUNK_BYTES = 1 << 20
_DAMAGED = (lzma.LZMAError, tarfile.TarError, EOFError, ValueError)

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ImageFile(Record):
    """Size and SHA-256 of one file."""

    size_bytes: Annotated[int, Field(ge=0, le=LIMIT_BYTES)]
    sha256: Digest


class Description(Record):
    """What is in an archive of an image."""

    #: Version of the archive's format. Other versions of this package may have another format.
    format: Literal["elevatorlab-image/4"]
    #: The image digest where the archive was made.
    digest: Digest
    #: SHA-256 of the recipe from which the image was built.
    recipe: Digest
    #: Parts of the image digest (`image.digest_parts`).
    parts: dict[str, tuple[str, ...]]
    #: Files by name, in the archive's order.
    files: dict[str, ImageFile]


def write(folder: Path) -> Path:
    """Write this machine's image and emulator to an archive, whose name has the image digest.

    The same image and emulator give the same bytes.
    """
    if other := our_qemu.another():
        raise ElevatorLabError(
            f"image: expected the emulator of this version; {our_qemu.OTHER} names {other}. "
            f"Unset {our_qemu.OTHER}"
        )
    with scratch.folder() as place:
        emulator = Path(place, EMULATOR)
        emulator_archive.write(emulator)
        return _write(folder, {name: image.FOLDER / name for name in FILES} | {EMULATOR: emulator})


def _write(folder: Path, files: Mapping[str, Path]) -> Path:
    described = _description(files)
    out = folder / f"elevatorlab-image-{described.digest[:12]}.tar.xz"
    part = out.with_name(out.name + ".part")
    try:
        with tarfile.open(part, "w:xz", preset=PRESET, format=tarfile.USTAR_FORMAT) as archive:
            content = described.model_dump_json(indent=1).encode() + b"\n"
            _add(archive, DESCRIPTION, len(content), io.BytesIO(content))
            for name, entry in described.files.items():
                with open(files[name], "rb") as file:
                    _add(archive, name, entry.size_bytes, file)
        os.replace(part, out)
    except OSError as problem:
        raise ElevatorLabError(
            f"image: {out} cannot be written ({problem.strerror}). Name another folder with --out"
        ) from None
    finally:
        part.unlink(missing_ok=True)
    return out


def _description(files: Mapping[str, Path]) -> Description:
    """Describe this machine's image; refuse files that have changed since it was built."""
    parts = image.digest_parts()
    entries = {
        name: ImageFile(size_bytes=file.stat().st_size, sha256=cache.sha256(file))
        for name, file in files.items()
    }
    for name, sha256 in zip(image.FILES, parts["files"], strict=True):
        if entries[name].sha256 != sha256:
            raise ElevatorLabError(
                f"image: {image.FOLDER / name} is not what it was when the image was built. "
                f"Build it again: {command('image build --force')}"
            )
    content = {
        "format": FORMAT,
        "digest": image.digest_of(parts),
        "recipe": image.recipe_digest(),
        "parts": parts,
        "files": entries,
    }
    return Description.model_validate(content)


def _add(archive: tarfile.TarFile, name: str, size_bytes: int, content: IO[bytes]) -> None:
    """Add a file to an archive, without its time and owner."""
    about = tarfile.TarInfo(name)
    about.size, about.mode = size_bytes, 0o644
    archive.addfile(about, content)


def take(file: Path) -> Description:
    """Check every byte of an archive, and replace this machine's image with the archive's.

    The archive's emulator is taken, too, if this machine has none and this version is the same.
    """
    with _opened_file(file) as opened:
        image.install(opened.unpack)
        if opened.described.parts[image.EMULATOR_PART] == (our_qemu.digest(),):
            emulator_archive.unpack(image.FOLDER / EMULATOR)
        return opened.described


@contextmanager
def in_use(file: Path, wanted: Collection[str]) -> Iterator[None]:
    """Check every byte of an archive, and use its image within the context.

    `wanted`: Image digests of the results that are to be made again.
    """
    with ExitStack() as stack:
        with _opened_file(file) as opened:
            described = opened.described
            if described.digest not in wanted:
                digests = " or ".join(sorted(one[:12] for one in wanted))
                found = f"found {described.digest[:12]}. Name the file of that digest"
                _refuse(file, f"the digest of what is verified, {digests}", found)
            stack.enter_context(image.instead(opened.unpack))
        if names := differing(described):
            found = f"what differs here: {', '.join(names)}. {remedy(names)}"
            _refuse(file, f"all that gives digest {described.digest[:12]}", found)
        yield


def remedy(names: Collection[str]) -> str:
    """Return what to do about parts of the digest that differ between machine and archive.

    `names`: Names of these parts, from `differing`; not empty.
    """
    if our_qemu.another() and set(names) <= {image.EMULATOR_PART, image.OPTIONS_PART}:
        return f"Unset {our_qemu.OTHER}"
    return "Check out the version of Elevator Lab that exported it"


class _Opened(NamedTuple):
    """An open archive whose description has been read."""

    file: Path
    content: IO[bytes]
    archive: tarfile.TarFile
    described: Description

    def unpack(self, folder: Path) -> None:
        """Write the files into an empty folder, and check that the archive has no others."""
        _unpack(self.archive, self.described, folder, self.file)
        rest = self.content.read(2 * tarfile.RECORDSIZE)
        if self.archive.next() is not None or any(rest) or len(rest) > tarfile.RECORDSIZE:
            more = "there is more. Do not unpack it"
            _refuse(self.file, "nothing beside the image's files", more)


@contextmanager
def _opened_file(file: Path) -> Iterator[_Opened]:
    """Open an archive and read its description; refuse a file that is unreadable or damaged."""
    try:
        # As a stream: to go back in a compressed file, one must decompress it from its beginning.
        with lzma.open(file) as content, tarfile.open(fileobj=content, mode="r|") as archive:
            yield _Opened(file, content, archive, _described(archive, file))
    except (FileNotFoundError, IsADirectoryError, PermissionError) as problem:
        _refuse(file, "a file that can be read", f"found: {problem.strerror}. Name another")
    except _DAMAGED:
        _refuse(
            file,
            "a whole file that `elevatorlab image export` has written",
            "it is cut off, damaged, or something else. Copy it again",
        )


def _refuse(file: Path, expected: str, found: str) -> NoReturn:
    raise ElevatorLabError(f"image {file}: expected {expected}; {found}")


def _described(archive: tarfile.TarFile, file: Path) -> Description:
    """Read an archive's description; refuse one that is inconsistent or has another recipe."""
    member = archive.next()
    if member is None or member.name != DESCRIPTION or member.size > DESCRIPTION_LIMIT_BYTES:
        _refuse(file, "a file that `elevatorlab image export` has written", "it is another archive")
    content = json.loads(_opened(archive, member).read())
    found = content.get("format") if isinstance(content, Mapping) else None
    if found != FORMAT:
        _refuse(file, f"format {FORMAT}", f"found {found!r}. Take the version that made it")
    described = checked(Description, content, f"image {file}: {DESCRIPTION}")
    listed = [described.files[name].sha256 for name in image.FILES if name in described.files]
    if (
        tuple(described.files) != FILES
        or list(described.parts.get("files", ())) != listed
        or image.digest_of(described.parts) != described.digest
    ):
        _refuse(file, "files that give its digest", f"{DESCRIPTION} contradicts itself")
    if described.recipe != image.recipe_digest():
        _refuse(
            file,
            f"an image of this version's recipe ({image.recipe_digest()[:12]})",
            f"found {described.recipe[:12]}. Check out the version that its results name",
        )
    return described


def _opened(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(member)
    if content is None:
        raise tarfile.TarError("no plain file")
    return content


def _unpack(archive: tarfile.TarFile, described: Description, folder: Path, file: Path) -> None:
    """Write an archive's files into an empty folder, and compare each with its description."""
    for name, entry in described.files.items():
        member = archive.next()
        if member is None or (member.name, member.size) != (name, entry.size_bytes):
            _refuse(file, f"{name} of {entry.size_bytes} bytes", "it is missing. Copy it again")
        if _copy(_opened(archive, member), folder / name) != entry.sha256:
            _refuse(file, f"{name} as it was exported", "its SHA-256 is another. Copy it again")


def _copy(content: IO[bytes], target: Path) -> str:
    """Write a file, with holes in place of zero bytes; return the SHA-256 of its content."""
    digest = hashlib.sha256()
    with open(target, "xb") as out:
        while chunk := content.read(_CHUNK_BYTES):
            digest.update(chunk)
            if chunk.strip(b"\0"):
                out.write(chunk)
            else:
                out.seek(len(chunk), os.SEEK_CUR)
        out.truncate()
    return digest.hexdigest()


def differing(described: Description) -> list[str]:
    """Return the names of the parts by which the image digest here differs from the archive's.

    `described`: Description of the archive whose image is in use here.
    """
    here = image.digest_parts()
    names = dict.fromkeys([*described.parts, *here])
    return [name for name in names if list(described.parts.get(name, ())) != here.get(name)]
