"""A server program that runs in the group while something else there is measured."""

from __future__ import annotations

import pathlib
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

#: Servers of this worker by process id; those that are left end with it.
RUNNING: dict[int, subprocess.Popen[bytes]] = {}


def start_server(
    argv: list[str],
    files: Mapping[str, str],
    folders: Iterable[str],
    address: str,
    log: str,
    limit_s: float,
) -> dict[str, Any]:
    """Make what a server needs, start it, and wait until it answers.

    `files` has text by path; `address` is the path of the socket on which it listens; `log` is a
    file for what it prints. Returns ``process``, the id of the server; or, where it did not come up
    and was ended, ``problem`` and ``log``, the end of what it printed.
    """
    for folder in folders:
        pathlib.Path(folder).mkdir()
    for path, text in files.items():
        pathlib.Path(path).write_text(text)
    with open(log, "ab") as out:
        server = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    RUNNING[server.pid] = server
    until_s = time.monotonic() + limit_s
    while server.poll() is None and time.monotonic() < until_s:
        if _answers(address):
            return {"process": server.pid}
        time.sleep(0.01)
    status = server.poll()
    problem = f"did not answer within {limit_s:g} s" if status is None else f"ended ({status})"
    end_servers()
    return {"problem": problem, "log": tail(log)}


def stop_server(process: int, limit_s: float) -> int | None:
    """Ask a server to end; return its status, or None where it had to be killed."""
    server = RUNNING.pop(process)
    server.terminate()
    try:
        return server.wait(limit_s)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
        return None


def end_servers() -> None:
    """Kill the servers that still run."""
    for process in list(RUNNING):
        server = RUNNING.pop(process)
        server.send_signal(signal.SIGKILL)
        server.wait()


def tail(log: str, lines: int = 12) -> str:
    """Return the last lines of a text file."""
    return "\n".join(pathlib.Path(log).read_text(errors="replace").splitlines()[-lines:])


def _answers(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as end:
        try:
            end.connect(address)
        except OSError:
            return False
    return True
