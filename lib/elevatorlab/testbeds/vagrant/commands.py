"""Run Vagrant and virsh, each command with a deadline of its own."""

import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...errors import ElevatorLabError, NotReady


def found(program: str) -> bool:
    """Tell whether `program` is installed."""
    return shutil.which(program) is not None


def run(argv: Sequence[str], timeout_s: float, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, or to its deadline.

    Parameters
    ----------
    argv : list of str
    timeout_s : float
    more
        For `subprocess.run`.

    Returns
    -------
    subprocess.CompletedProcess
        Its output is text; the status is not looked at.

    Raises
    ------
    NotReady
        When the program is not installed, or says nothing until the deadline.
    """
    try:
        return subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            **more,
        )
    except FileNotFoundError:
        raise NotReady(
            f"the command {argv[0]} is missing; environments/start-libvirt.sh installs it"
        ) from None
    except subprocess.TimeoutExpired:
        raise NotReady(
            f"`{' '.join(argv[:4])}` did not end within {timeout_s:.0f} s; is the machine "
            "overloaded, or libvirtd stuck? Try again"
        ) from None


def follow(
    argv: Sequence[str], timeout_s: float, log: Path, hear: Callable[[str], None], **more: Any
) -> None:
    """Run a command whose lines are worth hearing while it runs.

    Parameters
    ----------
    argv : list of str
    timeout_s : float
    log : pathlib.Path
        Takes everything that the command writes.
    hear : callable
        Called with each line.
    more
        For `subprocess.Popen`.

    Raises
    ------
    ElevatorLabError
        When it fails or does not end in time; the end of its output is in the message.
    """
    # Its own session: Ctrl-C is for us, who then end it and take away what it has made.
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        **more,
    ) as process:
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        deadline = threading.Timer(timeout_s, end)
        deadline.start()
        try:
            with open(log, "w") as file:
                assert process.stdout
                for line in process.stdout:
                    file.write(line)
                    file.flush()
                    hear(line)
            status = process.wait()
        finally:
            deadline.cancel()
            process.kill()
    if late.is_set() or status:
        how = f"did not end within {timeout_s:.0f} s" if late.is_set() else f"failed ({status})"
        tail = "".join(log.read_text(errors="replace").splitlines(keepends=True)[-15:])
        raise ElevatorLabError(f"`{' '.join(argv[:2])}` {how}; its last lines:\n{tail}")
