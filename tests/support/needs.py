"""What tests need of the machine: whether it is here, and the command that brings what is not."""

import functools
import os
import shutil
from pathlib import Path

import pytest

import browser
from elevatorlab.errors import NotReady
from elevatorlab.paths import ENVIRONMENTS
from elevatorlab.testbeds.deterministic import image, qemu
from elevatorlab.testbeds.vagrant import readiness

#: Begins the reason of a skip that no command can help: another kind of machine is needed.
OTHER_MACHINE = "needs another machine: "

BLKIO = Path("/sys/fs/cgroup/blkio")

#: The Debian packages of programs that are called otherwise.
PACKAGES = {
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    browser.PROGRAM: "chromium",
    "iostat": "sysstat",
    "losetup": "mount",
    "mariadbd": "mariadb-server-core",
    "mkfs.ext4": "e2fsprogs",
    "mkswap": "util-linux",
    "ps": "procps",
    "qemu-aarch64": "qemu-user",
    "qemu-system-x86_64": "qemu-system-x86",
    "sfdisk": "fdisk",
    "sshd": "openssh-server",
    "udevadm": "udev",
    "/usr/lib/systemd/systemd-udevd": "udev",
}

#: What installs each list of packages. A package that several lists have comes with the first.
COMMANDS = {
    "host-packages.txt": "environments/host-setup.sh",
    "packages.txt": "sudo environments/provision.sh",
    "test-packages.txt": "environments/host-setup.sh test-packages.txt",
    "test-real-packages.txt": "environments/host-setup.sh test-real-packages.txt",
    "test-release-packages.txt": "environments/host-setup.sh test-release-packages.txt",
}


def program(name):
    """Return the path of a program, as root would find it; None where it is missing."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def package(name):
    """Return the Debian package that has a program."""
    return PACKAGES.get(name, name)


@functools.cache
def listed(file):
    """Return the packages that the command of a list installs on a user's own host."""
    lines = (ENVIRONMENTS / file).read_text().partition("\n# ---- Below")[0].splitlines()
    return {one for line in lines if (one := line.partition("#")[0].strip())}


def command(name):
    """Return the command that installs a program."""
    lists = (known for file, known in COMMANDS.items() if package(name) in listed(file))
    return next(lists, f"sudo apt-get install {package(name)}")


def missing_programs(*names):
    """Say which programs are missing, and the commands that install them."""
    missing = [name for name in names if not program(name)]
    if missing:
        remedies = sorted(set(map(command, missing)))
        return f"no {', '.join(missing)} here; install with: {'; '.join(remedies)}"
    return None


@functools.cache
def missing_image():
    try:
        qemu.USUAL.version()
        image.current()
    except NotReady as problem:
        return str(problem)
    return None


@functools.cache
def missing_engine():
    import docker

    try:
        docker.from_env().ping()
    except docker.errors.DockerException:
        return "no Docker engine answers; start one with: environments/start-docker.sh"
    return None


@functools.cache
def missing_environment_image():
    """Say whether the engine lacks the image of which trials make their containers."""
    from elevatorlab import testbeds

    testbed = testbeds.get("docker", say=lambda _: None)
    try:
        assert testbed.image
    except NotReady as problem:
        return str(problem)
    finally:
        testbed.close()
    return None


def missing_root():
    if os.geteuid() != 0:
        return "not root: devices and schedulers are out of reach; run: sudo make test-real"
    if not Path("/dev/loop-control").exists():
        return "no loop devices: /dev/loop-control is missing; run: sudo modprobe loop"
    return None


def missing_blkio():
    """Say whether the regulator's tests have no cgroup v1, which is a choice of the boot."""
    if not (BLKIO / "blkio.throttle.write_bps_device").exists() or not os.access(BLKIO, os.W_OK):
        return f"{OTHER_MACHINE}{BLKIO} is no blkio hierarchy (cgroup v1) that may be written to"
    return None


@functools.cache
def missing_vagrant():
    missing = [one for one in readiness.findings() if one.what != "KVM" and not one.ready]
    return "; ".join(f"{one.what}: {one.found}. {one.remedy}" for one in missing) or None


#: What a marker of this name needs, first things first.
MARKERS = {
    "blkio": missing_blkio,
    "browser": functools.partial(missing_programs, browser.PROGRAM),
    "docker": missing_engine,
    "environment_image": missing_environment_image,
    "image": missing_image,
    "root": missing_root,
    "ssh": functools.partial(missing_programs, "sshd"),
    "vagrant": missing_vagrant,
}


def missing(item):
    """Return what a test lacks here, in one line with the remedy; None where nothing is missing."""
    for marker, said in MARKERS.items():
        if item.get_closest_marker(marker) and (reason := said()):
            return reason
    wanted = {name: None for mark in item.iter_markers("programs") for name in mark.args}
    return missing_programs(*wanted)


def skip_on_this_machine(reason):
    """Skip a test that no command can bring to this machine; allowed where skips are not."""
    pytest.skip(OTHER_MACHINE + reason)
