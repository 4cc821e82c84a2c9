"""Real cgroups and loop devices for the regulator's tests; each is removed with its test."""

import contextlib
import fcntl
import functools
import os
import subprocess
from pathlib import Path

import pytest

from helpers import wait_until

#: ioctls of /dev/loop-control (linux/loop.h), and the first number that we add.
LOOP_CTL_ADD, LOOP_CTL_REMOVE, FIRST_LOOP = 0x4C80, 0x4C81, 100

BLKIO = Path("/sys/fs/cgroup/blkio")

#: Of tests of the real hierarchy, which have the machine to themselves, as all of root's.
BLKIO_MARKS = [pytest.mark.root, pytest.mark.blkio, pytest.mark.programs("losetup")]


def needs_blkio(test):
    """Mark a test with `BLKIO_MARKS`."""
    for mark in BLKIO_MARKS:
        test = mark(test)
    return test


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
