"""Run commands on another machine through Fabric."""

import contextlib
import io
import logging
import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import invoke
import paramiko
from fabric import Config, Connection

from ...errors import NotReady
from ...paths import command
from ..base import Say
from .shell import CommandFailed, ConnectionLost, Unreachable, pass_on

# When a connection breaks, its thread would print a traceback besides raising the exception here.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)

CONNECT_TIMEOUT_S = 15

#: A streaming command prints something every few seconds. After this silence, the connection
#: counts as broken.
SILENCE_S = 30

#: Time for a held command to restore what it changed, after its standard input is closed.
LET_GO_S = 60

#: Paramiko's exit status of a command whose end it did not see.
NO_STATUS = -1

#: Exceptions of a broken connection: those of paramiko, and those of Fabric's threads.
BROKEN = (
    *(TimeoutError, EOFError, ConnectionError, paramiko.SSHException),
    *(invoke.exceptions.ThreadException, invoke.exceptions.CommandTimedOut),
)


class SshShell:
    """Runs commands on another machine.

    The machine's host key must be known. The user is never asked anything.

    `key_file`: Private key; by default the keys of an SSH agent and of ``~/.ssh``. `known_hosts`:
    File of known host keys; by default ``~/.ssh/known_hosts`` and the system's file.
    """

    def __init__(
        self,
        host: str,
        user: str | None = None,
        port: int | None = None,
        key_file: str | None = None,
        known_hosts: str | None = None,
        ssh_config: bool = False,
    ) -> None:
        self.name = host
        self.known_hosts = known_hosts
        keys: dict[str, Any] = {"key_filename": os.path.expanduser(key_file)} if key_file else {}
        if key_file:
            keys |= {"look_for_keys": False, "allow_agent": False}
        self.connection = Connection(
            host,
            user=user,
            port=port,
            config=Config(overrides={"load_ssh_configs": ssh_config}),
            connect_timeout=CONNECT_TIMEOUT_S,
            connect_kwargs=keys,
        )

    def open(self) -> None:
        """Connect, unless the connection is open."""
        if self.connection.is_connected:
            return
        where = f"{self.connection.user}@{self.name}:{self.connection.port}"
        client = self.connection.client
        try:
            if self.known_hosts:
                client.load_host_keys(os.path.expanduser(self.known_hosts))
            else:
                client.load_system_host_keys()
            client.set_missing_host_key_policy(paramiko.RejectPolicy())
            self.connection.open()
            self.connection.transport.set_keepalive(10)
        except paramiko.BadHostKeyException as problem:
            raise NotReady(
                f"{where} shows another host key than the one known ({problem.key.get_name()}); "
                "expected the same. If the machine was set up anew, remove the old key with "
                f"ssh-keygen -R '{self.name}'; otherwise somebody is in between"
            ) from None
        except paramiko.AuthenticationException as problem:
            if "EOF" in str(problem):  # the connection broke while it was being made
                raise Unreachable(f"{where}: {problem}; expected an SSH server") from None
            raise NotReady(
                f"{where} did not accept a key; expected a login without password. Add yours "
                "there with ssh-copy-id, or name it: ssh://...?key=FILE"
            ) from None
        except paramiko.SSHException as problem:
            if "not found in known_hosts" in str(problem):
                raise NotReady(
                    f"the host key of {where} is unknown; expected it in known_hosts. Log in once "
                    "with ssh and compare its fingerprint, or name a file: ssh://...?known_hosts=FILE"
                ) from None
            raise Unreachable(f"{where}: no SSH connection ({problem}); expected one") from None
        except FileNotFoundError as problem:
            raise NotReady(
                f"{where}: {problem.filename} does not exist; expected a key or known_hosts file"
            ) from None
        except (OSError, EOFError) as problem:
            raise Unreachable(
                f"{where} cannot be reached ({getattr(problem, 'strerror', None) or problem}); "
                "expected an SSH server. Check name, port and network"
            ) from None

    @contextlib.contextmanager
    def _lost(self) -> Iterator[None]:
        """Connect; turn every sign of a broken connection into `ConnectionLost`, and close it."""
        self.open()
        try:
            yield
        except BROKEN as problem:
            self.close()
            why = (str(problem).strip() or "it broke").splitlines()[0]
            raise ConnectionLost(f"the connection to {self.name} was lost ({why})") from None

    def run(self, argv: Sequence[str], timeout_s: float = 60) -> str:
        """Run a command and return its standard output."""
        with self._lost():
            run = self.connection.run(
                shlex.join(argv), hide=True, warn=True, in_stream=False, timeout=timeout_s
            )
            if run.exited == NO_STATUS:
                raise EOFError("it ended without a status")
        if run.exited:
            raise CommandFailed(self.name, argv, run.exited, run.stderr)
        return str(run.stdout)

    def lines(self, argv: Sequence[str]) -> Iterator[str]:
        """Run a command and yield the lines that it prints, as they come."""
        with self._lost():
            channel = self.connection.create_session()
            channel.settimeout(SILENCE_S)
            with channel, channel.makefile("r") as output:
                channel.exec_command(shlex.join(argv))
                yield from output
                if channel.recv_exit_status() == NO_STATUS:
                    raise EOFError("it ended without a status")

    @contextlib.contextmanager
    def held(self, argv: Sequence[str], say: Say) -> Iterator[str]:
        """Keep a command running within the context; yield the first line that it prints.

        See `HoldingShell.held`. Leaving the context waits until the command has ended, for
        `LET_GO_S` at most.
        """
        with self._lost():
            channel = self.connection.create_session()
            channel.settimeout(SILENCE_S)
            channel.exec_command(shlex.join(argv))
            line = channel.makefile("r").readline()
            if not line:
                status = channel.recv_exit_status()
                said = channel.makefile_stderr("r").read().decode(errors="replace")
        with channel:
            if not line:
                raise CommandFailed(self.name, argv, status, said)
            try:
                yield line
            finally:
                channel.shutdown_write()
                if channel.status_event.wait(LET_GO_S):
                    said = channel.makefile_stderr("r").read().decode(errors="replace")
                else:
                    said = f"did not end within {LET_GO_S} s; see: {command('clean')}"
                pass_on(said, self.name, say)

    def put(self, content: bytes, path: str) -> None:
        """Write a file."""
        with self._lost():
            try:
                self.connection.put(io.BytesIO(content), path)
            except OSError as problem:
                self.connection.transport.join(1)  # the transport notices a break a moment later
                if not self.connection.is_connected:
                    raise EOFError(problem) from None
                raise NotReady(
                    f"{path} on {self.name} could not be written ({problem}); expected "
                    f"{len(content) >> 10} KiB of free disk space there. Free some"
                ) from None

    def get(self, path: str) -> bytes:
        """Return the bytes of a file."""
        content = io.BytesIO()
        with self._lost():
            self.connection.get(path, content)
        return content.getvalue()

    def close(self) -> None:
        """End the connection."""
        with contextlib.suppress(Exception):  # it may be broken in every way
            self.connection.close()
