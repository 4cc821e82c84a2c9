"""The machine: QEMU's command line, its monitor, and why each option is there."""

import functools
import json
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

from ...errors import NotReady, TrialFailed

BINARY = "qemu-system-x86_64"

#: Status with which the guest ends QEMU when a result is in the exchange (2 * 0x10 + 1).
FINISHED = 33

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


def options(memory_mib):
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
        # A named model ages better than "max". This one copies memory by words (rep movsq),
        # eight bytes an instruction; newer ones count one instruction a byte (ERMS).
        *("-cpu", "Nehalem-v1"),
        *("-smp", "1"),
        *("-m", f"{memory_mib}M,slots=2,maxmem={memory_mib + 8192}M"),
        *("-accel", "tcg,thread=single"),
        *("-rtc", "base=2020-01-01T00:00:00,clock=vm"),
        # The guest stops the machine (pvpanic) and ends it (isa-debug-exit) by itself.
        *("-device", "pvpanic", "-action", "panic=pause"),
        *("-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"),
        *("-append", KERNEL_OPTIONS),
    ]


def counted_time(log):
    """Return the option that makes guest time the number of executed instructions.

    Recording makes QEMU's threads exclude each other; without it, idle time slips by a few
    nanoseconds now and then. The log itself is not used.
    """
    return ["-icount", f"shift=0,align=off,sleep=off,rr=record,rrfile={log}"]


def memory(name, file, size_mib, mode):
    """Return the option that makes `file` a piece of the machine's memory."""
    return [
        "-object",
        f"memory-backend-file,id={name},size={size_mib}M,mem-path={file},{mode}",
    ]


def command(image, root_mib, memory_mib, ram, ram_mode, exchange, log, monitor):
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
    """
    return [
        BINARY,
        *options(memory_mib),
        *counted_time(log),
        *("-machine", "memory-backend=ram"),
        *memory("ram", ram, memory_mib, ram_mode),
        *memory("root", image / "root.ext2", root_mib, "share=on,readonly=on"),
        *("-device", "nvdimm,id=nvdimm0,slot=0,memdev=root,unarmed=on"),
        *memory("exchange", exchange, EXCHANGE_MIB, "share=on"),
        *("-device", "nvdimm,id=nvdimm1,slot=1,memdev=exchange"),
        *("-kernel", str(image / "vmlinuz")),
        *("-initrd", str(image / "initramfs.cpio")),
        *("-qmp", f"unix:{monitor},server=on,wait=off"),
    ]


def firmware():
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
                f"QEMU's file {name} is missing; expected it in {shown.split()}. "
                "`make setup` installs it (Debian and Ubuntu: qemu-system-data, seabios)"
            )
        found.append(places[0])
    return found


@functools.cache
def version():
    """Return QEMU's own version line, Debian's revision included.

    Raises
    ------
    NotReady
        When QEMU is missing or too old for the machine type.
    """
    if shutil.which(BINARY) is None:
        raise NotReady(
            f"the command {BINARY} is missing; expected QEMU 7.2 or newer. "
            "`make setup` installs it (Debian and Ubuntu: qemu-system-x86)"
        )
    line = subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout
    line = line.splitlines()[0]
    found = re.search(r"version (\d+)\.(\d+)", line)
    if found and (int(found[1]), int(found[2])) < (7, 2):
        raise NotReady(f"expected QEMU 7.2 or newer, found {line!r}; install a newer one")
    return line


class Monitor:
    """QEMU's control socket (QMP), as far as the testbed needs it."""

    def __init__(self, path, process, timeout_s):
        self.process = process
        self.events = []
        self.socket = self._connect(path, process, time.monotonic() + timeout_s)
        self.socket.settimeout(timeout_s)
        self.lines = self.socket.makefile("rw")
        self._next()  # the greeting
        self.do("qmp_capabilities")

    @staticmethod
    def _connect(path, process, until_s):
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(path))
                return connection
            except OSError:
                connection.close()
            if process.poll() is not None:
                said = process.stderr.read().strip() or f"status {process.returncode}"
                raise TrialFailed(f"QEMU did not start ({said}); run the trial again")
            if time.monotonic() > until_s:
                raise TrialFailed("QEMU's monitor did not answer; is the machine overloaded?")
            time.sleep(0.01)

    def _next(self):
        try:
            line = self.lines.readline()
        except ConnectionResetError:
            line = ""
        except TimeoutError:
            raise TrialFailed(
                f"QEMU's monitor said nothing for {self.socket.gettimeout():.0f} s; the machine "
                "is overloaded, or the guest hangs. Run it again"
            ) from None
        if not line:
            raise self._ended()
        return json.loads(line)

    def _ended(self):
        said = self.process.stderr.read().strip() or f"status {self.process.wait()}"
        return TrialFailed(f"QEMU ended unexpectedly ({said}); run the trial again")

    def do(self, name, **arguments):
        """Run one command and return its answer."""
        try:
            self.lines.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
            self.lines.flush()
        except BrokenPipeError:
            raise self._ended() from None
        while True:
            message = self._next()
            if "event" in message:
                self.events.append(message["event"])
            elif "error" in message:
                raise TrialFailed(f"QEMU refused {name}: {message['error']['desc']}")
            else:
                return message["return"]

    def wait_for_stop(self):
        """Wait until the guest has stopped the machine."""
        while "STOP" not in self.events:
            message = self._next()
            self.events.append(message.get("event", ""))

    def close(self):
        """Let go of the socket."""
        self.lines.close()
        self.socket.close()
