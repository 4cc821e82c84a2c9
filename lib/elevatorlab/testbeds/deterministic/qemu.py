"""The machine: QEMU's command line, and why each option is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from . import our_qemu

#: Status with which the guest ends QEMU when a result is in the exchange (2 * 0x10 + 1).
FINISHED = 33

#: Processor model. A named model stays the same, unlike "max". This one has SVM, for virtual
#: machines inside, and no instructions for random numbers, unlike newer ones with SVM. On it, the
#: kernel copies memory by words (rep movsq), eight bytes per instruction. On newer models, it
#: copies by single bytes (ERMS), and each byte counts as an instruction.
CPU = "Opteron_G3,+svm,+npt"

#: Instructions per slot while several processors boot. In long slots, they boot several times
#: faster.
BOOT_SLOT = 20_000

EXCHANGE_MIB = 128

ROOT = "root.ext2"

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


@dataclass(frozen=True)
class Emulator:
    """The emulator that we build, the processors of its machine, and a machine inside."""

    #: Number of processors. Several work in rounds, each in slots of the same length.
    cpus: int = 1
    #: Largest number of instructions that each processor executes in a round. One processor's work
    #: may reach another too early or too late, by up to this number of nanoseconds. A single
    #: processor needs no rounds.
    slot: int = 1000
    #: Extra cost, in instructions, of an atomic operation on a cache line that another processor
    #: used last.
    transfer: int = 0
    #: QEMU's name of the processor model, with its extensions.
    processor: str = CPU
    #: Memory of the virtual machine inside; 0 if there is none.
    inner_mib: int = 0

    #: Whether QEMU may count idle time while the guest stops the machine, although the guest is not
    #: idle (`template.take_back_idle_time`).
    idle_time_slips = False

    @property
    def counts(self) -> str:
        """How time is counted, in words, for provenance."""
        if self.cpus == 1:
            return "instruction counting"
        return f"parallel rounds: cpus {self.cpus}, {self.turns}"

    @property
    def turns(self) -> str:
        """How several processors take turns, in words."""
        return f"slot {self.slot}, transfer {self.transfer}"

    @property
    def boots_in(self) -> str:
        """How long a boot takes, in words."""
        return "about a minute" if self.inner_mib else "about 20 s"

    @property
    def boots_as(self) -> Emulator:
        """The emulator that boots the template that this one continues: itself, or a faster one.

        A boot measures nothing.
        """
        return self if self.cpus == 1 else replace(self, slot=BOOT_SLOT, transfer=0)

    @property
    def binary(self) -> str:
        """The program that is run, whether or not it is there."""
        return str(our_qemu.kept() / our_qemu.NAME)

    def version(self) -> str:
        """Return QEMU's version, for provenance; raise `NotReady` if the program is missing."""
        return f"{our_qemu.version()}, {self.identity()[:12]}"

    def identity(self) -> str:
        """Return what stands for the emulator in the image digest."""
        return our_qemu.digest()

    def counted_time(self, log: Path) -> list[str]:
        """Return the options that make guest time the number of executed instructions.

        `log`: A new file for QEMU's recording, for an emulator that needs one. Ours keeps QEMU's
        threads apart without recording. The fixed seed is for any random number that QEMU might
        give to the guest.
        """
        rounds = f"slot={self.slot},transfer={self.transfer}"
        return ["-icount", f"shift=0,align=off,sleep=off,{rounds}", "-seed", "1"]

    def template_name(self, memory_mib: int) -> str:
        """Return the beginning of a template's name: the memory in MiB, such as ``384+512``."""
        return f"{memory_mib}+{self.inner_mib}" if self.inner_mib else str(memory_mib)


@dataclass(frozen=True)
class AnotherQemu(Emulator):
    """A QEMU without our changes, which the user names: one processor, and no machine inside.

    Debian's delivers some interrupts twice to a machine inside, which then hangs (the third change
    in environments/emulator).
    """

    program: str = ""

    idle_time_slips = True

    @property
    def binary(self) -> str:
        """The program that the user names."""
        return self.program

    def version(self) -> str:
        """Return that program's own version line."""
        return our_qemu.version_of_another(self.program)

    def identity(self) -> str:
        """Return that program's own version line."""
        return self.version()

    def counted_time(self, log: Path) -> list[str]:
        """Return the option that counts instructions.

        Recording makes QEMU's threads exclude each other; without it, idle time slips by a few
        nanoseconds now and then. The log itself is not used.
        """
        return ["-icount", f"shift=0,align=off,sleep=off,rr=record,rrfile={log}"]


OTHER_PROCESSOR = "SandyBridge-v1,vendor=AuthenticAMD,family=16,model=4,+svm,+npt"
"""The next processor model after the usual one. It has vectors twice as wide, with which programs
copy memory (AVX). Like the usual one, it lacks the instructions of later models that copy by single
bytes (ERMS). It passes for a processor with SVM, so that it can have a virtual machine inside."""


def usual(processor: str = CPU) -> Emulator:
    """Return the emulator of the default testbed: ours, unless the user names another QEMU."""
    program = our_qemu.another()
    if program is None:
        return Emulator(processor=processor)
    return AnotherQemu(processor=processor, program=program)


USUAL = usual()


def options(memory_mib: int, emulator: Emulator = USUAL) -> list[str]:
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
        *("-cpu", emulator.processor),
        *("-smp", str(emulator.cpus)),
        *("-m", f"{memory_mib}M,slots=2,maxmem={memory_mib + 8192}M"),
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
    sizes_mib: Mapping[str, int],
    memory_mib: int,
    ram: Path,
    ram_mode: str,
    exchange: Path,
    log: Path,
    monitor: Path,
    emulator: Emulator = USUAL,
) -> list[str]:
    """Return the whole command line of one machine.

    `image`: The image's folder. `sizes_mib`: Sizes of its files, by name. `memory_mib`: Size of the
    machine's memory. `ram`, `exchange`: Files that hold the machine's memory and the exchange.
    `ram_mode`: ``share=on`` to write the memory file, ``share=off`` to start from it, copy on
    write. `log`, `monitor`: QEMU's recording, and the socket of its monitor.
    """
    return [
        emulator.binary,
        *options(memory_mib, emulator),
        *emulator.counted_time(log),
        *("-machine", "memory-backend=ram"),
        *memory("ram", ram, memory_mib, ram_mode),
        *memory("root", image / ROOT, sizes_mib[ROOT], "share=on,readonly=on"),
        *("-device", "nvdimm,id=nvdimm0,slot=0,memdev=root,unarmed=on"),
        *memory("exchange", exchange, EXCHANGE_MIB, "share=on"),
        *("-device", "nvdimm,id=nvdimm1,slot=1,memdev=exchange"),
        *("-L", str(image)),
        *("-kernel", str(image / "vmlinuz")),
        *("-initrd", str(image / "initramfs.cpio")),
        *("-qmp", f"unix:{monitor},server=on,wait=off"),
    ]
