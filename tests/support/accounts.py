"""Throwaway users of this machine, and an SSH server whose files they may read."""

import contextlib
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

import sshd
from helpers import wait_until


@contextlib.contextmanager
def user(name, folder, shell="/bin/sh"):
    """Make a user of this machine, and remove it again."""
    subprocess.run(
        ["useradd", "--no-create-home", "--home-dir", str(folder), "--shell", shell]
        + ["--password", "*", name],  # no password, and yet not locked
        check=True,
    )
    try:
        yield pwd.getpwnam(name)
    finally:
        # Not before its last process, the server's, has ended.
        wait_until(lambda: subprocess.run(["userdel", name], capture_output=True).returncode == 0)


@pytest.fixture
def guest(tmp_path_factory):
    """Return a throwaway user, and the folder that the agent's things of this user go to."""
    # No folder above may be closed to the user, whose keys are read by the user's own process.
    with user("elevatorlab-test", "/nonexistent") as entry:
        folder = Path(f"/var/tmp/elevatorlab-{entry.pw_uid}")
        yield entry.pw_name, folder
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def sudo(guest):
    """Let that user be root without a password."""
    with sudo_rules():
        yield


@contextlib.contextmanager
def sudo_rules(more=""):
    """Let the user of `guest` be root without a password, within the context."""
    rule = Path("/etc/sudoers.d/elevatorlab-test")
    rule.write_text(f"{more}\nelevatorlab-test ALL=(ALL) NOPASSWD: ALL\n")
    try:
        yield
    finally:
        rule.unlink()


@pytest.fixture
def open_server():
    """Return a server whose files everybody may read."""
    folder = Path("/run/elevatorlab-test-sshd")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with sshd.running(folder) as running:
        yield running
    shutil.rmtree(folder)
