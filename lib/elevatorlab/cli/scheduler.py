"""Commands for a scheduler of one's own."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .base import EXIT_ERROR, ClusterOption, JsonOption, WorkersOption, app

if TYPE_CHECKING:
    from ..elevators.check import CaseVerdict

scheduler_app = typer.Typer(
    no_args_is_help=True, help="A scheduler of your own: C sources and a Kbuild."
)
app.add_typer(scheduler_app, name="scheduler")

FolderArgument = Annotated[
    str,
    typer.Argument(
        metavar="FOLDER|NAME",
        help="the scheduler's folder, with scheduler.json; or the name of one that has a folder",
    ),
]


@scheduler_app.command()
def new(
    name: Annotated[str, typer.Argument(help="its name in the kernel, and the name of its folder")],
    template: Annotated[
        str, typer.Option(help="fifo or deadline (complete), sstf or look (for you to finish)")
    ] = "fifo",
) -> None:
    """Write the folder of a new scheduler: short, working, and commented."""
    from ..elevators import templates
    from ..paths import command

    folder = templates.new(name, template, Path())
    print(f"{folder}: {templates.about(template, name)}")
    print(f"Read {folder}/README.md, then: {command(f'scheduler check {folder}')}")


@scheduler_app.command()
def build(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Compile a scheduler for the kernel of the deterministic image.

    The compiler runs in a sandbox: it has no network, and sees only its own root and FOLDER.
    The module is kept in the user's cache, and all other commands use it from there.
    """
    from ..plugins import scheduler_folders
    from ..testbeds.deterministic import modules

    record = scheduler_folders.read(scheduler_folders.folder_of(folder))
    assert record.folder is not None
    start_s = time.monotonic()
    release = modules.release()
    built = modules.build(record.folder, release)
    took_s = time.monotonic() - start_s
    told = {
        "name": record.name,
        "kernel": release,
        "sources": record.folder.digest,
        "module": str(built.file),
        "warnings": built.said,
        "took_s": round(took_s, 2),
    }
    if as_json:
        print(json.dumps(told, indent=1))
        return
    print(built.said, end="")
    print(f"{record.name}: {built.file.stat().st_size} bytes for kernel {release}, {took_s:.1f} s")
    print(f"sources {record.folder.digest[:12]}; the module is {built.file}")


@scheduler_app.command()
def check(
    folder: FolderArgument,
    out: Annotated[
        Path | None, typer.Option(help="the page; by default one for each scheduler below build/")
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="only this case and those it needs; may be repeated")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check that a scheduler does what the block layer requires.

    The check runs only in the deterministic machine. It names each failure, and the line of your
    source if the kernel reports it. Exit status 0: the scheduler passed every case.
    """
    from ..elevators.check import check as checked
    from ..elevators.check import page
    from ..paths import BUILD
    from ..plugins import scheduler_folders

    def show(verdict: CaseVerdict) -> None:
        told = sys.stderr if as_json else sys.stdout
        print(*page.lines(verdict), sep="\n", file=told, flush=True)

    conformity = checked(scheduler_folders.folder_of(folder), show, case)
    file = out or BUILD / "check" / f"{conformity.name}.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page.html(conformity))
    if as_json:
        print(json.dumps(conformity.as_json(), indent=1))
    else:
        print(f"{conformity.name}: {page.summary(conformity)} The page: {file}")
    if not conformity.passed:
        raise typer.Exit(EXIT_ERROR)


@scheduler_app.command()
def compare(
    scheduler: Annotated[
        str, typer.Argument(metavar="FOLDER|NAME", help="the scheduler's folder, or a name")
    ],
    out: Annotated[
        Path | None, typer.Option(help="the page; by default one for each scheduler below build/")
    ] = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a scheduler beside those of the kernel, and write a page.

    The page shows instructions per request, reads per second, latencies under a competing load,
    fairness, starvation, and how far the disk's arm travels.
    Trials that were measured before do not run again: after a change, only the new version runs.
    """
    from ..elevators.compare import comparison, measures, page
    from ..paths import BUILD
    from ..plugins import scheduler_folders

    known = scheduler_folders.named(scheduler)
    name = known if isinstance(known, str) else scheduler_folders.register(known).name
    chosen = comparison.prepare(name)
    print(chosen.announcement(workers), file=sys.stderr)
    measured = chosen.measure(workers, cluster)
    if as_json:
        print(json.dumps(measures.as_json(measured, chosen.schedulers), indent=1))
        return
    made = page.write(measured, chosen.schedulers, out or BUILD / "compare" / f"{name}.html")
    print(f"the page is {made}")
