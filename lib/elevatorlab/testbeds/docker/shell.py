"""Run commands in a container (on a machine: `elevatorlab.testbeds.remote.shell`)."""

import contextlib
import io
import queue
import tarfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

import docker
import paramiko
import requests
from docker.models.containers import Container

from ..remote.shell import CommandFailed, ConnectionLost

BROKEN = (
    *(requests.exceptions.RequestException, docker.errors.APIError, OSError, EOFError),
    paramiko.SSHException,
)

#: Time to wait for output before checking that the container still runs.
LOOK_EVERY_S = 2


#: A piece of what a command prints: (output, None) or (None, error output).
Chunk = tuple[bytes | None, bytes | None]


class ContainerShell:
    """Runs commands in a container.

    `container`: Returns the running container. It is called before each command, so that the
    container is started again if it has ended.
    """

    def __init__(self, name: str, container: Callable[[], Container]) -> None:
        self.name = name
        self.container = container

    @contextlib.contextmanager
    def _lost(self) -> Iterator[None]:
        try:
            yield
        except BROKEN as problem:
            raise ConnectionLost(
                f"the Docker engine of {self.name} does not answer ({problem})"
            ) from None

    def run(self, argv: Sequence[str], timeout_s: float = 60) -> str:
        """Run a command and return its standard output.

        In the container, the program ``timeout`` ends the command after `timeout_s`.
        """
        with self._lost():
            command = Command(self.container(), ["timeout", str(timeout_s), *argv])
            chunks = list(command.chunks())
            status = command.status()
        output, errors = (
            b"".join(chunk[end] or b"" for chunk in chunks).decode() for end in (0, 1)
        )
        if status:
            raise CommandFailed(self.name, argv, status, errors)
        return output

    def lines(self, argv: Sequence[str]) -> Iterator[str]:
        """Run a command and yield the lines that it prints, as they come."""
        with self._lost():
            command, rest = Command(self.container(), argv), b""
            for output, _ in command.chunks():
                *lines, rest = (rest + (output or b"")).split(b"\n")
                yield from (line.decode() for line in lines)
            if command.status():
                raise OSError("the command was killed")

    def put(self, content: bytes, path: str) -> None:
        """Write a file."""
        place = PurePosixPath(path)
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            member = tarfile.TarInfo(place.name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        with self._lost():
            self.container().put_archive(str(place.parent), archive.getvalue())

    def get(self, path: str) -> bytes:
        """Return the bytes of a file."""
        with self._lost():
            stream, _ = self.container().get_archive(path)
            archive = io.BytesIO(b"".join(stream))
        with tarfile.open(fileobj=archive) as tar:
            file = tar.extractfile(tar.getmembers()[0])
            assert file  # the path is a file
            return file.read()

    def close(self) -> None:
        """Do nothing: no connection is open between commands."""


class Command:
    """A command that runs in a container.

    The container is watched, because the engine may not report that the container has ended.
    """

    def __init__(self, container: Container, argv: Sequence[str]) -> None:
        assert container.client
        self.container, self.api = container, container.client.api
        self.id = self.api.exec_create(container.id, argv)["Id"]

    def chunks(self) -> Iterator[Chunk]:
        """Yield what the command prints, piece by piece: (output, None) or (None, error output)."""
        came: queue.SimpleQueue[Chunk | Exception | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(came.put,), daemon=True).start()
        while True:
            try:
                part = came.get(timeout=LOOK_EVERY_S)
            except queue.Empty:
                self._still_there()
                continue
            if part is None:
                return
            if isinstance(part, Exception):
                raise part
            yield part

    def _read(self, put: Callable[[Chunk | Exception | None], None]) -> None:
        """Call `put` with each piece, then with None, or with the exception that was raised."""
        try:
            for part in self.api.exec_start(self.id, stream=True, demux=True):
                put(part)
            put(None)
        except Exception as problem:
            put(problem)

    def _still_there(self) -> None:
        self.container.reload()
        if self.container.status != "running":
            raise OSError("its container ended")

    def status(self) -> int | None:
        """Return the command's exit status."""
        status: int | None = self.api.exec_inspect(self.id)["ExitCode"]
        if status:
            self._still_there()
        return status
