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


def starts_a_machine(package):
    return any(fnmatch.fnmatchcase(package, pattern) for pattern in BOOT)


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
