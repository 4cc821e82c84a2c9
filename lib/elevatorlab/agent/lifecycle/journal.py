"""What was changed, noted before the change, so that it can always be undone.

Whoever changes a thing registers how to undo it (`undoes`). What many change, such as files and
mounts, is registered here. `recovery` knows all of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO, TypeVar

    Undo = TypeVar("Undo", bound=Callable[..., None])

FOLDER = pathlib.Path("/run/elevatorlab/journal")

#: Where the regulators of operators note what they change.
REGULATORS = FOLDER.with_name("regulator")

#: Held while a trial changes things; two trials would measure each other.
ONE_TRIAL = FOLDER.with_name("trial.lock")

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM)


#: What undoes a change, by the action's name in a journal. A newer agent undoes what an older one
#: has noted, so a name stays.
UNDO: dict[str, Callable[..., None]] = {}


def undoes(action: str) -> Callable[[Undo], Undo]:
    """Register a function of strings that undoes a change, or does nothing where there is none."""

    def register(function: Undo) -> Undo:
        UNDO[action] = function
        return function

    return register


@undoes("owner")
def _owner(command: str, since: str) -> None:
    """Undo nothing: the step says whose the others are, by a command and a time."""


@undoes("write")
def _write(path: str, value: str) -> None:
    if pathlib.Path(path).exists():
        pathlib.Path(path).write_text(value + "\n")


@undoes("unmount")
def _unmount(path: str) -> None:
    if os.path.ismount(path):
        retried(["umount", path])


@undoes("remove_file")
def _remove_file(path: str) -> None:
    pathlib.Path(path).unlink(missing_ok=True)


@undoes("remove_folder")
def _remove_folder(path: str) -> None:
    if os.path.isdir(path):
        os.rmdir(path)


@undoes("remove_tree")
def _remove_tree(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)


def retried(argv: list[str], times: int = 50) -> None:
    """Run a command until the kernel no longer says that something is busy."""
    for _ in range(times):
        run = subprocess.run(argv, capture_output=True, text=True)
        if run.returncode == 0:
            return
        time.sleep(0.1)
    raise OSError(run.stderr.strip())


def sole_trial(file: pathlib.Path = ONE_TRIAL) -> TextIO:
    """Return a lock that says that a trial runs on this machine; refuse a second one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = open(file, "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise AgentError(
            "another trial runs on this machine; expected none, since both would measure each "
            "other. Wait for it to end, or see: elevatorlab clean"
        ) from None
    return lock


class Journal:
    """A list of undo steps on disk; a step is written before what it undoes is done.

    Leaving the context undoes everything, last first, whatever happened inside. A journal
    that a killed agent left behind is undone by the next one's `recovery.recover`.
    """

    def __init__(self, folder: pathlib.Path = FOLDER) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{os.getpid()}.jsonl"
        # Locked as long as this process lives: a number may be given to another one.
        self.file = open(self.path, "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.steps: list[list[str]] = []

    def will(self, action: str, *arguments: object) -> None:
        """Note that `UNDO[action](*arguments)` undoes what comes next."""
        self.steps.append([action, *[str(argument) for argument in arguments]])
        self.file.write(json.dumps(self.steps[-1]) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def forget(self, action: str, *arguments: object) -> None:
        """Drop a step: what it would undo is gone, so that nothing is left to restore."""
        gone = [action, *[str(argument) for argument in arguments]]
        kept = [step for step in self.steps if step != gone]
        if kept == self.steps:
            return
        # The old journal is whole until the new one, locked already, takes its place.
        part = self.path.with_suffix(".part")
        file = open(part, "w")
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("".join(json.dumps(step) + "\n" for step in kept))
        file.flush()
        os.fsync(file.fileno())
        part.rename(self.path)
        self.file.close()
        self.file, self.steps = file, kept

    def will_write(self, file: object, old_value: str) -> None:
        """Note that `file` held `old_value`."""
        self.will("write", file, old_value)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        # A second Ctrl-C must not leave half of it changed; it takes effect afterwards.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            keep(undo(self.steps), self.path)
            self.file.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def undo(steps: list[list[str]]) -> list[list[str]]:
    """Take back `steps`, last first; return those that failed, in their first order.

    A step that fails is told and does not stop the rest. Whose they are is kept with them.
    """
    failed: list[list[str]] = []
    for action, *arguments in reversed(steps):
        try:
            if action not in UNDO:
                raise AgentError("this agent does not know how; the one that noted it does")
            UNDO[action](*arguments)
        except (OSError, AgentError, subprocess.CalledProcessError) as failure:
            print(
                f"elevatorlab agent: could not undo {action} {arguments}: {failure}",
                file=sys.stderr,
            )
            failed.insert(0, [action, *arguments])
    return [step for step in steps if step[0] == "owner"] + failed if failed else []


def keep(failed: list[list[str]], path: pathlib.Path) -> None:
    """Leave in the journal what could not be undone: the next start tries it again."""
    left = path.with_name(path.name.partition(".")[0] + ".left.jsonl")
    if failed:
        part = left.with_suffix(".part")
        part.write_text("".join(json.dumps(step) + "\n" for step in failed))
        part.rename(left)
    if path != left or not failed:
        path.unlink(missing_ok=True)
