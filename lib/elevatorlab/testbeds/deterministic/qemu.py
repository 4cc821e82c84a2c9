"""The machine: QEMU's command line, and why each option is there."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from ...errors import NotReady

NAME = "qemu-system-x86_64"

#: The environment variable that names another QEMU than the one on the path.
OTHER = "ELEVATORLAB_QEMU"

#: The program that is run.
BINARY = os.environ.get(OTHER) or NAME

#: Status with which the guest ends QEMU when a result is in the exchange (2 * 0x10 + 1).
FINISHED = 33

#: Processor model. A named model stays the same, unlike "max". On this model, the kernel copies
#: memory by words (rep movsq), eight bytes per instruction. On newer models, it copies by single
#: bytes (ERMS), and each byte counts as an instruction.
CPU = "Nehalem-v1"

EXCHANGE_MIB = 128

FIRMWARE = ("bios-256k.bin", "linuxboot_dma.bin")

KERNEL_OPTIONS = " ".join(
    [
        # no address or seed is random, or comes from the host
        "nokaslr norandmaps random.trust_cpu=off random.trust_bootloader=off",
        # the time-stamp counter is the counted instructions: trust it
        "tsc=reliable no_timer_check nowatchdog",
        # cheaper to emulate; zeroing pages would be charged byte by byte
        "mitigations=off cryptomgr.notests init_on_alloc=0",
        # a panic ends the machine, and nothing is printed during a measurement
        "panic=-1 quiet loglevel=3",
    ]
)


class Emulator(Protocol):
    """A QEMU, and how the processors of its machine share time."""

    #: Whether QEMU may count idle time while the guest stops the machine, although the guest is not
    #: idle (`template.take_back_idle_time`).
    idle_time_slips: bool
    #: Number of memories besides the machine's main memory: root, exchange, and any others.
    slots: int

    def __hash__(self) -> int:
        """Return a hash, so that an emulator can be the key of a cache."""

    @property
    def cpu(self) -> str:
        """The processor's model, as QEMU calls it."""

    @property
    def boots_as(self) -> Emulator:
        """The emulator that boots the template that this one continues: itself, or a faster one."""

    @property
    def binary(self) -> str:
        """The program that is run."""

    @property
    def data(self) -> list[str]:
        """The options that name the firmware's folders; empty if the emulator finds them itself."""

    @property
    def cpus(self) -> int:
        """How many processors there are."""

    @property
    def processors(self) -> list[str]:
        """The option for the number of processors."""

    def version(self) -> str:
        """Return the program's version for the image digest, or raise `NotReady`."""

    def digest_parts(self) -> dict[str, list[str]]:
        """Return further parts of the image digest, in the form of `image.digest_parts`."""

    def initramfs(self, image: Path) -> Path:
        """Return the file of the machine's initramfs; `image` is the image's folder."""

    def more_memory(self, image: Path) -> list[str]:
        """Return the options that add memories besides root and exchange."""

    def inputs(self) -> dict[str, bytes]:
        """Return the files, besides the agent's archive, that the machine gets before it boots.

        The result has the content of each file by name.
        """

    def template_name(self, memory_mib: int) -> str:
        """Return the beginning of a template's name."""

    def counted_time(self, log: Path) -> list[str]:
        """Return the options that make guest time the number of executed instructions.

        `log`: A new file for QEMU's recording, for an emulator that needs one.
        """


class Plain:
    """What most emulators share: a machine with the image's root, and no machine inside."""

    slots = 2

    def digest_parts(self) -> dict[str, list[str]]:
        """Return no further parts."""
        return {}

    def initramfs(self, image: Path) -> Path:
        """Return the image's initramfs."""
        return image / "initramfs.cpio"

    def more_memory(self, image: Path) -> list[str]:
        """Return no further options."""
        return []

    def inputs(self) -> dict[str, bytes]:
        """Return no further files."""
        return {}

    def template_name(self, memory_mib: int) -> str:
        """Return the memory in MiB."""
        return str(memory_mib)


@dataclass(frozen=True)
class Stock(Plain):
    """Debian's own QEMU, with one processor."""

    cpu: str = CPU

    idle_time_slips = True
    binary = BINARY
    data: ClassVar[list[str]] = []
    cpus: ClassVar[int] = 1
    processors: ClassVar[list[str]] = ["-smp", "1"]

    @property
    def boots_as(self) -> Emulator:
        """The emulator itself."""
        return self

    def version(self) -> str:
        """Return QEMU's own version line."""
        return version()

    def counted_time(self, log: Path) -> list[str]:
        """Return the option that counts instructions.

        Recording makes QEMU's threads exclude each other; without it, idle time slips by a few
        nanoseconds now and then. The log itself is not used.
        """
        return ["-icount", f"shift=0,align=off,sleep=off,rr=record,rrfile={log}"]


