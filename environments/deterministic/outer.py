"""Boot a virtual machine inside the deterministic one, and leave it waiting for a trial.

guest.py calls this before it stops the machine, so that the machine that is kept has the inner one
in it. The inner machine has the same kernel and the same root. Its kernel and its initramfs, which
has the agent, come through the exchange, with ``machine.json``.
"""

import json
import os
import pathlib
import subprocess

FOLDER = pathlib.Path("/var/lib/elevatorlab/machine")
#: Virtio-serial ports: one to say that the machine is ready, one for the agent, four for workloads.
PORTS = 6
READY = b"ready\n"


def options(memory_mib, kernel, initramfs):
    """Return QEMU's options for the inner machine: the outer one's kernel and root."""
    root_mib = int(pathlib.Path("/sys/class/block/pmem0/size").read_text()) >> 11
    argv = [
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-net", "none"),
        *("-machine", "pc-i440fx-7.2,nvdimm=on,hpet=off,usb=off"),
        *("-accel", "kvm", "-cpu", "host", "-smp", "1"),
        *("-m", f"{memory_mib}M,slots=1,maxmem={memory_mib + 2048}M"),
        *("-rtc", "base=2020-01-01T00:00:00,clock=vm"),
        "-object",
        f"memory-backend-file,id=root,size={root_mib}M,mem-path=/dev/pmem0,share=on,readonly=on",
        *("-device", "nvdimm,id=nvdimm0,slot=0,memdev=root,unarmed=on"),
        *("-kernel", str(kernel), "-initrd", str(initramfs)),
        *("-append", pathlib.Path("/proc/cmdline").read_text().strip()),
        *("-qmp", f"unix:{FOLDER}/monitor,server=on,wait=off"),
        *("-pidfile", str(FOLDER / "process")),
        *("-device", f"virtio-serial-pci,max_ports={PORTS + 1}"),
    ]
    for number in range(1, PORTS + 1):
        argv += ["-chardev", f"pipe,id=port{number},path={FOLDER}/port{number}"]
        argv += ["-device", f"virtserialport,chardev=port{number},nr={number}"]
    return argv


def boot(received):
    """Start QEMU, and wait until the worker inside says that it is ready.

    `received`: The folder with what came through the exchange.
    """
    subprocess.run(["modprobe", "kvm_amd"], check=True)
    FOLDER.mkdir(parents=True)
    machine = json.loads((received / "machine.json").read_text())
    files = received / "vmlinuz", received / "initramfs.cpio"
    for number in range(1, PORTS + 1):
        for end in ("in", "out"):
            os.mkfifo(FOLDER / f"port{number}.{end}")
    with open(FOLDER / "log", "wb") as log:
        emulator = subprocess.Popen(
            ["qemu-system-x86_64", *options(machine["memory_mib"], *files)],
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
    for file in files:
        file.unlink()
