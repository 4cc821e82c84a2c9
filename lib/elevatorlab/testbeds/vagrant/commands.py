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
    """Run a command and wait until it ends.

    Returns: The output is text. The status is not checked.
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
    """Run a command, and call `hear` with each line that it prints."""
    # A session of its own, so that Ctrl-C reaches this process alone. This process then ends the
    # command and removes what the command has made.
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
