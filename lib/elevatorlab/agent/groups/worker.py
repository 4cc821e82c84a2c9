"""A worker runs inside a group and does there what the agent asks for.

Requests and answers are lines of JSON on the worker's standard input and output, so that
the same worker serves a plain process, a container, and whatever else can be started with
three open files. Times are taken inside the group, next to the command that is timed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING

from ..errors import AgentError
from . import inside
from .paced_writer import paced_writes, prepare_writes
from .replayer import replay, replay_serially
from .servers import end_servers, start_server, stop_server, tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, BinaryIO, TextIO

BLOCK_BYTES = 1 << 20

#: Of a command's errors, as many go into a sentence; all of them go to the log.
LINES = 12
BYTES = 2000


def serve() -> None:
    """Answer requests from standard input until it ends."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # no command reads what is asked next
    os.dup2(2, 1)  # what commands print goes to the log
    _serve(requests, answers)


def listen(path: str, patience_s: float = 120) -> None:
    """Answer requests from all who connect to the socket `path`; end when the last one has gone.

    Where nobody comes within `patience_s`, the agent is gone: this ends, and its container too.
    """
    served: list[threading.Thread] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        server.settimeout(patience_s)
        while not served or any(thread.is_alive() for thread in served):
            try:
                connection, _ = server.accept()
            except socket.timeout:  # noqa: UP041  (another class before Python 3.10)
                if not served:
                    return
                continue
            server.settimeout(0.1)
            thread = threading.Thread(target=_serve_connection, args=(connection,), daemon=True)
            thread.start()
            served.append(thread)


def _serve_connection(connection: socket.socket) -> None:
    connection.settimeout(None)
    with connection, connection.makefile("r") as requests, connection.makefile("w") as answers:
        _serve(requests, answers)


def _serve(requests: TextIO, answers: TextIO) -> None:
    """Answer each request, then end what is still running."""
    loops = []
    try:
        for line in requests:
            function, arguments = json.loads(line)
            try:
                value = _known(function)(**arguments)
                if function == "start_loop":
                    loops.append(value)
                    value = value.pid
                answer = {"value": value}
            except Exception as problem:
                traceback.print_exc()
                answer = {"error": f"{type(problem).__name__}: {problem}"}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
    except BrokenPipeError:  # the agent was killed; what it will not read goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), answers.fileno())
    finally:
        end_servers()
        for loop in loops:
            os.killpg(loop.pid, signal.SIGKILL)
            loop.wait()


def _known(function: str) -> Callable[..., Any]:
    """Return a function of the worker by its name."""
    known = {**FUNCTIONS, **inside.FUNCTIONS}
    if function not in known:
        raise AgentError(
            f"the worker has no function {function!r}; expected one of {', '.join(FUNCTIONS)}"
        )
    return known[function]


def make_file(path: str, size_bytes: int, seed: int) -> None:
    """Write a file of bytes that do not compress, and wait until it is on the device."""
    noise = random.Random(seed).randbytes(BLOCK_BYTES)
    with open(path, "wb") as file:
        for start in range(0, size_bytes, BLOCK_BYTES):
            file.write(noise[: size_bytes - start])
        file.flush()
        os.fsync(file.fileno())


def make_tree(path: str, sizes_bytes: Iterable[int], files_per_folder: int, seed: int) -> None:
    """Write files of the given sizes into numbered folders below `path`."""
    for index, size_bytes in enumerate(sizes_bytes):
        folder = os.path.join(path, f"{index // files_per_folder:05d}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{index:06d}"), "wb") as file:
            file.write(random.Random(f"{seed}/{index}").randbytes(size_bytes))
    os.sync()


def timed(argv: list[str]) -> dict[str, int]:
    """Run a command with its output thrown away, as ``time COMMAND >/dev/null`` does.

    Returns ``time_ns``; ``storage_read_bytes``: what the command and its children had to fetch
    from storage (``ru_inblock``, in units of 512 bytes).
    """
    with open(os.devnull, "wb") as nowhere, captured() as errors:
        start_ns = time.monotonic_ns()
        child = os.posix_spawnp(
            argv[0],
            argv,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, errors.fileno(), 2),
            ],
        )
        _, status, usage = os.wait4(child, 0)
        end_ns = time.monotonic_ns()
        said = last_lines(errors)
    if status:
        raise RuntimeError(ending(argv[0], os.waitstatus_to_exitcode(status), said))
    return {"time_ns": end_ns - start_ns, "storage_read_bytes": usage.ru_inblock * 512}


def run(argv: list[str]) -> dict[str, Any]:
    """Run a command to its end.

    Returns ``status``; ``output``: what it printed; ``errors``: the last lines of what it printed
    as errors, all of which is in the log.
    """
    with captured() as errors:
        ended = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        said = last_lines(errors)
    return {"status": ended.returncode, "output": ended.stdout, "errors": said}


def run_until_complaint(argv: list[str], complaints: Iterable[str]) -> dict[str, Any]:
    """Run a command; end it, and its children, at a line that has one of `complaints`.

    For programs that go on after an error, or wait for ever for a child that is gone. What they
    print as errors is part of the output here.
    """
    running = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    lines = []
    assert running.stdout
    for line in running.stdout:
        lines.append(line)
        if any(complaint in line for complaint in complaints):
            time.sleep(0.2)  # the reason often comes in the next line
            os.killpg(running.pid, signal.SIGKILL)
            lines += running.stdout.readlines()
            break
    return {"status": running.wait(), "output": "".join(lines)}


def start_loop(command: str) -> subprocess.Popen[bytes]:
    """Run a shell command again and again, as ``while true; do COMMAND; done &`` does."""
    endless = f"while true; do {command}; done"
    return subprocess.Popen(
        ["sh", "-c", endless],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextlib.contextmanager
def captured() -> Iterator[BinaryIO]:
    """Yield a file for a command's errors; when the context is left, they go to the log.

    The file is in memory: a pipe would need somebody who reads while the command is timed, and a
    file on a disk might be on the one that is measured.
    """
    with os.fdopen(os.memfd_create("stderr"), "w+b") as errors:
        try:
            yield errors
        finally:
            errors.seek(0)
            shutil.copyfileobj(errors, sys.stderr.buffer)
            sys.stderr.flush()


def last_lines(errors: BinaryIO) -> str:
    """Return the last lines of a file of errors."""
    start = max(0, errors.seek(0, os.SEEK_END) - BYTES)
    errors.seek(start)
    lines = errors.read().decode(errors="replace").splitlines()
    return "\n".join(lines[1 if start and len(lines) > 1 else 0 :][-LINES:])


def ending(program: str, status: int, errors: str) -> str:
    """Say how a program ended, and what it said last."""
    ended = f"{program} ended with status {status}"
    return f"{ended}. It said:\n{errors}" if errors else ended


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(make_file, make_tree, timed, run, run_until_complaint, start_loop),
        *(prepare_writes, paced_writes, replay, replay_serially, start_server, stop_server, tail),
    )
}
