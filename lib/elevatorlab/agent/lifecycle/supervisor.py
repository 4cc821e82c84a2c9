"""A trial that goes on when nobody watches: started, followed, fetched, stopped, forgotten.

A run is a folder. Whoever asked for it may be cut off at any moment and come back: the
supervisor runs the trial in a session of its own, holds the folder's lock while it lives, and
writes ``status`` last. The agent's own journal restores the machine; where the agent is killed
outright, the supervisor does it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from typing import TYPE_CHECKING

from . import journal, recovery
from .run import REQUEST, agent_file

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A line at least this often, so that a watcher knows that the connection lives.
HEARTBEAT_S = 5


def start(folder: str | pathlib.Path) -> int | str:
    """Run the trial in `folder`, detached, unless it runs there already or has finished.

    What is left of a run that failed or was killed is removed first.
    """
    folder = pathlib.Path(folder)
    with _turn(folder) as turn:
        if state(folder) in ("running", "finished"):
            return 0
        clear(folder)
        return _detach(folder, turn)


@contextlib.contextmanager
def _turn(folder: pathlib.Path) -> Iterator[int]:
    """Let one process at a time decide whether a run is to be started."""
    turn = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield turn
    finally:
        os.close(turn)


def _detach(folder: pathlib.Path, turn: int) -> int | str:
    """Supervise a run in a process that belongs to nobody; return once it has started."""
    supervisor = os.fork()
    if supervisor == 0:
        try:
            os.close(turn)
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nowhere, descriptor)
            supervise(folder)
        finally:
            os._exit(0)
    while state(folder) == "new":
        if os.waitpid(supervisor, os.WNOHANG)[0]:
            return f"the trial in {folder} could not be started; expected room for its log there"
        time.sleep(0.01)
    return 0


def supervise(folder: str | pathlib.Path) -> int:
    """Run the trial in `folder` to its end, here, and write its status; return the status."""
    folder = pathlib.Path(folder)
    lock = open(folder / "lock.part", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    (folder / "lock.part").rename(folder / "lock")  # nobody sees it without its holder
    argv = [sys.executable, agent_file(), "trial", "trial.json", "result", "site.json"]
    with open(folder / "log.txt", "ab") as log:
        # The agent holds the lock, too: it may outlive a supervisor that was killed.
        agent = subprocess.Popen(
            argv,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[lock.fileno()],
        )
        (folder / "agent.pid").write_text(str(agent.pid))
        signal.signal(signal.SIGTERM, lambda *_: agent.terminate())
        signal.signal(signal.SIGINT, lambda *_: agent.terminate())
        status = agent.wait()
        if status < 0:
            os.dup2(log.fileno(), 2)
            recovery.recover()
            status = 128 - status  # as a shell says that a signal ended it
    (folder / "status.part").write_text(str(status))
    (folder / "status.part").rename(folder / "status")
    return status


def state(folder: str | pathlib.Path) -> str:
    """Return whether a run is ``new``, ``running``, ``finished``, ``failed`` or ``lost``."""
    folder = pathlib.Path(folder)
    if (folder / "status").exists():
        return "finished" if (folder / "status").read_text() == "0" else "failed"
    if not (folder / "lock").exists():
        return "new"
    with open(folder / "lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "running"
    # The status is written while the lock is held, so what was not there before may be now.
    return "lost" if not (folder / "status").exists() else state(folder)


def clear(folder: str | pathlib.Path) -> None:
    """Remove what a run has left, but for what it was asked to do."""
    for path in pathlib.Path(folder).iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in ("trial.json", "site.json", "plugins.zip", "modules.zip"):
            path.unlink()


def follow(folder: str | pathlib.Path, offset: str = "0") -> None:
    """Print the log of a run from `offset` bytes on, as lines of JSON, until the run has ended.

    Each line is ``{"offset": next, "text": line}``, or, as the last one, ``{"state": ...}``. Once
    the agent waits for containers, one is ``{"containers": {"disk": name, "groups": {...}}}``.
    """
    folder, at_bytes = pathlib.Path(folder), int(offset)
    request: pathlib.Path | None = folder / REQUEST
    said_s = time.monotonic()
    while True:
        now = state(folder)  # before the log is read: what was written until then is read
        for line in _lines(folder / "log.txt", at_bytes):
            at_bytes += len(line)
            print(json.dumps({"offset": at_bytes, "text": line.decode(errors="replace").rstrip()}))
            said_s = time.monotonic()
        if request and now == "running" and request.exists():
            print(json.dumps({"containers": json.loads(request.read_text())}))
            request = None
        if now != "running":
            print(json.dumps({"state": now}), flush=True)
            return
        if time.monotonic() - said_s > HEARTBEAT_S:
            print(json.dumps({"offset": at_bytes, "text": ""}))
            said_s = time.monotonic()
        sys.stdout.flush()
        time.sleep(0.3)  # seldom: this runs on the machine under test


def _lines(file: pathlib.Path, offset: int) -> list[bytes]:
    """Return the whole lines of a file from `offset` on."""
    if not file.exists():
        return []
    with open(file, "rb") as content:
        content.seek(offset)
        return [line for line in content.readlines() if line.endswith(b"\n")]


def fetch(folder: str | pathlib.Path) -> None:
    """Pack the run into ``result.tar``, for whoever may read the run's folder."""
    folder = pathlib.Path(folder)
    with tarfile.open(folder / "result.tar", mode="w") as archive:
        for name in ("status", "log.txt", "result"):
            if (folder / name).exists():
                archive.add(folder / name, arcname=name)
    (folder / "result.tar").chmod(0o644)


def stop(folder: str | pathlib.Path, patience_s: float = 60) -> None:
    """End a run as Ctrl-C would, and wait until the machine is restored."""
    folder = pathlib.Path(folder)
    until_s = time.monotonic() + patience_s
    while state(folder) == "running" and time.monotonic() < until_s:
        if (folder / "agent.pid").exists():
            try:
                os.kill(int((folder / "agent.pid").read_text()), signal.SIGTERM)
            except ProcessLookupError:
                pass
        time.sleep(0.1)


def forget(folder: str | pathlib.Path) -> None:
    """Remove a run that no longer runs; where it was lost, restore the machine."""
    now = state(folder)
    if now == "lost":
        recovery.recover()
    if now != "running":
        shutil.rmtree(folder, ignore_errors=True)


def clean(runs: str) -> None:
    """Restore what killed agents left changed; remove runs that ended, and other agents."""
    folders = sorted(pathlib.Path(runs).glob("*"))
    running = sum(state(folder) == "running" for folder in folders)
    still = f", {running} still run and were left alone" if running else ""
    trials, regulators = recovery.recover(), recovery.recover(journal.REGULATORS)
    print(
        f"{trials} killed trials were cleaned up after, and {regulators} killed regulators{still}"
    )
    for folder in folders:
        forget(folder)
    for agent in pathlib.Path(runs).parent.glob("agent-*.pyz*"):
        if str(agent) != agent_file():
            agent.unlink()
