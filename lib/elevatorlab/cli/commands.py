"""The program: what its commands have in common, and how it ends."""

from __future__ import annotations

import gc
import json
import signal
import sys
from typing import Annotated

import typer
import typer.exceptions

from ..errors import ElevatorLabError
from ..extras import missing
from . import plain_text

# Each module has the commands of one group; the help lists them in this order.
# isort: off
from . import testbeds, run, results, schemas, sharing  # noqa: F401
from . import scheduler, grade, drive, image, cache, operations, maintenance  # noqa: F401

# isort: on
from .base import EXIT_CTRL_C, EXIT_ERROR, EXIT_TERMINATED, STOPPED, app

# Else a list of commands breaks each summary off where its line ends.
for group in (app, *(one.typer_instance for one in app.registered_groups)):
    for command in group.registered_commands if group else ():
        command.short_help = str(command.callback.__doc__).partition("\n\n")[0]


def _version(asked: bool) -> None:
    if asked:
        from .. import __version__

        print(f"elevatorlab {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="print the version and exit"
        ),
    ] = False,
) -> None:
    """Rerun published studies of Linux I/O schedulers, and judge every published number.

    Without --results, the commands `claims`, `report` and `results` read the stored reference.
    Commands that run or pack trials use a folder below build/, one for each image.
    """


def main() -> None:
    """Run the command; print an error that the user can mend as a sentence, not as a traceback."""
    gc.set_threshold(50_000, 20, 20)  # most of what a command makes lives as long as the command
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
    plain_text.readable_everywhere()
    try:
        # typer turns Ctrl-C into a status and, like every other status, returns it.
        status = app(standalone_mode=False, prog_name="elevatorlab")
    except SystemExit as end:
        status = end.code
    except ElevatorLabError as problem:
        status = _refused(problem)
    except ModuleNotFoundError as problem:
        extra = missing(problem)
        if extra is None:
            raise
        status = _refused(extra)
    except typer.exceptions.TyperException as problem:
        _tell_programs(problem.format_message())
        problem.show()  # type: ignore[attr-defined]  # what is raised is a subclass that has it
        status = problem.exit_code
    if status in (EXIT_CTRL_C, EXIT_TERMINATED):
        print(STOPPED, file=sys.stderr)
    sys.exit(status)


def _refused(problem: ElevatorLabError) -> int:
    _tell_programs(str(problem))
    print(f"elevatorlab: {problem}", file=sys.stderr)
    return EXIT_ERROR


def _tell_programs(problem: str) -> None:
    """Print an error as JSON, too, for whoever has asked for JSON."""
    if "--json" in sys.argv[1:]:
        print(json.dumps({"error": problem}, indent=1))
