"""What the machine needs for a virtual machine inside: QEMU, and the programs that boot both.

The image's root lacks QEMU and its libraries. They are in a file system of their own, which is
mounted over the root.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import agent_archive
from . import initramfs, qemu
from .image import NESTED, NESTED_ROOT

#: Programs that boot the machine inside.
PROGRAMS = ("init", "inner.py")

#: Virtio-serial ports: one to say that the machine is ready, one for the agent, four for workloads.
PORTS = 6


@dataclass(frozen=True)
class Nested(qemu.Emulator):
    """The emulator with a processor that has SVM, and maybe a machine inside.

    Debian's own QEMU delivers some interrupts twice to a machine inside, which then hangs
    (the third change in environments/emulator).
    """

    processor: str = "Opteron_G3"
    #: Memory of the machine inside; 0 if there is no such machine.
    inner_mib: int = 0

    slots = 3

    @property
    def cpu(self) -> str:
        """The processor model, with SVM and nested pages."""
        return f"{self.processor},+svm,+npt"

    def initramfs(self, image: Path) -> Path:
        """Return the file of the initramfs: the image's, and the programs of this machine."""
        return image / "nested.cpio"

    def more_memory(self, image: Path, sizes_mib: Mapping[str, int]) -> list[str]:
        """Return the options for the memory with QEMU's file system.

        The kernel numbers such memories in the order of a hash of their names. With the name
        nvdimm3, this one comes last.
        """
        piece = qemu.memory(
            "nested", image / NESTED_ROOT, sizes_mib[NESTED_ROOT], "share=on,readonly=on"
        )
        return [*piece, "-device", "nvdimm,id=nvdimm3,slot=2,memdev=nested,unarmed=on"]

    def digest_parts(self) -> dict[str, list[str]]:
        """Return the digest of the inner machine's boot programs, and what that machine is."""
        programs = hashlib.sha256(_archive()).hexdigest()
        return {"virtual machines": [programs, json.dumps(_machine(0), sort_keys=True)]}

    def inputs(self) -> dict[str, bytes]:
        """Return the files that describe and boot the machine inside; empty if `inner_mib` is 0."""
        if not self.inner_mib:
            return {}
        return {
            "machine.json": json.dumps(_machine(self.inner_mib), sort_keys=True).encode(),
            "inner.cpio": _archive(),
        }

    def template_name(self, memory_mib: int) -> str:
        """Return the memory of both machines in MiB, such as ``384+512``."""
        return f"{memory_mib}+{self.inner_mib}"


def _machine(memory_mib: int) -> dict[str, int | str]:
    """Return the description of the machine inside that environments/nested/outer.py reads."""
    return {"memory_mib": memory_mib, "ports": PORTS, "kernel_options": qemu.KERNEL_OPTIONS}


def _archive() -> bytes:
    """Return the archive that the inner kernel unpacks after the image's own initramfs."""
    files: dict[str, tuple[int, bytes | None]] = {
        name: (0o755 if name == "init" else 0o644, (NESTED / name).read_bytes())
        for name in PROGRAMS
    }
    return initramfs.archive({**files, "agent.pyz": (0o644, agent_archive.agent_archive())})
