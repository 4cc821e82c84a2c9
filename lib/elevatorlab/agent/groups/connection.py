"""Connections to workers: how the agent reaches what runs inside a group."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import traceback
from typing import TYPE_CHECKING

from ..errors import AgentError
from . import worker

if TYPE_CHECKING:
    from typing import IO, Any, Protocol

    class Connection(Protocol):
        """The agent's connection to a worker."""

        requests: IO[str]
        answers: IO[str]
        #: What ends when the worker does; empty for a process, which leaves a status.
        ends_with: str

        def close(self) -> int | None:
            """Let the worker end; return its exit status, where it has one."""


class Worker:
    """The agent's end of a connection to a worker in the group `group`: call its functions."""

    def __init__(self, group: str, channel: Connection) -> None:
        self.group = group
        self.channel = channel

    def call(self, function: str, **arguments: Any) -> Any:
        """Run `function` in the group and return its answer."""
        try:
            self.channel.requests.write(json.dumps([function, arguments]) + "\n")
            self.channel.requests.flush()
            line = self.channel.answers.readline()
        except (BrokenPipeError, ConnectionError):
            line = ""
        if not line:
            status = self.channel.close()
            ended = self.channel.ends_with
            ending = f"with {ended}" if ended else f"(status {status}; see log.txt)"
            raise AgentError(
                f"the worker of group {self.group!r} ended {ending} before it had done "
                f"{function}; expected it to answer. Run the trial again"
            )
        answer = json.loads(line)
        if "error" in answer:
            raise AgentError(f"{function} in group {self.group!r}: {answer['error']}")
        return answer["value"]

    def stop(self) -> None:
        """End the worker and what it started."""
        self.channel.close()


class _Child:
    """A worker that is a child of the agent, and leaves a status."""

    ends_with = ""
    requests: IO[str]
    answers: IO[str]

    def close(self) -> int:
        """Let the worker end, and wait for it; return its exit status."""
        with contextlib.suppress(BrokenPipeError):  # gone already
            self.requests.close()
        return self._wait()

    def _wait(self) -> int:
        raise NotImplementedError


class Pipes(_Child):
    """A worker started by the agent: its standard input and output."""

    def __init__(self, argv: list[str]) -> None:
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdin and self.process.stdout
        self.requests, self.answers = self.process.stdin, self.process.stdout

    def _wait(self) -> int:
        return self.process.wait()


class Copy(_Child):
    """A worker that is a copy of this process, in another cgroup.

    A new interpreter would take longer to start than all else at the beginning of a short trial.
    """

    def __init__(self, cgroup: pathlib.Path) -> None:
        asked, requests = os.pipe()
        answers, answered = os.pipe()
        sys.stderr.flush()
        self.status: int | None = None
        self.process = os.fork()
        if self.process == 0:
            self._serve(cgroup, asked, answered)
        os.close(asked)
        os.close(answered)
        self.requests = os.fdopen(requests, "w")
        self.answers = os.fdopen(answers)

    def _serve(self, cgroup: pathlib.Path, asked: int, answered: int) -> None:
        """Become the worker; nothing of the agent's may run in it, and no file of it stay open."""
        status = 1
        try:
            (cgroup / "cgroup.procs").write_text("0")
            os.dup2(asked, 0)
            os.dup2(answered, 1)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
            worker.serve()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def _wait(self) -> int:
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        return self.status


class Socket:
    """A worker that somebody else started in a container: the socket it listens on."""

    ends_with = "its container"
    requests: IO[str]
    answers: IO[str]

    def __init__(self, path: str) -> None:
        self.socket = _connected(path)
        self.requests = self.socket.makefile("w")
        self.answers = self.socket.makefile("r")

    def close(self) -> None:
        """Let the worker end; its container ends with it."""
        for end in (self.requests, self.answers, self.socket):
            with contextlib.suppress(BrokenPipeError):
                end.close()
        return None


def _connected(path: str, patience_s: float = 30) -> socket.socket:
    """Connect to a socket that may not be there for a moment yet."""
    until_s = time.monotonic() + patience_s
    while True:
        end = socket.socket(socket.AF_UNIX)
        try:
            end.connect(path)
            return end
        except (FileNotFoundError, ConnectionRefusedError) as problem:
            end.close()
            if time.monotonic() > until_s:
                raise AgentError(
                    f"no worker listens on {path} ({problem}); expected one in the container"
                ) from None
            time.sleep(0.05)
