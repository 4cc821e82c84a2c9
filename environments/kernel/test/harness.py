# SPDX-License-Identifier: GPL-2.0-only
"""Boot the deterministic image's kernel and root, and run one guest program.

usage: harness.py IMAGE PROGRAM [ARGUMENT...] [--files FOLDER] [--smp N | --icount] [--timeout-s S]

IMAGE has vmlinuz, initramfs.cpio and root.ext2. PROGRAM runs as root in the guest, with all folders
of kernel objects mounted. Beside it are the files of FOLDER, and schedulers.json: the kernel's
schedulers, each with its module. Modules that build.sh has just made may be among the files: they
are taken instead of the image's. What the program prints is printed here; its status is the status
of this command.

The machine and its kernel's options are the deterministic testbed's (the package elevatorlab must
be there), but for what `qemu` and KERNEL_OPTIONS say; its time is counted only with --icount.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from elevatorlab.plugins.schedulers import OF_THE_KERNEL, OURS
from elevatorlab.testbeds.deterministic import qemu as testbed
from elevatorlab.testbeds.deterministic.initramfs import archive

# As the image's own init up to the root; then our program instead of the image's.
INIT = """#!/bin/busybox sh
b=/bin/busybox
$b mount -t devtmpfs devtmpfs /dev
for module in $($b cat /lib/order); do $b insmod /lib/$module.ko; done
$b mount -t tmpfs tmpfs /root
$b mkdir /root/image /root/upper /root/work /root/merged
$b mount -t ext4 -o ro /dev/pmem0 /root/image
$b mount -t overlay -o lowerdir=/root/image,upperdir=/root/upper,workdir=/root/work \\
    overlay /root/merged
$b mount -t devtmpfs devtmpfs /root/merged/dev
$b cp -r /kernel-test /root/merged/kernel-test
exec $b switch_root /root/merged /usr/bin/python3 /kernel-test/start.py
"""

# Process 1: mounts, runs the program, collects orphans, and ends the machine.
START = """
import ctypes, json, os, subprocess
libc = ctypes.CDLL(None)
os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", LC_ALL="C.UTF-8")
subprocess.run(["modprobe", "configfs"], check=True)
for kind, target in [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/tmp"),
                     ("configfs", "/sys/kernel/config"), ("debugfs", "/sys/kernel/debug"),
                     ("tmpfs", "/dev/shm")]:
    os.makedirs(target, exist_ok=True)
    assert libc.mount(kind.encode(), target.encode(), kind.encode(), 0, None) == 0, target
program = ["python3", "-u", *json.load(open("/kernel-test/command.json"))]
child = subprocess.Popen(program, cwd="/kernel-test")
while True:
    pid, status = os.wait()
    if pid == child.pid:
        break
print(f"HARNESS-STATUS {os.waitstatus_to_exitcode(status)}", flush=True)
libc.reboot(0x01234567)
"""

KERNEL_OPTIONS = " ".join(
    [
        testbed.KERNEL_OPTIONS,
        # what the kernel complains of is to be seen, and an oops ends the machine
        "console=ttyS0 loglevel=4 oops=panic",
        # an overloaded host stops a processor for longer than the kernel expects of a real one
        "rcupdate.rcu_cpu_stall_timeout=300 watchdog_thresh=60",
    ]
)


def overlay(program, arguments, beside):
    """Return the archive that goes behind the image's initramfs."""
    command = json.dumps(["/kernel-test/" + program.name, *arguments])
    modules = json.dumps({name: OURS[name].module for name in OF_THE_KERNEL})
    files = {
        "init": (0o755, INIT.encode()),
        "kernel-test": (0o755, None),
        "kernel-test/start.py": (0o644, START.encode()),
        "kernel-test/command.json": (0o644, command.encode()),
        "kernel-test/schedulers.json": (0o644, modules.encode()),
    }
    for file in [*sorted(program.parent.glob("*.py")), *sorted(beside.iterdir() if beside else [])]:
        files["kernel-test/" + file.name] = (0o644, file.read_bytes())
    return archive(files)


def qemu(image, initramfs, smp, icount, memory_mib):
    """Return QEMU's command line: the testbed's options; of two alike, the later one counts."""
    root = image / "root.ext2"
    machine = testbed.options(memory_mib)
    if icount:
        machine += testbed.USUAL.counted_time(initramfs.with_name("replay.log"))
    else:
        machine = [word.replace("thread=single", "thread=multi") for word in machine]
    return [
        testbed.USUAL.binary,
        *machine,
        *("-L", str(image)),
        *("-smp", str(smp)),
        *("-action", "panic=none"),  # nobody would wake a machine that pauses
        *testbed.memory("root", root, root.stat().st_size >> 20, "share=on,readonly=on"),
        *("-device", "nvdimm,memdev=root,unarmed=on"),
        *("-kernel", str(image / "vmlinuz"), "-initrd", str(initramfs)),
        *("-append", KERNEL_OPTIONS, "-serial", "stdio"),
    ]


def run(image, program, arguments=(), files=None, smp=1, icount=False, timeout_s=600, show=print):
    """Run `program` in a guest; return its status and the lines that it printed.

    Raises
    ------
    RuntimeError
        When the guest ends without a status: it crashed, or it hung until `timeout_s`.
    """
    with tempfile.TemporaryDirectory(prefix="elevatorlab-kernel.") as folder:
        initramfs = pathlib.Path(folder) / "initramfs.cpio"
        initramfs.write_bytes(
            (image / "initramfs.cpio").read_bytes() + overlay(program, arguments, files)
        )
        command = qemu(image, initramfs, smp, icount, memory_mib=1024)
        machine = subprocess.Popen(
            ["timeout", str(timeout_s), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        lines = []
        for line in machine.stdout:
            lines.append(line.rstrip())
            show(lines[-1])
        machine.wait()
    for line in lines:
        if line.startswith("HARNESS-STATUS "):
            return int(line.split()[1]), lines
    raise RuntimeError(f"the guest ended without a status (QEMU: {machine.returncode})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("image", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--files", type=pathlib.Path)
    parser.add_argument("--smp", type=int, default=1)
    parser.add_argument("--icount", action="store_true")
    parser.add_argument("--timeout-s", type=int, default=600)
    parser.add_argument("arguments", nargs="*")
    given = vars(parser.parse_args())
    if given["icount"] and given["smp"] > 1:
        parser.error("--icount: expected one processor, for QEMU counts no more; leave out --smp")
    status, _ = run(**given, show=lambda line: print(line, flush=True))
    sys.exit(status)


if __name__ == "__main__":
    main()
