"""What was changed, noted before the change, so that it can always be undone."""

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

from ..devices import cable, modules, nvme_tcp, partitions
from ..errors import AgentError
from ..groups import cgroups
from ..observe import tracefs

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

FOLDER = pathlib.Path("/run/elevatorlab/journal")

#: Held while a trial changes things; two trials would measure each other.
ONE_TRIAL = FOLDER.with_name("trial.lock")

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM)


def _write(path: str, value: str) -> None:
    if pathlib.Path(path).exists():
        pathlib.Path(path).write_text(value + "\n")


def _unmount(path: str) -> None:
    if os.path.ismount(path):
        _retried(["umount", path])


def _unmount_lazily(path: str) -> None:
    """Unmount what may still be in use, or whose server may be dead."""
    if f" {path} " in pathlib.Path("/proc/self/mounts").read_text():
        subprocess.run(["umount", "--lazy", path], check=True, capture_output=True)


def _delete_container(name: str) -> None:
    subprocess.run(["crun", "delete", "--force", name], check=True, capture_output=True)


def _detach_loop(file: str) -> None:
    listed = subprocess.run(
        ["losetup", "--associated", file, "--noheadings", "--output", "NAME"],
        capture_output=True,
        text=True,
    )
    for device in listed.stdout.split():
        _retried(["losetup", "--detach", device])


def _retried(argv: list[str], times: int = 50) -> None:
    """Run a command until the kernel no longer says that something is busy."""
    for _ in range(times):
        run = subprocess.run(argv, capture_output=True, text=True)
        if run.returncode == 0:
            return
        time.sleep(0.1)
    raise OSError(run.stderr.strip())


def _unload_module(name: str) -> None:
    if modules.loaded(name):
        _retried(["rmmod", name])


def _remove_folder(path: str) -> None:
    if os.path.isdir(path):
        os.rmdir(path)


UNDO: dict[str, Callable[..., None]] = {
    "write": _write,
    "unmount": _unmount,
    "unmount_lazily": _unmount_lazily,
    "delete_container": _delete_container,
    "kill_group": cgroups.kill,
    "remove_cgroup": cgroups.remove,
    "detach_loop": _detach_loop,
    "remove_part": partitions.remove,
    "disconnect": nvme_tcp.disconnect,
    "remove_namespace": cable.remove_namespace,
    "remove_link": cable.remove_link,
    "unload_module": _unload_module,
    "remove_trace": tracefs.remove,
    "remove_file": lambda path: pathlib.Path(path).unlink(missing_ok=True),
    "remove_folder": _remove_folder,
    "remove_tree": lambda path: shutil.rmtree(path, ignore_errors=True),
}


def sole_trial(file: pathlib.Path = ONE_TRIAL) -> TextIO:
    """Return a lock that says that a trial runs on this machine.

    Raises
    ------
    AgentError
        When another one does.
    """
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
    that a killed agent left behind is undone by the next one's `recover`.
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
            _keep(undo(self.steps), self.path)
            self.file.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def undo(steps: list[list[str]]) -> list[list[str]]:
    """Take back `steps`, last first; a step that fails is told and does not stop the rest.

    Returns
    -------
    list
        The steps that failed, in their first order.
    """
    failed: list[list[str]] = []
    for action, *arguments in reversed(steps):
        try:
            UNDO[action](*arguments)
        except (OSError, AgentError, subprocess.CalledProcessError) as failure:
            print(
                f"elevatorlab agent: could not undo {action} {arguments}: {failure}",
                file=sys.stderr,
            )
            failed.insert(0, [action, *arguments])
    return failed


def _keep(failed: list[list[str]], path: pathlib.Path) -> None:
    """Leave in the journal what could not be undone: the next start tries it again."""
    left = path.with_name(path.name.partition(".")[0] + ".left.jsonl")
    if failed:
        part = left.with_suffix(".part")
        part.write_text("".join(json.dumps(step) + "\n" for step in failed))
        part.rename(left)
    if path != left or not failed:
        path.unlink(missing_ok=True)


def recover(folder: pathlib.Path = FOLDER) -> int:
    """Undo what agents that no longer run have left changed; return after how many that is done.

    What cannot be undone now stays in the journal, and is tried again the next time.
    """
    recovered = 0
    for path in sorted(folder.glob("*.jsonl")):
        with open(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # its agent lives
                continue
            failed = undo(_whole_lines(file))
            _keep(failed, path)
            recovered += not failed
    return recovered


def _whole_lines(file: TextIO) -> list[list[str]]:
    steps = []
    for line in file:
        try:
            steps.append(json.loads(line))
        except json.JSONDecodeError:  # cut off by the kill: its change was never made
            break
    return steps
