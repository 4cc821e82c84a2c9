"""Shells, which run commands on a machine; for other machines than this, see `ssh_shell`."""

import contextlib
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from ...errors import ElevatorLabError, NotReady
from ..base import Say


class CommandFailed(ElevatorLabError):
    """A command ended with a status other than 0."""

    def __init__(self, where: str, argv: Sequence[str], status: int, said: str) -> None:
        self.status, self.said = status, " ".join(said.split())  # a sentence has one line
        super().__init__(
            f"{shlex.join(argv)[:120]} on {where} ended with status {status}: "
            f"{self.said[-300:] or 'it said nothing'}"
        )


class ConnectionLost(ElevatorLabError):
    """The machine does not answer any more."""


class Unreachable(NotReady):
    """Nothing answers at the address of a machine or of its Docker engine."""


def pass_on(said: str, where: str, say: Say) -> None:
    """Call `say` with each line of a command's error output, after the machine's name."""
    for line in said.splitlines():
        say(f"{where}: {line}")


class Shell(Protocol):
    """A way to a machine, or into a container."""

    #: Name of the machine in messages.
    name: str

    def run(self, argv: Sequence[str], timeout_s: float = 60) -> str:
        """Run a command and return its standard output."""
        ...

    def lines(self, argv: Sequence[str]) -> Iterator[str]:
        """Run a command and yield the lines that it prints, as they come."""
        ...

    def put(self, content: bytes, path: str) -> None:
        """Write a file."""
        ...

    def get(self, path: str) -> bytes:
        """Return the bytes of a file."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


class HoldingShell(Shell, Protocol):
    """A shell that can keep a command running while other things happen."""

    def held(self, argv: Sequence[str], say: Say) -> AbstractContextManager[str]:
        """Keep a command running within the context; yield the first line that it prints.

        The command prints this line when it is ready. When the context is left, the command's
        standard input is closed, and the command must end.

        `say`: Called with each line of the command's error output, after the command has ended.
        """
        ...


class LocalShell:
    """Runs commands on this machine."""

    name = "this machine"

    def run(self, argv: Sequence[str], timeout_s: float = 60) -> str:
        """Run a command and return its standard output."""
        try:
            run = subprocess.run(
                argv, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL
            )
        except FileNotFoundError:
            raise CommandFailed(self.name, argv, 127, f"{argv[0]}: not found") from None
        except subprocess.TimeoutExpired:
            raise CommandFailed(self.name, argv, 124, f"no end within {timeout_s} s") from None
        if run.returncode:
            raise CommandFailed(self.name, argv, run.returncode, run.stderr)
        return run.stdout

    def lines(self, argv: Sequence[str]) -> Iterator[str]:
        """Run a command and yield the lines that it prints, as they come."""
        with subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            try:
                yield from process.stdout
            finally:
                process.terminate()

    @contextlib.contextmanager
    def held(self, argv: Sequence[str], say: Say) -> Iterator[str]:
        """Keep a command running within the context; yield the first line that it prints.

        See `HoldingShell.held`. Leaving the context waits until the command has ended.
        """
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdin and process.stdout and process.stderr
            line = process.stdout.readline()
            if not line:
                said = process.stderr.read()
                raise CommandFailed(self.name, argv, process.wait(), said)
            try:
                yield line
            finally:
                process.stdin.close()
                pass_on(process.stderr.read(), self.name, say)

    def put(self, content: bytes, path: str) -> None:
        """Write a file."""
        Path(path).write_bytes(content)

    def get(self, path: str) -> bytes:
        """Return the bytes of a file."""
        return Path(path).read_bytes()

    def close(self) -> None:
        """Do nothing: there is no connection."""
