"""The same jobs as the notebooks, from a shell."""

import json
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
import typer.exceptions
from rich.console import Console
from rich.table import Table

from . import campaign, claims, jobs, progress, store, studies, testbeds
from .errors import ElevatorLabError
from .testbeds.deterministic import image as deterministic_image
from .testbeds.deterministic import template

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
image_app = typer.Typer(no_args_is_help=True)
app.add_typer(image_app, name="image", help="The image of the deterministic testbed.")
console = Console(soft_wrap=True)

#: Exit status for what the user can mend; after Ctrl-C and SIGTERM the same as a shell's.
EXIT_ERROR, EXIT_UNDECIDED, EXIT_CTRL_C, EXIT_TERMINATED = 1, 4, 130, 143
STOPPED = "elevatorlab: stopped; what is finished is kept, the same command goes on from there"

StudyArgument = Annotated[str, typer.Argument(help=f"one of {', '.join(studies.STUDIES)}")]
SomeStudy = Annotated[str | None, typer.Argument(help="one study; by default all")]
PresetOption = Annotated[str, typer.Option(help="smoke (seconds), quick (minutes), full (hours)")]
TestbedOption = Annotated[str, typer.Option(help=f"one of {', '.join(testbeds.TESTBEDS)}")]
ResultsOption = Annotated[
    Path | None, typer.Option(help="folder of results; by default one below build/ for each image")
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="trials at the same time; by default one a core")
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.command()
def doctor(as_json: JsonOption = False):
    """Say what each testbed can do on this machine, and what is missing."""
    findings = [finding for name in testbeds.TESTBEDS for finding in testbeds.get(name).findings()]
    if as_json:
        print(json.dumps([vars(finding) for finding in findings], indent=1))
    else:
        table = Table("testbed", "needs", "found", "", "what to do")
        for f in findings:
            mark = "[green]ready[/]" if f.ready else "[red]missing[/]"
            table.add_row(f.testbed, f.what, f.found, mark, "" if f.ready else f.remedy)
        console.print(table)
    if not all(finding.ready for finding in findings):
        raise typer.Exit(EXIT_ERROR)


@image_app.command("build")
def image_build(
    force: Annotated[bool, typer.Option(help="build anyway, for newer packages")] = False,
):
    """Build the deterministic image where it is missing or its recipe has changed."""
    built = deterministic_image.build(force)
    template.prune()
    state = "built" if built else "up to date"
    print(f"deterministic image: {state}, digest {deterministic_image.digest()}")


@app.command()
def run(
    study: StudyArgument,
    preset: PresetOption = "quick",
    parameter: Annotated[
        list[str] | None, typer.Option("-p", help="NAME=VALUE, may be repeated")
    ] = None,
    testbed: TestbedOption = "deterministic",
    results: ResultsOption = None,
    workers: WorkersOption = None,
    dry_run: Annotated[bool, typer.Option(help="list the trials and stop")] = False,
):
    """Run the trials of a study that are not finished yet."""
    chosen = studies.get(study)
    parameters = studies.parameters(chosen, preset, jobs.parse_overrides(parameter or []))
    where = testbeds.get(testbed)
    results = results or store.default_results(where)
    trials = chosen.trials(parameters)
    plan = campaign.plan(trials, where, results)
    print(f"{study}, {preset}: {plan}; results in {results}")
    if dry_run:
        for trial in plan.todo:
            print(trial.hash, trial.scheduler.name, *trial.labels.values(), f"seed={trial.seed}")
        return
    _run(trials, where, results, workers)


@app.command("results")
def results_command(
    study: SomeStudy = None, results: ResultsOption = None, as_json: JsonOption = False
):
    """Print the tidy table of what has been run, as CSV."""
    for chosen in _studies(study):
        table = store.tidy(results or store.default_results(testbeds.get("deterministic")), chosen)
        print(table.to_json(orient="records", indent=1) if as_json else table.to_csv(index=False))


@app.command("claims")
def claims_command(
    study: SomeStudy = None,
    results: Annotated[
        str | None,
        typer.Option(help="folder of results; by default the stored reference; or 'published'"),
    ] = None,
    as_json: JsonOption = False,
):
    """Print each published number with what was measured, the verdict and the reason."""
    judged = [
        claim
        for chosen in _studies(study)
        for claim in chosen.judge(store.load(chosen.NAME, results))
    ]
    if as_json:
        print(json.dumps(claims.to_json(judged), indent=1))
        return
    table = Table("id", "published", "measured", "testbed", "verdict", "reason")
    for claim in judged:
        cells = (claim.id, claim.published, claim.measured, claim.testbed, claim.verdict)
        table.add_row(*("" if cell is None else str(cell) for cell in cells), claim.reason)
    console.print(table)
    print(claims.summary(judged))


@app.command("report")
def report_command(results: ResultsOption = None, out: Path = jobs.REPORT):
    """Build the HTML report, its figures and its tables."""
    results = results or store.default_results(testbeds.get("deterministic"))
    _tell(jobs.report(results, out))


@app.command()
def reproduce(
    preset: PresetOption = "quick",
    results: ResultsOption = None,
    workers: WorkersOption = None,
    out: Path = jobs.REPORT,
):
    """Run every study on the deterministic testbed and build the report."""
    where = testbeds.get("deterministic")
    results = results or store.default_results(where)
    for study in studies.STUDIES.values():
        trials = study.trials(studies.parameters(study, preset))
        print(f"{study.NAME}, {preset}: {campaign.plan(trials, where, results)}")
        _run(trials, where, results, workers)
    _tell(jobs.report(results, out))


@app.command()
def verify(
    sample: Annotated[int, typer.Option(min=1, help="how many trials to run again")] = 3,
    seed: Annotated[int, typer.Option(help="which ones")] = 0,
):
    """Run a sample of the reference's trials again and compare the bits.

    Exit status: 0 same bits, 1 different bits on the same image, 4 another image.
    """
    where = testbeds.get("deterministic")
    verdicts = jobs.verify(where, sample, seed)
    for verdict in verdicts:
        print(verdict)
    answers = {verdict.answer for verdict in verdicts}
    if "different" in answers:
        raise typer.Exit(EXIT_ERROR)
    if "another image" in answers:
        raise typer.Exit(EXIT_UNDECIDED)


@app.command()
def reference(results: ResultsOption = None):
    """Store the results of the quick preset as the reference in data/ (for maintainers)."""
    results = results or store.default_results(testbeds.get("deterministic"))
    for study in studies.STUDIES.values():
        store.write_reference(results, study)
        jobs.draw_overview(study)
        print(f"reference of {study.NAME} written to {store.REFERENCE}")


def _studies(name):
    return [studies.get(name)] if name else list(studies.STUDIES.values())


def _run(trials, where, results, workers):
    with progress.shown() as update:
        campaign.run(trials, where, results, workers, update)


def _tell(made):
    for what, where in made.items():
        print(f"{what:8} {where}")


def main():
    """Run the command; an error that the user can mend is one sentence, not a traceback."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))
    try:
        # typer turns Ctrl-C into a status and, like every other status, returns it.
        status = app(standalone_mode=False)
    except SystemExit as end:
        status = end.code
    except ElevatorLabError as problem:
        print(f"elevatorlab: {problem}", file=sys.stderr)
        status = EXIT_ERROR
    except typer.exceptions.TyperException as problem:
        problem.show()
        status = problem.exit_code
    if status in (EXIT_CTRL_C, EXIT_TERMINATED):
        print(STOPPED, file=sys.stderr)
    sys.exit(status)
