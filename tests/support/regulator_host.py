"""Cgroups, loop devices, a disk of one server, and loads: a regulator test removes its own."""

import contextlib
import fcntl
import functools
import json
import os
import pathlib
import subprocess
import sys
from pathlib import Path

import pytest

from elevatorlab.agent.devices import paced_disk
from elevatorlab.agent.operations import engine
from elevatorlab.agent.operations.containers import EngineContainers
from elevatorlab.agent.regulator.topology import Topology, find_cgroups
from elevatorlab.testbeds import agent_archive
from helpers import wait_until

#: ioctls of /dev/loop-control (linux/loop.h), and the first number that we add.
LOOP_CTL_ADD, LOOP_CTL_REMOVE, FIRST_LOOP = 0x4C80, 0x4C81, 100

BLKIO = Path("/sys/fs/cgroup/blkio")

#: Of tests of the real hierarchy, which have the machine to themselves, as all of root's.
BLKIO_MARKS = [pytest.mark.root, pytest.mark.blkio, pytest.mark.programs("losetup")]


@contextlib.contextmanager
def blkio_cgroup(name):
    """Make a cgroup of ours in the real blkio hierarchy."""
    folder = BLKIO / f"elevatorlab-test-{os.getpid()}-{name}"
    folder.mkdir()
    try:
        yield folder
    finally:
        folder.rmdir()


@contextlib.contextmanager
def loop_devices(count):
    """Add loop devices of our own to the host, with numbers that nobody else asks for."""
    names = []
    with open("/dev/loop-control") as control:
        try:
            for number in range(FIRST_LOOP, FIRST_LOOP + 1000):
                if len(names) == count:
                    break
                with contextlib.suppress(FileExistsError):
                    fcntl.ioctl(control, LOOP_CTL_ADD, number)
                    names.append(f"loop{number}")
            yield names
        finally:
            for name in names:
                wait_until(functools.partial(_removed, control, name), 20)


def _removed(control, name):
    """Remove a loop device, if whoever had it open has let go of it."""
    try:
        return fcntl.ioctl(control, LOOP_CTL_REMOVE, int(name[4:])) >= 0
    except OSError:
        return False


@contextlib.contextmanager
def loop_device(folder, mib=64):
    """Attach a loop device of our own to a new file and return its kernel name."""
    image = Path(folder, "loop.img")
    with open(image, "wb") as file:
        file.truncate(mib << 20)
    with loop_devices(1) as [name]:
        subprocess.run(["losetup", "--direct-io=on", f"/dev/{name}", image], check=True)
        try:
            yield name
        finally:
            subprocess.run(["losetup", "--detach", f"/dev/{name}"], check=True)


@contextlib.contextmanager
def single_server_disk(folder, loops, service_ms, kib_s):
    """Attach each of `loops` (kernel names) to the whole of one paced disk.

    What is written to it is thrown away, so that they do not meet; the kernel counts each apart.
    """
    mount_point = pathlib.Path(folder, "single-server-disk")
    mount_point.mkdir()
    agent, model = pathlib.Path(folder, "disk-agent.pyz"), pathlib.Path(folder, "disk.json")
    agent.write_bytes(agent_archive.agent_archive())
    disk = {"size_mib": 1024, "service_us": service_ms * 1000, "service": "constant", "seed": 1}
    model.write_text(json.dumps({**disk, "bandwidth_kib_s": kib_s, "accept_us": None}))
    command = [sys.executable, str(agent), "paced-disk", str(mount_point), str(model)]
    with contextlib.ExitStack() as undo:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        undo.callback(server.wait)
        undo.callback(subprocess.run, ["umount", "--lazy", str(mount_point)])
        assert server.stdout.readline() == "ready\n"
        for loop in loops:
            image = mount_point / paced_disk.FILE
            subprocess.run(["losetup", "--direct-io=on", f"/dev/{loop}", image], check=True)
            undo.callback(subprocess.run, ["losetup", "--detach", f"/dev/{loop}"])
            pathlib.Path("/sys/block", loop, "queue/write_cache").write_text("write through\n")
        yield mount_point


IMAGE = "debian:bookworm-slim"

#: Small synchronous writes with think time (perl is part of every Debian image).
NORMAL = """
sysopen(my $disk, "/dev/disk", 0x1 | 0x101000) or die $!;
for (my $i = 0; ; $i = ($i + 1) % 65536) {
    sysseek($disk, $i * 4096, 0);
    syswrite($disk, "x" x 4096) or die $!;
    select(undef, undef, undef, 0.002);
}
"""

#: Large writes around the page cache, as fast as the disk takes them, by several processes.
OVERLOAD = (
    "for i in 1 2 3; do (while true; do dd if=/dev/zero of=/dev/disk bs=32k count=2000 "
    "oflag=direct status=none; done) & done; wait"
)
BUFFERED = "while true; do dd if=/dev/zero of=/dev/disk bs=64k count=1000 status=none; done"


def on_host(command, loop, cgroup):
    """Run a container's command as a plain process of a cgroup."""
    program = ["perl", "-e", command] if command is NORMAL else ["sh", "-c", command]
    program[-1] = program[-1].replace("/dev/disk", f"/dev/{loop}")
    enter = f'echo $$ >{cgroup}/cgroup.procs && exec "$@"'
    return subprocess.Popen(["sh", "-c", enter, "sh", *program], start_new_session=True)


def start(name, loop, command, *options):
    """Start a container whose /dev/disk is a loop device; return the name."""
    run = ["docker", "run", "--detach", "--rm", "--init", "--network=none", f"--name={name}"]
    subprocess.run(
        [*run, f"--device=/dev/{loop}:/dev/disk", *options, IMAGE, *command],
        check=True,
        capture_output=True,
    )
    return name


def start_normal(name, loop, *options):
    return start(name, loop, ["perl", "-e", NORMAL], *options)


def start_overload(name, loop, command=OVERLOAD):
    return start(name, loop, ["sh", "-c", command])


def stop(*names):
    """Remove containers, whether they are there or not."""
    subprocess.run(["docker", "rm", "--force", *names], capture_output=True)


def limits_of(cgroup):
    """Return the limits that the kernel holds for a cgroup: that of reads, and that of writes."""
    names = ("read_bps_device", "write_bps_device")
    return [(cgroup / f"blkio.throttle.{name}").read_text().strip() for name in names]


def events(log, event="decision"):
    """Return what a regulator's log has of a kind of event."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [line for line in map(json.loads, lines) if line["event"] == event]


CONTAINERS = ["regulated-1", "regulated-2", "regulated-3"]

OVER = "regulated-over"


@pytest.fixture
def loops(tmp_path):
    """Return four devices of one single-server disk; containers on them end first."""
    with loop_devices(4) as names, single_server_disk(tmp_path, names, 0.05, 6000):
        try:
            yield names
        finally:
            stop(*CONTAINERS, OVER)


def containers(names=(), path=engine.SOCKET, classes=()):
    hierarchy, topology = find_cgroups(), Topology()
    return EngineContainers(engine.reach(path), set(names), [], classes, hierarchy, topology)


def found(source):
    return {target.name: target for target in source.targets()[0]}
