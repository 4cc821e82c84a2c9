"""The emulator whose processors work side by side: built once, kept in the user's cache.

It is QEMU with two changes (environments/emulator). Only the multicore and the nested testbed need
it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from ... import cache
from ...errors import NotReady
from ...paths import ENVIRONMENTS, make_folder
from . import qemu

RECIPE = ENVIRONMENTS / "emulator"

#: Files that decide the emulator: two changes, and the build of QEMU's pinned sources.
INPUTS = ("parallel-rounds.patch", "injected-interrupt.patch", "build.sh", "meson.txt")

KIND = "emulator"
DISK_MIB = 1000

#: With more processors than this, a guest second takes minutes.
MOST_CPUS = 32

#: Instructions per slot while the machine boots. In long slots, it boots several times faster.
BOOT_SLOT = 20_000

BUILD_IT = "Build it, once: make multicore (10 minutes on two idle cores)"


@dataclass(frozen=True)
class ParallelRounds(qemu.Plain):
    """QEMU with processors that work in rounds, each in slots of the same length."""

    #: Number of processors.
    cpus: int
    #: Largest number of instructions that each processor executes in a round. One processor's work
    #: may reach another too early or too late, by up to this number of nanoseconds.
    slot: int = 1000
    #: Extra cost, in instructions, of an atomic operation on a cache line that another processor
    #: used last.
    transfer: int = 0

    cpu = qemu.CPU
    idle_time_slips = False

    @property
    def boots_as(self) -> ParallelRounds:
        """The same processors with longer slots, which boot faster; a boot measures nothing."""
        return replace(self, slot=BOOT_SLOT, transfer=0)

    @property
    def binary(self) -> str:
        """Path of the program in the user's cache, whether or not it is there."""
        return str(kept() / qemu.NAME)

    @property
    def data(self) -> list[str]:
        """The options that name the folders of the firmware of Debian's QEMU."""
        folders = dict.fromkeys(str(file.parent) for file in qemu.firmware())
        return [word for folder in folders for word in ("-L", folder)]

    @property
    def processors(self) -> list[str]:
        """The option for the number of processors, all of which are there from the start."""
        return ["-smp", str(self.cpus)]

    def version(self) -> str:
        """Return the emulator's version and digest, and the slot in which it boots."""
        kept_version = (ready() / "version").read_text().strip()
        return f"{kept_version}, parallel rounds {digest()[:12]}, booted in slots of {BOOT_SLOT}"

    def counted_time(self, log: Path) -> list[str]:
        """Return the options that count instructions, in rounds.

        Rounds exclude QEMU's other threads by themselves, so there is no recording. The fixed seed
        is for any random number that QEMU might give to the guest.
        """
        rounds = f"slot={self.slot},transfer={self.transfer}"
        return ["-icount", f"shift=0,align=off,sleep=off,{rounds}", "-seed", "1"]


def digest() -> str:
    """Return the SHA-256 over the names and contents of `INPUTS`."""
    found = hashlib.sha256()
    for name in INPUTS:
        found.update(f"{name}\0".encode() + (RECIPE / name).read_bytes())
    return found.hexdigest()


def kept() -> Path:
    """Return the folder of the emulator in the user's cache, whether or not it is there."""
    return cache.ROOT / KIND / digest()


def ready() -> Path:
    """Return the folder of the emulator."""
    if damage := cache.CacheEntry(KIND, digest(), kept()).damage():
        found = damage if kept().exists() else "it is not built"
        raise NotReady(f"the emulator with processors in parallel: {found}", BUILD_IT)
    return kept()


def build(source: Path | None = None) -> bool:
    """Build the emulator if the user's cache lacks it.

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
