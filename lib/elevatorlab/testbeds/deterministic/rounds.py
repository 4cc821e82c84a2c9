"""The emulator whose processors work side by side: built once, kept in the user's cache.

It is QEMU with one change (environments/emulator), and optional: nothing else needs it.
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

#: What it is made of: the change, the pinned and hashed sources, and how they are built.
INPUTS = ("parallel-rounds.patch", "injected-interrupt.patch", "build.sh", "meson.txt")

KIND = "emulator"
DISK_MIB = 1000

#: More vCPUs than that, and a guest second takes minutes.
MOST_CPUS = 32

#: In long slots the machine boots several times as quickly.
BOOT_SLOT = 20_000

BUILD_IT = "Build it, once: make multicore (10 minutes on two idle cores)"


@dataclass(frozen=True)
class ParallelRounds(qemu.Plain):
    """QEMU with processors that work in rounds, each in slots of the same length.

    Attributes
    ----------
    cpus : int
    slot : int
        Instructions of each processor in a round, at most: nanoseconds that one processor's work
        may come early or late for another.
    transfer : int
        Instructions that an atomic operation takes longer where another processor had its cache
        line.
    """

    cpus: int
    slot: int = 1000
    transfer: int = 0

    cpu = qemu.CPU
    idle_time_slips = False

    @property
    def boots_as(self) -> ParallelRounds:
        """The same processors in long slots: nothing is measured before a trial begins."""
        return replace(self, slot=BOOT_SLOT, transfer=0)

    @property
    def binary(self) -> str:
        """The program in the user's cache, or what it would be called."""
        return str(kept() / qemu.NAME)

    @property
    def data(self) -> list[str]:
        """The firmware of Debian's QEMU."""
        folders = dict.fromkeys(str(file.parent) for file in qemu.firmware())
        return [word for folder in folders for word in ("-L", folder)]

    @property
    def processors(self) -> list[str]:
        """As many as there are at all: none comes later."""
        return ["-smp", str(self.cpus)]

    def version(self) -> str:
        """Return the program's own word, or raise `NotReady`."""
        kept_version = (ready() / "version").read_text().strip()
        return f"{kept_version}, parallel rounds {digest()[:12]}, booted in slots of {BOOT_SLOT}"

    def counted_time(self, log: Path) -> list[str]:
        """Return the options that count, in rounds.

        Rounds exclude QEMU's other threads by themselves, so there is no recording. The seed is
        that of whatever QEMU draws for the guest, were there a device or instruction for it.
        """
        rounds = f"slot={self.slot},transfer={self.transfer}"
        return ["-icount", f"shift=0,align=off,sleep=off,{rounds}", "-seed", "1"]


def digest() -> str:
    """Return the SHA-256 of all that decides the emulator."""
    found = hashlib.sha256()
    for name in INPUTS:
        found.update(f"{name}\0".encode() + (RECIPE / name).read_bytes())
    return found.hexdigest()


def kept() -> Path:
    """Return the folder of the emulator in the user's cache, whether or not it is there."""
    return cache.ROOT / KIND / digest()


def ready() -> Path:
    """Return the folder of the emulator.

    Raises
    ------
    NotReady
        When it was never built with today's recipe, or is damaged.
    """
    if damage := cache.Entry(KIND, digest(), kept()).damage():
        found = damage if kept().exists() else "it is not built"
        raise NotReady(f"the emulator with processors in parallel: {found}", BUILD_IT)
    return kept()


def build(source: Path | None = None) -> bool:
    """Build the emulator where the user's cache has none.

    What a killed build has compiled is kept, too, and the next one goes on from there.

    Parameters
    ----------
    source : pathlib.Path, optional
        The pinned archive of QEMU's sources; by default it comes from where this machine takes
        its Debian packages.

    Returns
    -------
    bool
        Whether it was built now.

    Raises
    ------
    NotReady
        When the emulator cannot be built.
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
