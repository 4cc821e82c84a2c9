"""Commands in a container, as `elevatorlab.testbeds.remote.shell` has them for machines."""

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

#: How long to wait for output before looking whether the container is still there.
LOOK_EVERY_S = 2


#: What a command prints: output and errors, one of them None.
Part = tuple[bytes | None, bytes | None]


class ContainerShell:
    """A container that runs as long as it is needed.

    Parameters
    ----------
    name : str
        What sentences call it.
    container : callable
        Returns the container, started; called again after the engine was away.
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
        """Run a command and return what it printed; `timeout_s` is a deadline of its own."""
        with self._lost():
            command = Command(self.container(), ["timeout", str(timeout_s), *argv])
            parts = list(command.parts())
            status = command.status()
        output, errors = (b"".join(part[end] or b"" for part in parts).decode() for end in (0, 1))
        if status:
            raise CommandFailed(self.name, argv, status, errors)
        return output

    def lines(self, argv: Sequence[str]) -> Iterator[str]:
        """Run a command and yield its lines as they come."""
        with self._lost():
            command, rest = Command(self.container(), argv), b""
            for output, _ in command.parts():
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
            assert file  # it is no folder
            return file.read()

    def close(self) -> None:
        """Nothing is open between commands."""


class Command:
    """A command in a container, watched: the engine may not tell that the container ended."""

    def __init__(self, container: Container, argv: Sequence[str]) -> None:
        assert container.client
        self.container, self.api = container, container.client.api
        self.id = self.api.exec_create(container.id, argv)["Id"]

    def parts(self) -> Iterator[Part]:
        """Yield pairs of what it prints: output and errors, one of them None."""
        came: queue.SimpleQueue[Part | Exception | None] = queue.SimpleQueue()
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

    def _read(self, put: Callable[[Part | Exception | None], None]) -> None:
        """Hand over each part, then None, or what went wrong."""
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
        """Return its exit status."""
        status: int | None = self.api.exec_inspect(self.id)["ExitCode"]
        if status:
            self._still_there()
        return status
