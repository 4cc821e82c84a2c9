"""Commands that work on this machine by themselves, with the agent alone."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from .base import app

#: The options are the agent's own, which it parses and describes.
_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command(add_help_option=False, context_settings=_PASS_ON)
def regulate(context: typer.Context) -> None:
    """Regulate the I/O of this host's containers (SLAE, UTE); see docs/regulator.md.

    The options are the agent's own: elevatorlab regulate --help.
    """
    _agent_job("regulate", context.args)


@app.command(add_help_option=False, context_settings=_PASS_ON)
def apply(context: typer.Context) -> None:
    """Make the scheduler of a device of this machine permanent (a udev rule), or undo it.

    Prints the rule; --write installs and proves it. The options: elevatorlab apply --help.
    """
    _agent_job("apply", context.args)


def _agent_job(job: str, arguments: list[str]) -> None:
    """Run a job of the agent here; its exit status is ours."""
    from ..testbeds import agent_archive, plugin_archive

    with tempfile.TemporaryDirectory(prefix="elevatorlab-") as folder:
        program = Path(folder, "agent.pyz")
        program.write_bytes(agent_archive.agent_archive())
        if job == "regulate" and (policies := plugin_archive.policy_archive()):
            brought = Path(folder, plugin_archive.NAME)
            brought.write_bytes(policies)
            arguments = [f"--plugins={brought}", *arguments]
        # Ctrl-C and SIGTERM are the program's: it puts back what it changed, then ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        running = subprocess.Popen([sys.executable, program, job, *arguments])
        signal.signal(signal.SIGTERM, lambda *_: running.terminate())
        status = running.wait()
    raise typer.Exit(status)


@app.command()
def agent(
    out: Annotated[Path, typer.Argument(help="the file to write")] = Path("agent.pyz"),
) -> None:
    """Write the agent as one file, for a service on a host: any Python from 3.9 on runs it."""
    from ..errors import ElevatorLabError
    from ..testbeds import agent_archive

    try:
        out.write_bytes(agent_archive.agent_archive())
    except OSError as problem:
        raise ElevatorLabError(
            f"agent: expected {out} to be a file that can be written; found otherwise "
            f"({problem.strerror}). Name another"
        ) from None
    print(out)
