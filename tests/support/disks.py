"""Real disks that a test may overwrite: loop devices over files of its own."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from elevatorlab.agent.devices import protection
from elevatorlab.agent.devices.protection import DiskRefused

MIB = 1 << 20


def said(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **more).stdout.strip()


def attached(file, *options):
    """Attach a loop device to a file, or to another device, and return its kernel name."""
    return Path(said("losetup", "--find", "--show", *options, str(file))).name


def refusal(name, destroy=True):
    """Return the sentence with which the agent refuses a disk."""
    with pytest.raises(DiskRefused) as refused:
        protection.check(name, destroy)
    sentence = str(refused.value)
    assert sentence.startswith(f"/dev/{name} ") and "expected" in sentence
    return sentence


@contextlib.contextmanager
def loop(file, *options):
    name = attached(file, *options)
    try:
        yield name
    finally:
        said("losetup", "--detach", f"/dev/{name}")


@pytest.fixture
def disk(tmp_path):
    """Return the kernel name of a real disk: a loop device of 64 MiB, all zeros."""
    (tmp_path / "disk").write_bytes(b"")
    os.truncate(tmp_path / "disk", 64 * MIB)
    with loop(tmp_path / "disk") as name:
        yield name


@pytest.fixture
def by_id():
    """Return a function that gives a disk a name below /dev/disk/by-id, as udev does."""
    made, folders = (
        [],
        [folder for folder in (protection.BY_ID.parent, protection.BY_ID) if not folder.exists()],
    )
    protection.BY_ID.mkdir(parents=True, exist_ok=True)

    def link(name, stable_id="elevatorlab-test-disk"):
        path = protection.BY_ID / stable_id
        path.unlink(missing_ok=True)
        path.symlink_to(f"../../{name}")
        made.append(path)
        return stable_id

    yield link
    for path in made:
        path.unlink(missing_ok=True)
    for folder in reversed(folders):
        folder.rmdir()
