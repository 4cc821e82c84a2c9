"""What all commands share: the program itself, its options, its exit statuses.

A command imports in its body what it needs. So `--help` answers at once, and no command waits for
the libraries of another.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..plugins import studies, testbeds

if TYPE_CHECKING:
    from rich.console import Console

# Help without markup, since rich takes longer to import than all the rest of an answer.
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

#: Exit statuses: for an error that the user can mend; for bits of another image, which cannot be
#: compared; and for Ctrl-C and SIGTERM, as shells have them.
EXIT_ERROR, EXIT_UNDECIDED, EXIT_CTRL_C, EXIT_TERMINATED = 1, 4, 130, 143
STOPPED = "elevatorlab: stopped; what is finished is kept, the same command goes on from there"

StudyArgument = Annotated[str, typer.Argument(help=f"one of {', '.join(studies.STUDIES.names())}")]
SomeStudy = Annotated[str | None, typer.Argument(help="one study; by default all")]
PresetOption = Annotated[
    str,
    typer.Option(help="smoke (one to three minutes), quick (minutes), paper or full (hours)"),
]
ParameterOption = Annotated[
    list[str] | None, typer.Option("-p", help="NAME=VALUE, may be repeated")
]
#: For the commands about stored references: one of `results.references.PRESETS`.
ReferenceOption = Annotated[
    str, typer.Option("--preset", metavar="quick|paper", help="which reference")
]
TestbedOption = Annotated[
    str, typer.Option(help=f"one of {', '.join(testbeds.forms())}; or several, separated by commas")
]
ResultsOption = Annotated[
    Path | None, typer.Option(help="folder of results; by default one below build/ for each image")
]
#: For the commands that only read: the reference exists before any trial has run.
_BY_DEFAULT = (
    "by default the stored reference (preset paper if stored); 'reference/quick': the reference of "
    "the preset quick; 'published': published numbers only, without measurements"
)
ReadOption = Annotated[str | None, typer.Option(help=f"folder of results; {_BY_DEFAULT}")]
ReportedOption = Annotated[
    str | None, typer.Option("--results", help=f"folder of results, or a bundle; {_BY_DEFAULT}")
]
OutOption = Annotated[
    Path | None,
    typer.Option(help="folder of the report; by default one of its own for each folder of results"),
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="trials at the same time; by default one per core")
]
MinutesOption = Annotated[
    float | None,
    typer.Option(min=0, help="start no trial later than that; the same command goes on from there"),
]
#: Not called --scheduler, which means an I/O scheduler here.
ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="tcp://HOST:PORT",
        help="scheduler of a running Dask cluster, whose workers take the deterministic trials",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]


@functools.cache
def console() -> Console:
    """Return the console, which prints tables and knows the width of a line."""
    from rich.console import Console

    return Console(soft_wrap=True)


def tell(made: Mapping[str, Path]) -> None:
    """Print where each thing that a command made is."""
    for what, where in made.items():
        print(f"{what:8} {where}")
