"""What the machine needs for a virtual machine inside: QEMU, and the programs that boot both.

The image lacks QEMU and its libraries. They are in a file system of their own, which is mounted
over the image's root. So the image stays small and keeps its digest.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ... import cache
from ...errors import NotReady
from ...paths import ENVIRONMENTS
from .. import agent_archive
from . import image, initramfs, qemu
from .rounds import ParallelRounds

RECIPE = ENVIRONMENTS / "nested"
KIND = "nested"
FILES = ("nested.ext2", "packages.tsv")
INITRAMFS = "initramfs.cpio"

#: Programs that boot the outer machine and the inner one, in the initramfs of each.
OUTER, INNER = ("init", "outer.py"), ("init", "inner.py")

#: Virtio-serial ports: one to say that the machine is ready, one for the agent, four for workloads.
PORTS = 6

MISSING = "QEMU for virtual machines inside is missing"

#: Remedy for any missing part. Most of the time is for the emulator.
BUILD_IT = "Build it, once: make virtual-machines (11 minutes on two idle cores)"


@dataclass(frozen=True)
class Nested(ParallelRounds):
    """The emulator that we build, with a processor that has SVM, and maybe a machine inside.

    Debian's own QEMU delivers some interrupts twice to a machine inside, which then hangs
    (environments/emulator/injected-interrupt.patch).
    """

    #: cpus, slot, transfer: See `ParallelRounds`. With one processor, a timer is late by less than
    #: a slot.
    cpus: int = 1
    #: QEMU's name of the processor model.
    processor: str = "Opteron_G3"
    #: Memory of the machine inside; 0 if there is no such machine.
    inner_mib: int = 0

    slots = 3

    @property
    def cpu(self) -> str:  # type: ignore[override]
        """The processor model, with SVM and nested pages."""
        return f"{self.processor},+svm,+npt"

    def version(self) -> str:
        """Return the emulator's version."""
        try:
            return super().version()
        except NotReady as problem:
            raise NotReady(problem.lack, BUILD_IT) from None

    def initramfs(self, image: Path) -> Path:
        """Return the file of the initramfs: the image's, and the programs of this machine."""
        return image / KIND / INITRAMFS

    def more_memory(self, image: Path) -> list[str]:
        """Return the options for the memory with QEMU's file system.

        The kernel numbers such memories in the order of a hash of their names. With the name
        nvdimm3, this one comes last.
        """
        if not (folder() / FILES[0]).exists():
            raise NotReady(MISSING, BUILD_IT)
        size_mib = (folder() / FILES[0]).stat().st_size >> 20
        piece = qemu.memory(KIND, image / KIND / FILES[0], size_mib, "share=on,readonly=on")
        return [*piece, "-device", f"nvdimm,id=nvdimm3,slot=2,memdev={KIND},unarmed=on"]

    def digest_parts(self) -> dict[str, list[str]]:
        """Return the digests of QEMU's file system and of both machines' boot programs.

        The description of the inner machine belongs to them, too.
        """
        found = ready()
        return {
            "virtual machines": [
                *(cache.sha256(found / name) for name in (FILES[0], INITRAMFS)),
                hashlib.sha256(_archive(INNER, agent_archive.agent_archive())).hexdigest(),
                json.dumps(_machine(0), sort_keys=True),
            ]
        }

    def inputs(self) -> dict[str, bytes]:
        """Return the files that describe and boot the machine inside; empty if `inner_mib` is 0."""
        if not self.inner_mib:
            return {}
        return {
            "machine.json": json.dumps(_machine(self.inner_mib), sort_keys=True).encode(),
            "inner.cpio": _archive(INNER, agent_archive.agent_archive()),
        }

    def template_name(self, memory_mib: int) -> str:
        """Return the memory of both machines in MiB, such as ``384+512``."""
        return f"{memory_mib}+{self.inner_mib}"


def _machine(memory_mib: int) -> dict[str, int | str]:
    """Return the description of the machine inside that environments/nested/outer.py reads."""
    return {"memory_mib": memory_mib, "ports": PORTS, "kernel_options": qemu.KERNEL_OPTIONS}


def _archive(names: tuple[str, ...], agent: bytes | None = None) -> bytes:
    """Return the archive that a kernel unpacks after the image's own initramfs."""
    files: dict[str, tuple[int, bytes | None]] = {
        name: (0o755 if name == "init" else 0o644, (RECIPE / name).read_bytes()) for name in names
    }
    if agent:
        files["agent.pyz"] = (0o644, agent)
    return initramfs.archive(files)


def folder() -> Path:
    """Return the folder of QEMU's file system, which is in the image's folder."""
    return image.FOLDER / KIND


def ready() -> Path:
    """Return the folder of QEMU's file system, after its initramfs is brought up to date."""
    described = folder() / "made_of"
    if not all((folder() / name).exists() for name in FILES) or not described.exists():
        raise NotReady(MISSING, BUILD_IT)
    if described.read_text() != made_of():
        raise NotReady("QEMU for virtual machines inside belongs to another image", BUILD_IT)
    wanted = (image.FOLDER / INITRAMFS).read_bytes() + _archive(OUTER)
    if not (folder() / INITRAMFS).exists() or (folder() / INITRAMFS).read_bytes() != wanted:
        part = folder() / f"{INITRAMFS}.{os.getpid()}"
        part.write_bytes(wanted)
        part.rename(folder() / INITRAMFS)
    return folder()


def made_of() -> str:
    """Return the SHA-256 over what QEMU's file system is made from: the recipe and the image."""
    digest = hashlib.sha256()
    for file in (RECIPE / "build.sh", ENVIRONMENTS / "debian-sources.sh"):
        digest.update(file.read_bytes())
    digest.update(json.dumps(image.current()["sha256"], sort_keys=True).encode())
    return digest.hexdigest()


def build() -> bool:
    """Build QEMU's file system if it is missing or outdated; return whether it was built."""
    with image.lock():
        try:
            ready()
            return False
        except NotReady:
            pass
        entry = cache.obtain(KIND, made_of(), _make)
        shutil.rmtree(folder(), ignore_errors=True)
        cache.take_out(entry, folder())
        (folder() / "made_of").write_text(made_of())
        image.digest.cache_clear()
        ready()
        return True


def _make(place: Path) -> None:
    """Build the file system in an empty folder."""
    argv = [RECIPE / "build.sh", image.FOLDER, place]
    if subprocess.run(argv, stdin=subprocess.DEVNULL).returncode:
        raise NotReady("QEMU for virtual machines could not be built; the lines above say why")


@functools.cache
def packages() -> dict[str, str]:
    """Return the versions of the packages in QEMU's file system, by name."""
    lines = (ready() / "packages.tsv").read_text().splitlines()
    return dict(sorted(line.split("\t") for line in lines))
