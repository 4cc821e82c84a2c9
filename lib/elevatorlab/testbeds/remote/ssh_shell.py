"""Run commands on another machine through Fabric."""

import contextlib
import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import paramiko
from fabric import Connection

from ...errors import NotReady
from ...paths import command
from ..base import Say
from .shell import CommandFailed, ConnectionLost, pass_on
from .ssh_login import Login

#: A streaming command prints something every few seconds. After this silence, the connection
#: counts as broken.
SILENCE_S = 30

#: Time for a held command to restore what it changed, after its standard input is closed.
LET_GO_S = 60

#: Paramiko's exit status of a command whose end it did not see.
NO_STATUS = -1

#: What the far side prints, on both outputs, before a command's own output. Before it comes what
#: the account's start-up files print.
MARK = b"elevatorlab: here it begins"

#: Characters that every shell leaves alone within single quotes; csh and fish change some others.
PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./:=,@+"

#: Exceptions of a broken connection.
BROKEN = (TimeoutError, EOFError, ConnectionError, paramiko.SSHException)


class SshShell:
    """Runs commands on another machine; for its arguments, see `ssh_login.Login`."""

    def __init__(self, host: str, *login: Any, **more: Any) -> None:
        self.name = host
        self.login = Login(host, *login, **more)

    @property
    def connection(self) -> Connection:
        """Fabric's connection, which may not be open yet."""
        return self.login.connection

    @contextlib.contextmanager
    def _started(self, argv: Sequence[str], silence_s: float) -> Iterator[paramiko.Channel]:
        """Connect, and start a command.

        Every sign of a broken connection becomes `ConnectionLost`, and the connection is closed.
        """
        self.login.open()
        try:
            with self.connection.create_session() as channel:
                channel.settimeout(silence_s)
                channel.exec_command(as_sent(argv))
                yield channel
        except BROKEN as problem:
            self.close()
            why = (str(problem).strip() or "it broke").splitlines()[0]
            raise ConnectionLost(f"the connection to {self.name} was lost ({why})") from None

    def _exchange(self, argv: Sequence[str], given: bytes = b"", silence_s: float = 60) -> bytes:
        """Run a command on some input and return its standard output."""
        with self._started(argv, silence_s) as channel:
            with contextlib.suppress(OSError):  # it may have ended already; its status tells
                channel.sendall(given)
                channel.shutdown_write()
            before, mark, output = channel.makefile("rb").read().partition(MARK + b"\n")
            if not mark:
                raise self._runs_nothing(channel, before)
            status, said = _end(channel)
        if status:
            raise CommandFailed(self.name, argv, status, said)
        return output

    def run(self, argv: Sequence[str], timeout_s: float = 60) -> str:
        """Run a command and return its standard output."""
        return self._exchange(argv, silence_s=timeout_s).decode(errors="replace")

    def lines(self, argv: Sequence[str]) -> Iterator[str]:
        """Run a command and yield the lines that it prints, as they come."""
        with self._started(argv, SILENCE_S) as channel:
            output = channel.makefile("rb")
            self._skip_to_mark(channel, output)
            for line in output:
                yield line.decode(errors="replace")
            _end(channel)

    @contextlib.contextmanager
    def held(self, argv: Sequence[str], say: Say) -> Iterator[str]:
        """Keep a command running within the context; yield the first line that it prints.

        See `HoldingShell.held`. Leaving the context waits until the command has ended, for
        `LET_GO_S` at most.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.ExitStack() as starting:
                channel = starting.enter_context(self._started(argv, SILENCE_S))
                output = channel.makefile("rb")
                self._skip_to_mark(channel, output)
                line = output.readline().decode(errors="replace")
                if not line:
                    status, said = _end(channel)
                    raise CommandFailed(self.name, argv, status, said)
                stack.push(starting.pop_all())
            try:
                yield line
            finally:
                channel.shutdown_write()
                if channel.status_event.wait(LET_GO_S):
                    said = _errors(channel)
                else:
                    said = f"did not end within {LET_GO_S} s; see: {command('clean')}"
                pass_on(said, self.name, say)

    def _skip_to_mark(self, channel: paramiko.Channel, output: paramiko.ChannelFile) -> None:
        """Read what comes before the command's own output."""
        before = b""
        while not before.endswith(MARK + b"\n"):
            if not (line := output.readline()):
                raise self._runs_nothing(channel, before)
            before += line

    def _runs_nothing(self, channel: paramiko.Channel, before: bytes) -> NotReady:
        """Return the error about an account that does not run the commands that it is sent."""
        _, errors = _end(channel)
        user = self.connection.user
        said = " ".join(f"{before.decode(errors='replace')} {errors}".split())[-200:] or "nothing"
        return NotReady(
            f"the account {user} on {self.name} runs no commands (it says: {said}); expected a "
            f"login shell that does. Give it one there: sudo usermod --shell /bin/sh "
            f"{shlex.quote(user)}; or take the forced command off its key in authorized_keys"
        )

    def put(self, content: bytes, path: str) -> None:
        """Write a file. This needs no SFTP, which some servers do not have."""
        try:
            self._exchange(["sh", "-c", 'cat >"$1"', "sh", path], content)
        except CommandFailed as problem:
            raise NotReady(
                f"{path} on {self.name} could not be written ({problem.said}); expected "
                f"{len(content) >> 10} KiB of free disk space there. Free some"
            ) from None

    def get(self, path: str) -> bytes:
        """Return the bytes of a file."""
        return self._exchange(["cat", path])

    def close(self) -> None:
        """End the connection."""
        self.login.close()


def as_sent(argv: Sequence[str]) -> str:
    """Return a command line that means the same to every login shell: sh, csh, fish.

    The login shell starts sh, and sh gets the command in characters that no shell interprets.

    >>> as_sent(["id", "-u"]).rpartition("exec")[2]
    " id -u'"
    """
    script = b"echo '%b'; echo '%b' >&2; exec " % (MARK, MARK) + os.fsencode(shlex.join(argv))
    plain = "".join(chr(byte) if byte in PLAIN else f"\\0{byte:03o}" for byte in script)
    return f"""exec sh -c 'eval "$(printf %b "$0")"' '{plain}'"""


def _errors(channel: paramiko.Channel) -> str:
    """Return the error output of a command, without what came before the command."""
    output = channel.makefile_stderr("rb").read()
    return output.rpartition(MARK + b"\n")[2].decode(errors="replace")


def _end(channel: paramiko.Channel) -> tuple[int, str]:
    """Wait for the end of a command; return its status and its error output."""
    said = _errors(channel)
    channel.status_event.wait(channel.gettimeout())
    if channel.exit_status == NO_STATUS:
        raise EOFError("it ended without a status")
    return channel.exit_status, said
