"""Connect to a Docker engine, or say how to get one."""

from __future__ import annotations

import errno
import getpass
import os

import docker
from docker.context import ContextAPI
from docker.context.config import get_current_context_name

from ...errors import ElevatorLabError, NotReady
from ..remote.shell import CommandFailed, Unreachable
from ..remote.ssh import parse
from ..remote.ssh_shell import SshShell
from .shell import BROKEN

SOCKET = "/var/run/docker.sock"

#: Errors of docker-py where what it reads is not an engine's answer.
NO_ENGINE = (ValueError, TypeError, LookupError, StopIteration)

#: Timeout of one HTTP answer of the engine; a trial may take longer.
API_TIMEOUT_S = 60

#: Connections that docker-py keeps open for later requests, one for each address. Over SSH, each
#: connection is a session, and a server allows ten sessions by default.
IDLE_CONNECTIONS = 3

#: A shell's exit status where it does not find the program.
NOT_FOUND = 127

#: By the operating system's error number: the reason, in words that fit our messages.
WHY = {errno.ENOENT: "nothing is there", errno.ECONNREFUSED: "the connection was refused"}

START = "Start one (environments/start-docker.sh can), or name another in DOCKER_HOST"
START_THERE = "Start one on that machine"
INSTALL_THERE = "Install it there: sudo apt-get install docker.io"
LOOK = "Look at what listens there, or name an engine in DOCKER_HOST"
LISTED = "See docker context ls; choose one with: docker context use default; unset DOCKER_CONTEXT"
JOIN = "Use sudo, or join the group docker and log in again: sudo usermod -aG docker {user}"
NAME = "In DOCKER_HOST, expected unix:///PATH, tcp://HOST:PORT or ssh://USER@HOST"


def connect(address: str | None = None) -> docker.DockerClient:
    """Return a client of the engine, after the engine has answered.

    `address`: ``ssh://USER@HOST:PORT`` of another machine's engine; by default the engine that
    Docker's own environment variables or its current context name.
    """
    if not address and not os.environ.get("DOCKER_HOST"):
        _check_context()
    try:
        if address:
            client = docker.DockerClient(address, timeout=API_TIMEOUT_S, num_pools=IDLE_CONNECTIONS)
        else:
            client = docker.from_env(timeout=API_TIMEOUT_S)
        str(client.version()["Version"])
        return client
    except (docker.errors.DockerException, *BROKEN, *NO_ENGINE) as problem:
        raise missing(problem, address) from None


def _context() -> str:
    """Return the name of the context that Docker's own command takes."""
    return os.environ.get("DOCKER_CONTEXT") or str(get_current_context_name())


def _check_context() -> None:
    """Refuse a context that is not there, in whose place docker-py takes the default engine."""
    try:
        found = ContextAPI.get_context(_context())
    except Exception as problem:  # it raises plain exceptions
        raise NotReady(
            f"Docker's context {_context()} cannot be read ({problem})", LISTED
        ) from None
    if found is None:
        raise NotReady(f"Docker has no context {_context()!r}, which is the current one", LISTED)


def _where(address: str | None) -> str:
    """Return the engine's address, and the context that names it."""
    if named := address or os.environ.get("DOCKER_HOST"):
        return named
    context = ContextAPI.get_context(_context())
    host = (context and context.Host) or f"unix://{SOCKET}"
    return host if _context() == "default" else f"{host} (Docker's context {_context()})"


def missing(problem: BaseException, address: str | None) -> Unreachable:
    """Return the error that says at which address no engine answers, why, and what to do."""
    where = _where(address)
    if where.startswith("ssh://") and (why_there := _asked_there(where.partition(" ")[0])):
        return Unreachable(f"no Docker engine answers at {where}: {why_there[0]}", why_there[1])
    cause = _first_cause(problem)
    if isinstance(cause, PermissionError):
        user = getpass.getuser()
        why, remedy = f"{user} may not ask it", JOIN.format(user=user)
    elif isinstance(cause, docker.errors.DockerException):
        why, remedy = str(cause), NAME
    elif isinstance(cause, NO_ENGINE):
        why, remedy = "what answers there is no engine", LOOK
    else:
        why = WHY.get(getattr(cause, "errno", None) or 0, str(cause) or type(cause).__name__)
        remedy = START_THERE if address else START
    return Unreachable(f"no Docker engine answers at {where}: {' '.join(why.split())}", remedy)


def _asked_there(address: str) -> tuple[str, str] | None:
    """Return why an engine behind SSH does not answer, and what to do; None if it answers now.

    docker-py tells little of that. So log in, and ask Docker's own command there.
    """
    try:
        shell = SshShell(**{**parse(address), "ssh_config": True})
        try:
            user = shell.run(["id", "-un"]).strip()
            shell.run(["docker", "version"])
            return None
        except CommandFailed as problem:
            if problem.status == NOT_FOUND:
                return "that machine has no program docker", INSTALL_THERE
            barred = f"test -S {SOCKET} && ! test -w {SOCKET} && echo barred || true"
            if shell.run(["sh", "-c", barred]).strip():
                return f"{user} may not ask it", f"On that machine: {JOIN.format(user=user)}"
            return problem.said or f"docker version ended with {problem.status}", START_THERE
        finally:
            shell.close()
    except ElevatorLabError as problem:
        return str(problem), ""


def _first_cause(problem: BaseException) -> BaseException:
    while before := problem.__cause__ or problem.__context__:
        problem = before
    return problem
