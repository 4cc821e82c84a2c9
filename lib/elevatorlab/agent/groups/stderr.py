"""What a command prints as errors: all of it goes to the log, its last lines into sentences."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LINES = 12
BYTES = 2000


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
