"""A real SSH server on a loopback port, with keys made for the test; and a trial over it."""

import contextlib
import getpass
import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from state import run_and_restore

CONFIGURATION = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile {folder}/pid
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
{more}
"""


@dataclass
class Server:
    """A running server and how to reach it."""

    folder: Path
    port: int
    process: subprocess.Popen

    @property
    def key(self):
        return self.folder / "key"

    @property
    def known_hosts(self):
        return self.folder / "known_hosts"

    @property
    def address(self):
        """The testbed's name."""
        return self.address_of(getpass.getuser())

    def address_of(self, user, **options):
        """Return the testbed's name for another user, key or file of known hosts."""
        options = {"key": self.key, "known_hosts": self.known_hosts, **options}
        said = "&".join(f"{name}={value}" for name, value in options.items())
        return f"ssh://{user}@127.0.0.1:{self.port}?{said}"

    def sessions(self):
        """Return the process ids of the server's connections."""
        listed = subprocess.run(
            ["ps", "--ppid", str(self.process.pid), "-o", "pid="], capture_output=True, text=True
        )
        return [int(pid) for pid in listed.stdout.split()]

    def cut_connections(self):
        """Break every connection, as a network that fails does."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)


@contextlib.contextmanager
def running(folder, more="", below=()):
    """Run a server whose files are in the empty `folder`.

    `more` is added to its configuration; the command `below`, such as ``unshare ... --``, runs it.
    """
    make_key(folder / "host_key")
    make_key(folder / "key")
    (folder / "authorized_keys").write_bytes((folder / "key.pub").read_bytes())
    port = free_port()
    host_key = (folder / "host_key.pub").read_text().split()[:2]
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {' '.join(host_key)}\n")
    (folder / "sshd_config").write_text(CONFIGURATION.format(port=port, folder=folder, more=more))
    folder.chmod(0o755)  # the keys of a user who is not root are read as that user
    Path("/run/sshd").mkdir(exist_ok=True)
    command = [*below, "/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd_config")]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
    server = Server(folder, port, process)
    try:
        _wait(server)
        yield server
    finally:
        server.cut_connections()
        process.terminate()
        process.wait()


def environment(path, home):
    """Return the lines of configuration that decide which programs a command finds.

    Another home, because the shell's start-up files there may have their own idea of it.
    """
    return f"SetEnv PATH={path} HOME={home}"


def _wait(server):
    for _ in range(6000):  # ends a test that would hang
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", server.port)) == 0:
                return
        assert server.process.poll() is None, (server.folder / "log").read_text()
        time.sleep(0.05)
    raise AssertionError("sshd did not listen within 5 min")


def make_key(file):
    """Make a key pair without passphrase."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)


def free_port():
    """Return a loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("sshd")) as started:
        yield started


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a trial on a testbed and returns its result's folder."""

    def one(address, trial, note=lambda _: None):
        return run_and_restore(address, trial, tmp_path / "results", note)

    return one
