"""Commands for operators of this machine, and the agent by itself."""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ElevatorLabError
from .base import app

if TYPE_CHECKING:
    from .classes_file import JsonCopy

#: The agent's exit status if it cannot start.
EXIT_REFUSED = 2

#: Of prctl(2): the signal that a process gets when the one that started it has ended.
PR_SET_PDEATHSIG = 1

#: The agent parses and describes the options itself.
_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command(add_help_option=False, context_settings=_PASS_ON)
def regulate(context: typer.Context) -> None:
    """Regulate the I/O of this host's containers (SLAE, UTE); see docs/regulator.md.

    elevatorlab regulate --help prints the options. The file of --config may be YAML.
    """
    _agent_job("regulate", context.args)


@app.command(add_help_option=False, context_settings=_PASS_ON)
def apply(context: typer.Context) -> None:
    """Make the scheduler of a device of this machine permanent (a udev rule), or undo it.

    It only prints the rule; --write installs it and checks that it takes effect. `elevatorlab apply
    --help` prints the options.
    """
    _agent_job("apply", context.args)


def _agent_job(job: str, arguments: list[str]) -> None:
    """Run a job of the agent here, and exit with its exit status."""
    from ..testbeds import agent_archive

    with tempfile.TemporaryDirectory(prefix="elevatorlab-") as folder:
        program = Path(folder, "agent.pyz")
        program.write_bytes(agent_archive.operators_archive())
        copy = None
        if job == "regulate":
            arguments, copy = _of_the_regulator(arguments, Path(folder))
        # The agent handles Ctrl-C and SIGTERM: it puts back what it changed, then ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        running = subprocess.Popen(
            [sys.executable, program, job, *arguments],
            preexec_fn=functools.partial(_end_with, os.getpid()),
        )
        asked_to_end: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, _: _end(running, asked_to_end, number))
        signal.signal(signal.SIGHUP, lambda *_: _hang_up(running, copy))
        status = running.wait()
    # systemd signals a whole group of processes. So the agent gets SIGTERM twice: from systemd, and
    # from us. The second may come when the agent has put everything back and removed its handler.
    if asked_to_end and status == -signal.SIGTERM:
        status = 0
    raise typer.Exit(status)


def _end_with(parent: int) -> None:
    """Let this new process get SIGTERM when the command ends, even if the command is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it ended just before
        os.kill(os.getpid(), signal.SIGTERM)


def _end(running: subprocess.Popen[bytes], asked: list[int], number: int) -> None:
    """Pass a signal that ends the program on to it, and note the signal."""
    asked.append(number)
    running.send_signal(number)


def _of_the_regulator(arguments: list[str], folder: Path) -> tuple[list[str], JsonCopy | None]:
    """Return the regulator's arguments, and the JSON copy of its YAML file, if it has one.

    Files that the regulator needs are written to `folder`.
    """
    from ..testbeds import plugin_archive
    from .classes_file import handed_over

    try:
        arguments, copy = handed_over(arguments, folder)
    except ElevatorLabError as problem:
        print(f"regulate: {problem}", file=sys.stderr)
        raise typer.Exit(EXIT_REFUSED) from None
    if policies := plugin_archive.policy_archive():
        brought = folder / plugin_archive.NAME
        brought.write_bytes(policies)
        arguments = [f"--plugins={brought}", *arguments]
    return arguments, copy


def _hang_up(running: subprocess.Popen[bytes], copy: JsonCopy | None) -> None:
    """Let the program read its file again, unless the file cannot be read."""
    try:
        if copy:
            copy.renew()
    except ElevatorLabError as problem:
        print(f"regulate: {problem}; what was read before stays in force", file=sys.stderr)
    else:
        running.send_signal(signal.SIGHUP)


@app.command()
def agent(
    out: Annotated[Path, typer.Argument(help="the file to write")] = Path("agent.pyz"),
) -> None:
    """Write the agent as one file, for a service on a host. Python 3.9 or newer runs it."""
    from ..testbeds import agent_archive

    try:
        out.write_bytes(agent_archive.operators_archive())
    except OSError as problem:
        raise ElevatorLabError(
            f"agent: expected {out} to be a file that can be written; found otherwise "
            f"({problem.strerror}). Name another"
        ) from None
    print(out)
