"""The emulator in one file: the program, its loader and its libraries.

On another Linux machine with the same kind of processor, it uses no file of that machine, and gives
the same bits. With another kind of processor, the machine compiles an emulator of its own.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO

from ... import cache
from ...errors import ElevatorLabError, NotReady
from . import our_qemu

LOADER = re.compile(r"ld-linux.*\.so\.\d+")

PROGRAM, LIBRARIES = "program", "libraries"

#: Runs the program with the loader and the libraries beside it.
WRAPPER = f"""#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here"/{LIBRARIES}/ld-linux*.so.* --library-path "$here/{LIBRARIES}" "$here/{PROGRAM}" "$@"
"""


def write(out: Path) -> None:
    """Write the emulator in the user's cache to a tar archive.

    The same files give the same bytes.
    """
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as archive:
        _add(archive, our_qemu.NAME, io.BytesIO(WRAPPER.encode()), len(WRAPPER.encode()))
        for name, path in sorted(members().items()):
            with open(path, "rb") as content:
                _add(archive, name, content, path.stat().st_size)


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes], size_bytes: int) -> None:
    about = tarfile.TarInfo(name)
    about.size, about.mode = size_bytes, 0o755
    archive.addfile(about, content)


def members() -> dict[str, Path]:
    """Return the emulator's files besides the wrapper, by their names in the archive."""
    kept = our_qemu.ready()
    if (kept / PROGRAM).is_file():  # it was unpacked from such an archive
        return {
            str(file.relative_to(kept)): file
            for file in kept.rglob("*")
            if file.is_file() and file.name not in (our_qemu.NAME, cache.INDEX)
        }
    program = kept / our_qemu.NAME
    libraries = {f"{LIBRARIES}/{file.name}": file for file in _libraries(program)}
    return {PROGRAM: program, our_qemu.VERSION: kept / our_qemu.VERSION, **libraries}


def _libraries(program: Path) -> list[Path]:
    """Return a program's loader, and the libraries that the loader lists."""
    shown = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    found = [Path(path) for path in re.findall(r"(/\S+) \(0x[0-9a-f]+\)", shown)]
    if not any(LOADER.fullmatch(path.name) for path in found):
        raise NotReady(
            f"image: expected of {program} a program with a loader and libraries; ldd found none",
            our_qemu.BUILD_IT,
        )
    return found


def unpack(file: Path) -> None:
    """Put the emulator of an archive that `write` made into the user's cache, unless it has one.

    If the archive's emulator is for another kind of processor, compile one.
    """

    def make(folder: Path) -> None:
        with tarfile.open(file) as archive:
            for one in archive:
                _take(archive, one, folder)

    if _is_for_another_processor(file):
        our_qemu.build()
    else:
        cache.obtain(our_qemu.KIND, our_qemu.digest(), make)


def _is_for_another_processor(file: Path) -> bool:
    """Tell whether an archive's program is for another kind of processor than this Python."""
    with tarfile.open(file) as archive, open(sys.executable, "rb") as here:
        files = (one for one in archive if one.name == PROGRAM and one.isfile())
        contents = map(archive.extractfile, files)
        program = next(contents, None) or io.BytesIO()
        return _processor(program) not in ("", _processor(here))


def _processor(program: IO[bytes]) -> str:
    """Return what an ELF header says of the processor; "" for a file that is no program."""
    header = program.read(20)
    return header[18:].hex() if header.startswith(b"\x7fELF") else ""


def _take(archive: tarfile.TarFile, one: tarfile.TarInfo, folder: Path) -> None:
    name, content = PurePosixPath(one.name), archive.extractfile(one) if one.isfile() else None
    if content is None or name.is_absolute() or ".." in name.parts:
        raise ElevatorLabError(f"emulator: expected plain files alone; found {one.name}")
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "xb") as out:
        shutil.copyfileobj(content, out)
    target.chmod(0o755)
