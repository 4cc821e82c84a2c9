"""Versions of the packages in the environments, and how they differ."""

import fnmatch
import subprocess

import pytest

from elevatorlab.paths import ENVIRONMENTS, PROJECT
from elevatorlab.testbeds.deterministic import image

TAG = "elevatorlab-environment"

LIST = r"dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n'"


def lines(name):
    content = (ENVIRONMENTS / name).read_text().splitlines()
    return [line for whole in content if (line := whole.partition("#")[0].strip())]


BOOT = lines("boot-packages.txt")

#: What the deterministic image has for a virtual machine inside: QEMU, and what it alone pulls in.
INSIDE = """
ipxe-qemu iso-codes libasound2 libasound2-data libbrlapi0.8 libcacard0 libcapstone4
libdrm-common libdrm2 libdw1 libepoxy0 libexecs0 libfdt1 libfuse3-3 libgbm1 libglib2.0-0
libgstreamer-plugins-base1.0-0 libgstreamer1.0-0 libjpeg62-turbo libnspr4 libnss3 libopus0
liborc-0.4-0 libpcsclite1 libpixman-1-0 libpng16-16 libslirp0 libsndio7.0 libspice-server1
libunwind8 libusb-1.0-0 libusbredirparser1 libvdeplug2 libwayland-server0 qemu-system-common
qemu-system-data qemu-system-x86 seabios
""".split()


def starts_a_machine(package):
    return any(fnmatch.fnmatchcase(package, pattern) for pattern in [*BOOT, *INSIDE])


def packages(listed):
    """Return name -> version of what `LIST` has printed."""
    rows = [line.split() for line in listed.splitlines()]
    assert rows and {status for status, *_ in rows} == {"installed"}
    return {name: version for _, name, version in rows}


def docker_run(*arguments):
    run = subprocess.run(["docker", "run", "--rm", *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def container():
    make = ["make", "--no-print-directory", "environment-image"]
    subprocess.run(make, cwd=PROJECT, check=True, stdin=subprocess.DEVNULL)
    return packages(docker_run(TAG, "sh", "-c", LIST))


@pytest.fixture(scope="module")
def deterministic():
    return image.current()["packages"]


def differences(one, other):
    """Return package -> its two versions, for what is not the same and starts no machine."""
    names = {name for name in one.keys() | other.keys() if not starts_a_machine(name)}
    both = {name: (one.get(name, "absent"), other.get(name, "absent")) for name in sorted(names)}
    return {name: versions for name, versions in both.items() if len(set(versions)) == 2}


REBUILD = (
    "a base of another day has other versions; build all three anew: make environment-image "
    "DOCKER_BUILD_ARGS=--no-cache; environments/make-base-box.sh; elevatorlab image build --force"
)
