"""Boot the inner machine inside the deterministic one, and leave it waiting for a trial.

This runs before guest.py, so that the machine that is kept has the inner one in it. What it is to
be comes through the exchange (see guest.py): ``machine.json``, and ``inner.cpio``, the archive with
the agent that the inner machine unpacks. Without them there is none, and this does nothing.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tarfile

EXCHANGE = "/dev/pmem1"
HEADER_BYTES = 16
FOLDER = pathlib.Path("/var/lib/elevatorlab/machine")
DETACH = 2  # linux/fs.h: MNT_DETACH
READY = b"ready\n"


def received():
    """Return what lies in the exchange, by name."""
    with open(EXCHANGE, "rb") as exchange:
        exchange.seek(HEADER_BYTES)
        with tarfile.open(fileobj=exchange, mode="r|") as archive:
            return {member.name: archive.extractfile(member).read() for member in archive}


@contextlib.contextmanager
def kernel_file_systems():
    """Mount what modprobe and QEMU look at; guest.py mounts its own later."""
    libc = ctypes.CDLL(None)
    kinds = {b"/proc": b"proc", b"/sys": b"sysfs"}
    for target, kind in kinds.items():
        libc.mount(kind, target, kind, 0, None)
    yield
    for target in kinds:
        libc.umount2(target, DETACH)


def options(machine):
    """Return QEMU's options for the inner machine: the outer one's kernel and root."""
    root_mib = int(pathlib.Path("/sys/class/block/pmem0/size").read_text()) >> 11
    memory_mib, ports = machine["memory_mib"], machine["ports"]
    argv = [
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-net", "none"),
        *("-machine", "pc-i440fx-7.2,nvdimm=on,hpet=off,usb=off"),
        *("-accel", "kvm", "-cpu", "host", "-smp", "1"),
        *("-m", f"{memory_mib}M,slots=1,maxmem={memory_mib + 2048}M"),
        *("-rtc", "base=2020-01-01T00:00:00,clock=vm"),
        "-object",
        f"memory-backend-file,id=root,size={root_mib}M,mem-path=/dev/pmem0,share=on,readonly=on",
        *("-device", "nvdimm,id=nvdimm0,slot=0,memdev=root,unarmed=on"),
        *("-kernel", "/boot/vmlinuz", "-initrd", str(FOLDER / "initramfs.cpio")),
        *("-append", machine["kernel_options"]),
        *("-qmp", f"unix:{FOLDER}/monitor,server=on,wait=off"),
        *("-pidfile", str(FOLDER / "process")),
        *("-device", f"virtio-serial-pci,max_ports={ports + 1}"),
    ]
    for number in range(1, ports + 1):
        argv += ["-chardev", f"pipe,id=port{number},path={FOLDER}/port{number}"]
        argv += ["-device", f"virtserialport,chardev=port{number},nr={number}"]
    return argv


def start(machine, archive):
    """Start QEMU and wait until the worker inside says that it is ready."""
    FOLDER.mkdir(parents=True)
    initramfs = FOLDER / "initramfs.cpio"
    initramfs.write_bytes(pathlib.Path("/boot/initramfs.cpio").read_bytes() + archive)
    for number in range(1, machine["ports"] + 1):
        for end in ("in", "out"):
            os.mkfifo(FOLDER / f"port{number}.{end}")
    with open(FOLDER / "log", "wb") as log:
        emulator = subprocess.Popen(
            ["qemu-system-x86_64", *options(machine), *sys.argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    with open(FOLDER / "port1.out", "rb") as port:  # waits until QEMU has it open, too
        said = port.readline()
    if said != READY:
        emulator.kill()
        raise SystemExit(f"expected {READY!r} of the inner machine, found {said!r}")
    initramfs.unlink()


def main():
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL="C.UTF-8")
    given = received()
    if "machine.json" not in given:
        return
    with kernel_file_systems():
        subprocess.run(["modprobe", "kvm_amd"], check=True)
        start(json.loads(given["machine.json"]), given["inner.cpio"])


main()
