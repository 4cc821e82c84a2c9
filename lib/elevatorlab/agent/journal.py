"""What was changed, noted before the change, so that it can always be undone."""

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

FOLDER = pathlib.Path("/run/elevatorlab/journal")


def _write(path, value):
    pathlib.Path(path).write_text(value + "\n")


def _unmount(path):
    subprocess.run(["umount", path], check=True, capture_output=True)


def _delete_container(name):
    subprocess.run(["crun", "delete", "--force", name], check=True, capture_output=True)


def kill_group(path):
    """End every process of a cgroup, and wait until it is empty."""
    path = pathlib.Path(path)
    if path.exists():
        (path / "cgroup.kill").write_text("1")
        while "populated 1" in (path / "cgroup.events").read_text():
            time.sleep(0.01)  # what waits for the disk cannot be killed before it answers


def _remove_folder(path):
    if os.path.isdir(path):
        os.rmdir(path)


UNDO = {
    "write": _write,
    "unmount": _unmount,
    "delete_container": _delete_container,
    "kill_group": kill_group,
    "remove_folder": _remove_folder,
    "remove_tree": lambda path: shutil.rmtree(path, ignore_errors=True),
}


class Journal:
    """A list of undo steps on disk; a step is written before what it undoes is done.

    Leaving the context undoes everything, last first, whatever happened inside. A journal
    that a killed agent left behind is undone by the next one's `recover`.
    """

    def __init__(self, folder=FOLDER):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{os.getpid()}.jsonl"
        # Locked as long as this process lives: a number may be given to another one.
        self.file = open(self.path, "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.steps = []

    def will(self, action, *arguments):
        """Note that `UNDO[action](*arguments)` undoes what comes next."""
        self.steps.append([action, *[str(argument) for argument in arguments]])
        self.file.write(json.dumps(self.steps[-1]) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def will_write(self, file, old_value):
        """Note that `file` held `old_value`."""
        self.will("write", file, old_value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        undo(self.steps)
        self.path.unlink(missing_ok=True)
        self.file.close()


def undo(steps):
    """Take back `steps`, last first; a step that fails is told and does not stop the rest."""
    for action, *arguments in reversed(steps):
        try:
            UNDO[action](*arguments)
        except (OSError, subprocess.CalledProcessError) as failure:
            print(
                f"elevatorlab agent: could not undo {action} {arguments}: {failure}",
                file=sys.stderr,
            )


def recover(folder=FOLDER):
    """Undo what agents that no longer run have left changed."""
    for path in sorted(folder.glob("*.jsonl")):
        with open(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # its agent lives
                continue
            undo(_whole_lines(file))
            path.unlink()


def _whole_lines(file):
    steps = []
    for line in file:
        try:
            steps.append(json.loads(line))
        except json.JSONDecodeError:  # cut off by the kill: its change was never made
            break
    return steps
