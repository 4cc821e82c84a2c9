"""The QEMU of this machine in one file: program, loader, libraries and firmware.

Unpacked on another Linux machine, this QEMU uses no file of that machine, and gives the same bits.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO

from ... import cache
from ...errors import ElevatorLabError, NotReady
from . import qemu

KIND = "qemu"

PROGRAM = "program"
LOADER = re.compile(r"ld-linux.*\.so\.\d+")

#: Firmware file that the image digest leaves out: the machine loads it, and never runs it.
UNUSED_ROM = "kvmvapic.bin"

#: Plug-ins of QEMU that the machine needs: the one that translates its processor's instructions.
PLUGINS = ("accel-tcg-x86_64.so",)

WRAPPER = f"""#!/bin/sh
# The QEMU that an image was exported with. It takes nothing from the machine that it runs on.
here=$(dirname "$(readlink -f "$0")")
export QEMU_MODULE_DIR="$here/plug-ins"
set -- --library-path "$here/libraries" "$here/{PROGRAM}" -L "$here/firmware" "$@"
exec "$here"/libraries/ld-linux*.so.* "$@"
"""


def write(out: Path) -> None:
    """Write this machine's QEMU to a tar archive.

    The same files of QEMU give the same bytes.
    """
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as archive:
        _add(archive, qemu.NAME, io.BytesIO(WRAPPER.encode()), len(WRAPPER.encode()))
        for name, path in sorted(members().items()):
            with open(path, "rb") as content:
                _add(archive, name, content, path.stat().st_size)


def _add(archive: tarfile.TarFile, name: str, content: IO[bytes], size_bytes: int) -> None:
    about = tarfile.TarInfo(name)
    about.size, about.mode = size_bytes, 0o755
    archive.addfile(about, content)


def members() -> dict[str, Path]:
    """Return the files of this machine's QEMU, by their names in the archive."""
    found = shutil.which(qemu.BINARY)
    if found is None:
        raise NotReady(f"the command {qemu.BINARY} is missing; expected QEMU", "`make setup`")
    program = Path(found).resolve()
    kept = program.parent
    if (kept / PROGRAM).is_file():  # this QEMU was unpacked from such an archive
        return {
            str(file.relative_to(kept)): file
            for file in kept.rglob("*")
            if file.is_file() and file.name not in (qemu.NAME, cache.INDEX)
        }
    firmware = qemu.firmware()
    firmware += [file.with_name(UNUSED_ROM) for file in firmware[-1:]]
    files = {PROGRAM: program, **{f"firmware/{file.name}": file for file in firmware}}
    files |= {f"libraries/{file.name}": file for file in _libraries(program)}
    plugins = (program.parent.parent / "lib" / "x86_64-linux-gnu" / "qemu" / one for one in PLUGINS)
    return files | {f"plug-ins/{file.name}": file for file in plugins if file.is_file()}


def _libraries(program: Path) -> list[Path]:
    """Return a program's loader, and the libraries that the loader lists."""
    shown = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    found = [Path(path) for path in re.findall(r"(/\S+) \(0x[0-9a-f]+\)", shown)]
    if not any(LOADER.fullmatch(path.name) for path in found):
        raise NotReady(
            f"image: expected of {program} a program with a loader and libraries; ldd found none",
            "Take QEMU from the distribution's packages",
        )
    return found


def unpack(file: Path) -> Path:
    """Unpack an archive that `write` made into the user's cache.

    Returns: The program to run instead of the installed QEMU.
    """

    def make(folder: Path) -> None:
        with tarfile.open(file) as archive:
            for one in archive:
                _take(archive, one, folder)

    return cache.obtain(KIND, cache.sha256(file), make) / qemu.NAME


def _take(archive: tarfile.TarFile, one: tarfile.TarInfo, folder: Path) -> None:
    name, content = PurePosixPath(one.name), archive.extractfile(one) if one.isfile() else None
    if content is None or name.is_absolute() or ".." in name.parts:
        raise ElevatorLabError(f"emulator: expected plain files alone; found {one.name}")
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "xb") as out:
        shutil.copyfileobj(content, out)
    target.chmod(0o755)
