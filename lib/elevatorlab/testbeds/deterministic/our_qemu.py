"""The emulator of the deterministic machine: built once, kept in the user's cache.

It is QEMU with the changes in environments/emulator. Its digest names the sources, the changes and
the configuration, because the emulated machine computes the same whichever compiler made it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from ... import cache
from ...errors import NotReady
from ...paths import ENVIRONMENTS, command, make_folder

RECIPE = ENVIRONMENTS / "emulator"

NAME = "qemu-system-x86_64"
#: File of the emulator's folder with QEMU's version line.
VERSION = "version"
GUEST_PROCESSOR = "x86_64"
#: Machines with other processors may share a home folder, and so the cache.
KIND = "emulator" if platform.machine() == GUEST_PROCESSOR else f"emulator-{platform.machine()}"
DISK_MIB = 1000

#: The environment variable that names another QEMU, which is then used in place of ours.
OTHER = "ELEVATORLAB_QEMU"

BUILD_IT = f"Build it, once: {command('image build')} (4 minutes on two idle cores)"


def digest() -> str:
    """Return the SHA-256 over the configuration and the changes, by name and content."""
    found = hashlib.sha256()
    for file in (RECIPE / "configuration", *sorted(RECIPE.glob("*.patch"))):
        found.update(f"{file.name}\0".encode() + file.read_bytes())
    return found.hexdigest()


def kept() -> Path:
    """Return the folder of the emulator in the user's cache, whether or not it is there."""
    return cache.ROOT / KIND / digest()


def ready() -> Path:
    """Return the folder of the emulator."""
    entry = cache.CacheEntry(KIND, digest(), kept())
    if damage := entry.damage():
        found = damage if kept().exists() else "it is not built"
        remedy = f"Unset {OTHER}" if another() and not kept().exists() else BUILD_IT
        raise NotReady(f"the emulator: {found}", remedy)
    entry.note_use()
    return entry.folder


def version() -> str:
    """Return the version line of the emulator's QEMU."""
    return (ready() / VERSION).read_text().strip()


def compiler() -> str:
    """Return what compiled the emulator, such as ``GCC 14.2.0``, by its ELF section .comment."""
    # Clang's programs also name GCC, which compiled the files that start them.
    written = (ready() / NAME).read_bytes()
    for name, mark in (("clang", rb"clang version ([\d.]+)"), ("GCC", rb"GCC: \([^)]*\) ([\d.]+)")):
        if found := re.search(mark, written):
            return f"{name} {found[1].decode()}"
    return "another compiler"


def build(source: Path | None = None) -> bool:
    """Build the emulator if the user's cache lacks it; return whether it was built.

    The next build goes on from what a killed build has compiled.

    `source`: The pinned archive of QEMU's sources; by default it is downloaded from the server of
    this machine's Debian packages.
    """
    built = False

    def make(folder: Path) -> None:
        nonlocal built
        built = True
        _compile(folder, source)

    cache.obtain(KIND, digest(), make)
    return built


def _compile(folder: Path, source: Path | None) -> None:
    work = cache.work_folder(KIND, digest())
    make_folder(work, "cache", cache.REMEDY)
    free_mib = os.statvfs(work).f_bavail * os.statvfs(work).f_frsize >> 20
    if free_mib < DISK_MIB:
        raise NotReady(
            f"building the emulator needs {DISK_MIB} MiB of disk space in {cache.ROOT}; found "
            f"{free_mib} MiB. Free some, or set ELEVATORLAB_CACHE to another folder"
        )
    argv = [RECIPE / "build.sh", folder, work, *filter(None, [source])]
    if subprocess.run(argv, stdin=subprocess.DEVNULL).returncode:
        raise NotReady("the emulator could not be built; the lines above say why")


def another() -> str | None:
    """Return the QEMU that the user names in place of ours; None where none is named."""
    return os.environ.get(OTHER) or None


@functools.cache
def version_of_another(program: str) -> str:
    """Return the version line of another QEMU, the distribution's revision included."""
    or_unset = f", or unset {OTHER}" if another() else ""
    if shutil.which(program) is None:
        raise NotReady(
            f"the command {program} is missing; expected QEMU 7.2 or newer",
            f"Install it (Debian and Ubuntu: qemu-system-x86){or_unset}",
        )
    line = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    line = line.splitlines()[0]
    found = re.search(r"version (\d+)\.(\d+)", line)
    if found and (int(found[1]), int(found[2])) < (7, 2):
        raise NotReady(
            f"expected QEMU 7.2 or newer; found {line!r}", f"Install a newer one{or_unset}"
        )
    return line
