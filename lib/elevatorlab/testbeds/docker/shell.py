"""Commands in a container, as `elevatorlab.testbeds.shell` has them for machines."""

import contextlib
import io
import tarfile
from pathlib import PurePosixPath

import docker
import paramiko
import requests

from ..shell import CommandFailed, ConnectionLost

BROKEN = (
    *(requests.exceptions.RequestException, docker.errors.APIError, OSError, EOFError),
    paramiko.SSHException,
)


class ContainerShell:
    """A container that runs as long as it is needed.

    Parameters
    ----------
    name : str
        What sentences call it.
    container : callable
        Returns the container, started; called again after the engine was away.
    """

    def __init__(self, name, container):
        self.name = name
        self.container = container

    @contextlib.contextmanager
    def _lost(self):
        try:
            yield
        except BROKEN as problem:
            raise ConnectionLost(
                f"the Docker engine of {self.name} does not answer ({problem})"
            ) from None

    def run(self, argv, timeout_s=60):
        """Run a command and return what it printed; its deadline is its own."""
        with self._lost():
            limited = ["timeout", str(timeout_s), *argv]
            container = self.container()
            status, (output, errors) = container.exec_run(limited, demux=True)
            if status:
                container.reload()
                if container.status != "running":
                    raise OSError("its container ended")
        if status:
            raise CommandFailed(self.name, argv, status, (errors or b"").decode())
        return (output or b"").decode()

    def lines(self, argv):
        """Run a command and yield its lines as they come."""
        with self._lost():
            container = self.container()
            api = container.client.api
            job = api.exec_create(container.id, argv, stderr=False)["Id"]
            rest = b""
            for part in api.exec_start(job, stream=True):
                *lines, rest = (rest + part).split(b"\n")
                yield from (line.decode() for line in lines)
            if api.exec_inspect(job)["ExitCode"] != 0:
                raise OSError("its container ended")

    def put(self, content, path):
        """Write a file."""
        path = PurePosixPath(path)
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            member = tarfile.TarInfo(path.name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        with self._lost():
            self.container().put_archive(str(path.parent), archive.getvalue())

    def get(self, path):
        """Return the bytes of a file."""
        with self._lost():
            stream, _ = self.container().get_archive(path)
            archive = io.BytesIO(b"".join(stream))
        with tarfile.open(fileobj=archive) as tar:
            return tar.extractfile(tar.getmembers()[0]).read()

    def close(self):
        """Nothing is open between commands."""
