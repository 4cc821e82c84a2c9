"""What a check of a scheduler leaves on the machine: scratch folders and processes."""

import contextlib
import tempfile
from pathlib import Path

import pytest

from helpers import of_each_process


@pytest.fixture
def place(monkeypatch):
    """Give all that a check starts a folder of its own for temporary files; return the folder."""
    with tempfile.TemporaryDirectory(prefix="check-") as folder:  # short, for sockets are in it
        Path(folder).chmod(0o755)  # mmdebstrap's helpers must reach it
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def left_in(place):
    """Return the scratch folders in `place`, and the processes of the whole system that know it.

    A machine's command line names its scratch folder. What else a check starts has inherited the
    environment, whoever its parent is by now.
    """
    processes = []
    for command in of_each_process("cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            words = command.read_bytes()
            known = words
            with contextlib.suppress(PermissionError):  # somebody else's
                known += command.with_name("environ").read_bytes()
            if bytes(place) in known:
                processes.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return [*(folder.name for folder in place.iterdir()), *processes]
