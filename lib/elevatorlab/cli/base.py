"""What all commands share: the program itself, its options, its exit statuses."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .. import studies, testbeds

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
console = Console(soft_wrap=True)

#: Exit status for what the user can mend; after Ctrl-C and SIGTERM the same as a shell's.
EXIT_ERROR, EXIT_UNDECIDED, EXIT_CTRL_C, EXIT_TERMINATED = 1, 4, 130, 143
STOPPED = "elevatorlab: stopped; what is finished is kept, the same command goes on from there"

StudyArgument = Annotated[str, typer.Argument(help=f"one of {', '.join(studies.STUDIES)}")]
SomeStudy = Annotated[str | None, typer.Argument(help="one study; by default all")]
PresetOption = Annotated[str, typer.Option(help="smoke (a minute), quick (minutes), full (hours)")]
TestbedOption = Annotated[
    str, typer.Option(help=f"one of {', '.join(testbeds.FORMS)}; or several, with commas between")
]
ResultsOption = Annotated[
    Path | None, typer.Option(help="folder of results; by default one below build/ for each image")
]
#: Of the commands that only read: the reference is there before anything was run.
ReadOption = Annotated[
    str | None,
    typer.Option(
        help="folder of results; by default the stored reference; 'published': no measurement"
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="trials at the same time; by default one a core")
]
#: Not called --scheduler: here and in `apply` a scheduler is one of the kernel's.
ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="tcp://HOST:PORT",
        help="scheduler of a running Dask cluster, whose workers take the deterministic trials",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]


def tell(made):
    """Say where what was made is."""
    for what, where in made.items():
        print(f"{what:8} {where}")
