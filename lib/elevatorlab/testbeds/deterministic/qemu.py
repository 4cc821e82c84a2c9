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

#: What is called.
BINARY = os.environ.get(OTHER) or NAME

#: Status with which the guest ends QEMU when a result is in the exchange (2 * 0x10 + 1).
FINISHED = 33

#: A named model ages better than "max". This one copies memory by words (rep movsq), eight bytes
#: an instruction; newer ones count one instruction per byte (ERMS).
CPU = "Nehalem-v1"

EXCHANGE_MIB = 128

FIRMWARE = ("bios-256k.bin", "linuxboot_dma.bin")

KERNEL_OPTIONS = " ".join(
    [
        # no address or seed from chance or from the host
        "nokaslr norandmaps random.trust_cpu=off random.trust_bootloader=off",
        # the time-stamp counter is the counted instructions: trust it
        "tsc=reliable no_timer_check nowatchdog",
        # cheaper to emulate; zeroing pages would be charged byte by byte
        "mitigations=off cryptomgr.notests init_on_alloc=0",
        # a kernel that cannot go on ends the machine, and nothing is printed while it measures
        "panic=-1 quiet loglevel=3",
    ]
)


class Emulator(Protocol):
    """A QEMU, and how the processors of its machine share time.

    Attributes
    ----------
    idle_time_slips : bool
        Whether, while the guest stops the machine, the host may book idle time that is none.
    slots : int
        Pieces of memory beside the machine's own: root, exchange, and what else it has.
    """

    idle_time_slips: bool
    slots: int

    def __hash__(self) -> int:
        """Tell emulators apart, for what is remembered of each."""

    @property
    def cpu(self) -> str:
        """The processor's model, as QEMU calls it."""

    @property
    def boots_as(self) -> Emulator:
        """The emulator that boots what this one continues: itself, or a quicker one."""

    @property
    def binary(self) -> str:
        """What is called."""

    @property
    def data(self) -> list[str]:
        """The options that say where its firmware is; nothing where it knows."""

    @property
    def cpus(self) -> int:
        """How many processors there are."""

    @property
    def processors(self) -> list[str]:
        """The option that says how many there are."""

    def version(self) -> str:
        """Return what belongs to the image digest of the program itself, or raise `NotReady`."""

    def parts(self) -> dict[str, list[str]]:
        """Return what else belongs to the image digest, as `image.parts` does."""

    def initramfs(self, image: Path) -> Path:
        """Return the file of the machine's first root."""

    def more_memory(self, image: Path) -> list[str]:
        """Return the options that make more pieces of memory."""

    def inputs(self) -> dict[str, bytes]:
        """Return what the machine gets beside the agent before it boots, by name."""

    def template_name(self, memory_mib: int) -> str:
        """Return what begins the name of a template."""

    def counted_time(self, log: Path) -> list[str]:
        """Return the options that make guest time the number of executed instructions.

        Parameters
        ----------
        log : pathlib.Path
            A new file, for an emulator that must write one.
        """


class Plain:
    """What most emulators share: a machine with the image's root, and nothing inside."""

    slots = 2

    def parts(self) -> dict[str, list[str]]:
        """Nothing else."""
        return {}

    def initramfs(self, image: Path) -> Path:
        """The image's."""
        return image / "initramfs.cpio"

    def more_memory(self, image: Path) -> list[str]:
        """None."""
        return []

    def inputs(self) -> dict[str, bytes]:
        """Nothing."""
        return {}

    def template_name(self, memory_mib: int) -> str:
        """The memory alone."""
        return str(memory_mib)


@dataclass(frozen=True)
class Stock(Plain):
    """Debian's own QEMU: one processor."""

    cpu: str = CPU

    idle_time_slips = True
    binary = BINARY
    data: ClassVar[list[str]] = []
    cpus: ClassVar[int] = 1
    processors: ClassVar[list[str]] = ["-smp", "1"]

    @property
    def boots_as(self) -> Emulator:
        """Itself."""
        return self

    def version(self) -> str:
        """Return QEMU's own version line."""
        return version()

    def counted_time(self, log: Path) -> list[str]:
        """Return the option that counts.

        Recording makes QEMU's threads exclude each other; without it, idle time slips by a few
        nanoseconds now and then. The log itself is not used.
        """
        return ["-icount", f"shift=0,align=off,sleep=off,rr=record,rrfile={log}"]


STOCK: Emulator = Stock()


def options(memory_mib: int, emulator: Emulator = STOCK) -> list[str]:
    """Return the options that make the machine, without any path of the host.

    They belong to the image digest: another option, another machine.
    """
    return [
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        *("-display", "none"),
        *("-net", "none"),
        # The saved state has no outer description: it is read back by the same command line.
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

    Parameters
    ----------
    image : pathlib.Path
        Folder with vmlinuz, initramfs.cpio and root.ext2.
    root_mib, memory_mib : int
        Size of root.ext2, and of the machine's memory.
    ram, exchange : pathlib.Path
        Files that hold the machine's memory and the exchange.
    ram_mode : str
        ``share=on`` to write the memory file, ``share=off`` to start from it, copy on write.
    log, monitor : pathlib.Path
        QEMU's recording, and the socket of its monitor.
    emulator : Emulator
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
    """Return the files that QEMU boots the machine with: the BIOS, and its loader of kernels.

    Raises
    ------
    NotReady
        When QEMU's data files are not where its own search path says.
    """
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
    """Return QEMU's own version line, Debian's revision included.

    Raises
    ------
    NotReady
        When QEMU is missing or too old for the machine type.
    """
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
