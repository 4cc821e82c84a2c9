"""Commands that read results: tables, verdicts, the report."""

from __future__ import annotations

import json
import shutil
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from .base import JsonOption, OutOption, ReadOption, ReportedOption, SomeStudy, app, tell

AgainstOption = Annotated[
    str | None,
    typer.Option(help="another folder of results, a bundle or 'reference', to show side by side"),
]


@app.command("results")
def results_command(
    study: SomeStudy = None, results: ReadOption = None, as_json: JsonOption = False
) -> None:
    """Print the tidy table of what was measured, as CSV."""
    from ..results import store

    for chosen in _studies(study):
        table = store.load(chosen.NAME, results)
        print(table.to_json(orient="records", indent=1) if as_json else table.to_csv(index=False))


@app.command("claims")
def claims_command(
    study: Annotated[
        str | None, typer.Argument(help="one study, claim by claim; by default all, counted")
    ] = None,
    results: ReadOption = None,
    everything: Annotated[bool, typer.Option("--all", help="all studies, claim by claim")] = False,
    as_json: JsonOption = False,
) -> None:
    """Count the verdicts; with one study, or with --all, print each claim with its reason."""
    from ..judging import claims, verdict_cache
    from ..paths import command

    judged = (
        verdict_cache.judge(study, results).claims if study else verdict_cache.every_claim(results)
    )
    width = shutil.get_terminal_size().columns
    if as_json:
        print(json.dumps(claims.to_json(judged), indent=1))
    elif study or everything:
        print(claims.as_text(judged, width), claims.summary(judged), sep="\n\n")
    else:
        print(claims.overview(judged, width))
        print(f"\nclaim by claim: {command('claims STUDY')}, or --all")


@app.command("report")
def report_command(
    results: ReportedOption = None, out: OutOption = None, against: AgainstOption = None
) -> None:
    """Build the HTML report with figures and tables, and say where they are."""
    from ..showing.report import default_place, write_report

    with _unpacked(results) as mine, _unpacked(against) as other:
        tell(write_report(mine, out or default_place(results), other, against))


@app.command("import")
def import_command(
    files: Annotated[
        list[Path], typer.Argument(help="reports of fio (JSON, JSON+), iozone and sysbench")
    ],
    label: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE: a factor of all rows; may be repeated")
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(help="the files' names, as '{scheduler}-{repetition}.json'")
    ] = None,
    per_job: Annotated[
        bool, typer.Option("--per-job", help="a row for each process of fio")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="CSV file to write; by default the table is printed")
    ] = None,
) -> None:
    """Make a tidy table of measurements that you already have, as CSV."""
    import warnings

    from ..results.importing import table

    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        found = table.import_results(
            files, labels=table.labels(label or []), pattern=pattern, per_job=per_job
        )
    for note in notes:
        typer.echo(f"elevatorlab: {note.message}", err=True)
    if out is None:
        print(found.to_csv(index=False), end="")
    else:
        table.write(found, out)
        tell({f"{len(found)} rows": out})


def _unpacked(results: str | None) -> AbstractContextManager[str | Path | None]:
    """Give a bundle's results; import what reads bundles only for a bundle, since it takes long."""
    if results is None or not Path(results).is_file():
        return nullcontext(results)
    from ..sharing import bundles

    return bundles.results_of(results)


def _studies(name: str | None) -> list[Any]:
    from ..plugins import studies

    return [studies.get(name)] if name else list(studies.STUDIES.values())
