"""Connect to a Docker engine, or say how to get one."""

from __future__ import annotations

import errno
import getpass
import os

import docker

from ..remote.shell import Unreachable
from .shell import BROKEN

#: Timeout of one HTTP answer of the engine; a trial may take longer.
API_TIMEOUT_S = 60

#: Connections that docker-py keeps open for later requests, one for each address. Over SSH, each
#: connection is a session, and a server allows ten sessions by default.
IDLE_CONNECTIONS = 3

#: By the operating system's error number: the reason, in words that fit our messages.
WHY = {errno.ENOENT: "nothing is there", errno.ECONNREFUSED: "the connection was refused"}

START = "Start one (environments/start-docker.sh can), or name another in DOCKER_HOST"
START_THERE = "Start one on that machine"
JOIN = "Use sudo, or join the group docker and log in again: sudo usermod -aG docker {user}"
NAME = "In DOCKER_HOST, expected unix:///PATH, tcp://HOST:PORT or ssh://USER@HOST"


def connect(address: str | None = None) -> docker.DockerClient:
    """Return a client of the engine, after the engine has answered.

    `address`: ``ssh://USER@HOST:PORT`` of another machine's engine; by default the engine that
    Docker's own environment variables name.
    """
    try:
        if address:
            client = docker.DockerClient(address, timeout=API_TIMEOUT_S, num_pools=IDLE_CONNECTIONS)
        else:
            client = docker.from_env(timeout=API_TIMEOUT_S)
        client.ping()
        return client
    except (docker.errors.DockerException, *BROKEN) as problem:
        raise missing(problem, address) from None


def missing(problem: BaseException, address: str | None) -> Unreachable:
    """Return the error that says at which address no engine answers, why, and what to do."""
    where = address or os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    cause = _first_cause(problem)
    if isinstance(cause, PermissionError):
        user = getpass.getuser()
        why, remedy = f"{user} may not ask it", JOIN.format(user=user)
    elif isinstance(cause, docker.errors.DockerException):
        why, remedy = str(cause), NAME
    else:
        why = WHY.get(getattr(cause, "errno", None) or 0, str(cause) or type(cause).__name__)
        remedy = START_THERE if address else START
    return Unreachable(f"no Docker engine answers at {where}: {' '.join(why.split())}", remedy)


def _first_cause(problem: BaseException) -> BaseException:
    while before := problem.__cause__ or problem.__context__:
        problem = before
    return problem
