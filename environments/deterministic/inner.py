"""What runs inside the inner machine: a worker of the agent on each port but the first.

The workers are the agent's own (``agent/groups/worker.py``); lines of JSON reach them over
virtio-serial, so that the machine needs no network. The first port says when all are ready.
"""

import os
import pathlib
import subprocess
import sys

import boot

ARCHIVE = pathlib.Path("/usr/lib/elevatorlab/agent.pyz")
PORTS = pathlib.Path("/sys/class/virtio-ports")
VIRTIO = ["virtio_pci", "virtio_console", "virtio_blk"]
#: The kernel's own schedulers are here.
BLOCK = pathlib.Path("/lib/modules", os.uname().release, "kernel/block")

# Started once, so that no trial has to fetch them from the root.
WARM_UP = [
    ["cat", "--version"],
    ["dd", "--version"],
    ["find", "--version"],
    ["fio", "--version"],
    ["mount", "--version"],
    ["sh", "-c", ":"],
]


def open_standard_files():
    """Send what is printed to a log: without a console these files are closed."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open("/run/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, target)


def ports():
    """Return the ports' device files, by number."""
    names = sorted(PORTS.iterdir(), key=lambda path: int(path.name.rpartition("p")[2]))
    return [f"/dev/{path.name}" for path in names]


def serve(port):
    """Let a child answer what comes through a port."""
    if os.fork() == 0:
        end = os.open(port, os.O_RDWR)
        os.dup2(end, 0)
        os.dup2(end, 1)
        sys.modules["agent.groups.worker"].serve()
        os._exit(0)


def main():
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", LC_ALL="C.UTF-8")
    boot.mount_kernel_file_systems()
    open_standard_files()
    for module in [*VIRTIO, *sorted(file.stem for file in BLOCK.glob("*.ko"))]:
        subprocess.run(["modprobe", module], check=True)
    boot.unpack_agent(ARCHIVE)
    import agent.groups.worker  # noqa: F401

    for command in WARM_UP:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    os.chdir("/")
    first, *others = ports()
    for port in others:
        serve(port)
    with open(first, "wb", buffering=0) as told:
        told.write(b"ready\n")
        while True:  # as process 1, this one also collects orphans
            os.wait()


main()