STOCK: Emulator = Stock()


def options(memory_mib: int, emulator: Emulator = STOCK) -> list[str]:
    """Return the options that make the machine, without any path of the host.

    They belong to the image digest, since each option changes the machine.
    """
    return [
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        *("-display", "none"),
        *("-net", "none"),
        # The saved state needs no description of itself: the same command line reads it back.
        *("-machine", "pc-i440fx-7.2,nvdimm=on,hpet=off,usb=off,suppress-vmdesc=on"),
        *("-global", "migration.send-configuration=off"),
        *("-cpu", emulator.cpu),
        *emulator.processors,
        *("-m", f"{memory_mib}M,slots={emulator.slots},maxmem={memory_mib + 8192}M"),
        *("-accel", "tcg,thread=single"),
        *("-rtc", "base=2020-01-01T00:00:00,clock=vm"),
        # The guest stops the machine (pvpanic) and ends it (isa-debug-exit) by itself.
        *("-device", "pvpanic", "-action", "panic=pause"),
        *("-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"),
        *("-append", KERNEL_OPTIONS),
    ]


def memory(name: str, file: Path, size_mib: int, mode: str) -> list[str]:
    """Return the option that makes `file` a piece of the machine's memory."""
    return [
        "-object",
        f"memory-backend-file,id={name},size={size_mib}M,mem-path={file},{mode}",
    ]


def command(
    image: Path,
    root_mib: int,
    memory_mib: int,
    ram: Path,
    ram_mode: str,
    exchange: Path,
    log: Path,
    monitor: Path,
    emulator: Emulator = STOCK,
) -> list[str]:
    """Return the whole command line of one machine.

    `image`: Folder with vmlinuz, initramfs.cpio and root.ext2. `root_mib`, `memory_mib`: Size of
    root.ext2, and of the machine's memory. `ram`, `exchange`: Files that hold the machine's memory
    and the exchange. `ram_mode`: ``share=on`` to write the memory file, ``share=off`` to start from
    it, copy on write. `log`, `monitor`: QEMU's recording, and the socket of its monitor.
    """
    return [
        emulator.binary,
        *options(memory_mib, emulator),
        *emulator.counted_time(log),
        *("-machine", "memory-backend=ram"),
        *memory("ram", ram, memory_mib, ram_mode),
        *memory("root", image / "root.ext2", root_mib, "share=on,readonly=on"),
        *("-device", "nvdimm,id=nvdimm0,slot=0,memdev=root,unarmed=on"),
        *memory("exchange", exchange, EXCHANGE_MIB, "share=on"),
        *("-device", "nvdimm,id=nvdimm1,slot=1,memdev=exchange"),
        *emulator.more_memory(image),
        *("-kernel", str(image / "vmlinuz")),
        *("-initrd", str(emulator.initramfs(image))),
        *("-qmp", f"unix:{monitor},server=on,wait=off"),
    ]


def firmware() -> list[Path]:
    """Return the files with which QEMU boots the machine: the BIOS, and the loader of kernels."""
    shown = subprocess.run([BINARY, "-L", "help"], capture_output=True, text=True).stdout
    folders = [Path(line) for line in shown.splitlines()]
    found = []
    for name in FIRMWARE:
        places = [folder / name for folder in folders if (folder / name).exists()]
        if not places:
            raise NotReady(
                f"QEMU's file {name} is missing; expected it in {shown.split()}",
                "`make setup` installs it (Debian and Ubuntu: qemu-system-data, seabios)",
            )
        found.append(places[0])
    return found


@functools.cache
def version() -> str:
    """Return QEMU's own version line, Debian's revision included."""
    if shutil.which(BINARY) is None:
        raise NotReady(
            f"the command {BINARY} is missing; expected QEMU 7.2 or newer",
            "`make setup` installs it (Debian and Ubuntu: qemu-system-x86)",
        )
    line = subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout
    line = line.splitlines()[0]
    found = re.search(r"version (\d+)\.(\d+)", line)
    if found and (int(found[1]), int(found[2])) < (7, 2):
        raise NotReady(f"expected QEMU 7.2 or newer, found {line!r}; install a newer one")
    return line
