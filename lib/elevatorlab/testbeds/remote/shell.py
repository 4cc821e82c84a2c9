"""How commands reach a machine; this one directly (another one: `ssh_shell`)."""

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
    """The far side does not answer any more."""


class Unreachable(NotReady):
    """Nobody answers where the far side was expected."""


def pass_on(said: str, where: str, say: Say) -> None:
    """Let `say` have the complaints of a command, each as a sentence that names its machine."""
    for line in said.splitlines():
        say(f"{where}: {line}")


class Shell(Protocol):
    """A way to a machine, or into a container.

    Attributes
    ----------
    name : str
        What sentences call the machine.
    """

    name: str

    def run(self, argv: Sequence[str], timeout_s: float = 60) -> str:
        """Run a command and return what it printed."""
        ...

    def lines(self, argv: Sequence[str]) -> Iterator[str]:
        """Run a command and yield its lines as they come."""
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
    """A shell of a machine, where a command may be held."""

    def held(self, argv: Sequence[str], say: Say) -> AbstractContextManager[str]:
        """Run a command that prints a line once it is ready, and ends with its standard input."""
        ...


class LocalShell:
    """Commands on this machine."""

    name = "this machine"

    def run(self, argv: Sequence[str], timeout_s: float = 60) -> str:
        """Run a command and return what it printed."""
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
        """Run a command and yield its lines as they come."""
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
        """Run a command that prints a line once it is ready, and ends with its standard input.

        Yields the line; the command has ended when the context is left. `say` receives its
        complaints.
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
        """Nothing is open."""
