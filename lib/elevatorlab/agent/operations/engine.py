"""The Docker engine through its Unix socket, read-only: what runs, and when that changes."""

from __future__ import annotations

import http.client
import json
import os
import socket
import urllib.parse
from typing import TYPE_CHECKING

from ..errors import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SOCKET = "/var/run/docker.sock"
TIMEOUT_S = 5
CHANGES = json.dumps({"type": ["container"], "event": ["start", "die", "rename"]})


class EngineGone(Exception):
    """The engine does not answer now."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("docker", timeout=TIMEOUT_S)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(self.path)


def socket_path(environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of the engine's socket (``DOCKER_HOST``, or Docker's own default)."""
    host = environment.get("DOCKER_HOST", f"unix://{SOCKET}")
    if not host.startswith("unix://"):
        raise Refused(
            f"expected DOCKER_HOST to be a Unix socket (unix://PATH); found {host!r}; run the "
            "regulator on the engine's own host"
        )
    return host[len("unix://") :]


class Engine:
    """A client that only reads."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._events: socket.socket | None = None

    def get(self, url: str) -> Any:
        """Return the decoded answer to a GET request."""
        connection = _Connection(self.path)
        try:
            connection.request("GET", url)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as problem:
            raise EngineGone(
                f"no answer from the Docker engine at {self.path}: {problem}"
            ) from None
        finally:
            connection.close()
        if answer.status == 404:
            raise KeyError(url)
        if answer.status != 200:
            raise EngineGone(f"the Docker engine answered {url} with status {answer.status}")
        try:
            return json.loads(body)
        except ValueError:
            raise EngineGone(
                f"what answers at {self.path} is no Docker engine: expected JSON for {url}"
            ) from None

    def running(self) -> list[str]:
        """Return the full ids of the running containers."""
        listed = self.get("/containers/json")
        try:
            return [entry["Id"] for entry in listed]
        except (TypeError, KeyError):
            raise EngineGone(
                f"what answers at {self.path} is no Docker engine: expected a list of containers"
            ) from None

    def inspect(self, container: str) -> dict[str, Any]:
        """Return the engine's description of one container."""
        description: dict[str, Any] = self.get(f"/containers/{urllib.parse.quote(container)}/json")
        return description

    def changed(self) -> bool:
        """Tell whether containers came or went since the last call (or may have).

        Costs one system call: the engine's event stream is only looked at. Where the engine has
        ended (`EngineGone`), the next call tries to reach it again.
        """
        if self._events is None:
            self._open_events()
            return True
        try:
            news = self._events.recv(1 << 16)
        except BlockingIOError:
            return False
        except OSError:
            news = b""
        if not news:
            self.close()
            raise EngineGone(f"the Docker engine at {self.path} ended its event stream")
        return True

    def _open_events(self) -> None:
        events = socket.socket(socket.AF_UNIX)
        try:
            events.settimeout(TIMEOUT_S)
            events.connect(self.path)
            filters = urllib.parse.quote(CHANGES)
            events.sendall(
                f"GET /events?filters={filters} HTTP/1.1\r\nHost: docker\r\n\r\n".encode()
            )
            events.setblocking(False)
        except OSError as problem:
            events.close()
            raise EngineGone(
                f"no answer from the Docker engine at {self.path}: {problem}"
            ) from None
        self._events = events

    def close(self) -> None:
        """Close the event stream."""
        if self._events:
            self._events.close()
        self._events = None


def reach(path: str) -> Engine:
    """Return an engine that answers."""
    engine = Engine(path)
    try:
        engine.running()
    except EngineGone as problem:
        advice = "start it, or name cgroups with --cgroup PATH"
        if os.path.exists(path) and not os.access(path, os.W_OK):
            advice = "run as root, or join the group that owns the socket"
        raise Refused(f"expected a running Docker engine; {problem}; {advice}") from None
    return engine
