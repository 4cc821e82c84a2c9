"""The program, and the commands that run no trials."""

import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
import typer.exceptions

from .. import __version__, bundles, claims, doctor_tables, jobs, lab, store, studies, testbeds
from .. import artifact as artifact_page
from ..errors import ElevatorLabError
from ..paths import BUILD
from ..testbeds import pyz
from ..testbeds.deterministic import image as deterministic_image
from ..testbeds.deterministic import template
from . import campaigns  # noqa: F401  (its commands)
from .base import (
    EXIT_CTRL_C,
    EXIT_ERROR,
    EXIT_TERMINATED,
    STOPPED,
    JsonOption,
    ReadOption,
    ResultsOption,
    SomeStudy,
    TestbedOption,
    app,
    console,
    tell,
)

image_app = typer.Typer(no_args_is_help=True)
app.add_typer(image_app, name="image", help="The image of the deterministic testbed.")


def _version(asked):
    if asked:
        print(f"elevatorlab {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print it and stop")
    ] = False,
):
    """Rerun published studies of Linux I/O schedulers, and judge every published number.

    Without --results, claims, report and results read the stored reference;
    what runs or packs trials uses a folder below build/, one for each image.
    """


@app.command()
def doctor(
    testbed: Annotated[
        str | None, typer.Option(help=f"in detail: one of {', '.join(testbeds.FORMS)}")
    ] = None,
    as_json: JsonOption = False,
):
    """Say what each testbed can do on this machine, and what is missing.

    Exit status 0 when what was asked for can run trials: the testbed named, or the default one.
    """
    asked = testbed or ",".join(testbeds.TESTBEDS)
    findings = {}
    for name, where in zip(asked.split(","), testbeds.several(asked), strict=True):
        # Two of a kind are told apart by their addresses.
        address = name.strip().partition("?")[0]
        findings[address] = [replace(one, testbed=address) for one in where.findings()]
        where.close()
    if as_json:
        everything = [vars(finding) for some in findings.values() for finding in some]
        print(json.dumps(everything, indent=1))
    elif testbed:
        for some in findings.values():
            console.print(doctor_tables.details(some))
    else:
        console.print(doctor_tables.overview(findings))
        for line in doctor_tables.gaps(findings):
            console.print(line)
    asked_for = findings if testbed else {testbeds.DEFAULT: findings[testbeds.DEFAULT]}
    if any(f.needed and not f.ready for some in asked_for.values() for f in some):
        raise typer.Exit(EXIT_ERROR)


@app.command()
def clean(testbed: TestbedOption = "host"):
    """Finish what killed runs left changed on a testbed's machine: devices, schedulers, VMs."""
    for where in testbeds.several(testbed):
        print(f"{where.name}: {where.clean()}")
        where.close()


@image_app.command("build")
def image_build(
    force: Annotated[bool, typer.Option(help="build anyway, for newer packages")] = False,
):
    """Build the deterministic image where it is missing or its recipe has changed."""
    built = deterministic_image.build(force)
    template.prune()
    state = "built" if built else "up to date"
    print(f"deterministic image: {state}, digest {deterministic_image.digest()}")


@app.command("results")
def results_command(
    study: SomeStudy = None, results: ReadOption = None, as_json: JsonOption = False
):
    """Print the tidy table of what was measured, as CSV."""
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
):
    """Count the verdicts; of one study, or with --all, print each claim with its reason."""
    judged = [
        claim
        for chosen in _studies(study)
        for claim in chosen.judge(store.load(chosen.NAME, results))
    ]
    if as_json:
        print(json.dumps(claims.to_json(judged), indent=1))
        return
    if study or everything:
        print(claims.as_text(judged, console.width), claims.summary(judged), sep="\n\n")
        return
    print(claims.overview(judged, console.width))
    print("\nclaim by claim: elevatorlab claims STUDY, or --all")


@app.command("report")
def report_command(
    results: ReadOption = None,
    out: Path = jobs.REPORT,
):
    """Build the HTML report, its figures and its tables."""
    tell(jobs.report(results, out))


@app.command()
def bundle(results: ResultsOption = None, out: Path = Path("elevatorlab-bundle.zip")):
    """Write results, report and environment to one file that anybody can verify (an RO-Crate)."""
    results = results or store.default_results(testbeds.get("deterministic"))
    made = bundles.write(results, out, jobs.report)
    print(f"{out}: {len(made.files)} files, {out.stat().st_size / 2**20:.1f} MiB")
    with bundles.Bundle(out) as whole:
        print(f"manifest SHA-256 {whole.digest()}")
        print("publish this number where nobody else can change it")


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def regulate(context: typer.Context):
    """Regulate the I/O of this host's containers (SLAE, UTE); see docs/regulator.md.

    The options are the agent's own: elevatorlab regulate --help.
    """
    _agent_job("regulate", context.args)


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def apply(context: typer.Context):
    """Make the scheduler of a device of this machine permanent (a udev rule), or undo it.

    Prints the rule; --write installs and proves it. The options: elevatorlab apply --help.
    """
    _agent_job("apply", context.args)


def _agent_job(job, arguments):
    """Run a job of the agent here; its exit status is ours."""
    with tempfile.TemporaryDirectory(prefix="elevatorlab-") as folder:
        program = Path(folder, "agent.pyz")
        program.write_bytes(pyz.agent_archive())
        # Ctrl-C and SIGTERM are the program's: it puts back what it changed, then ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        running = subprocess.Popen([sys.executable, program, job, *arguments])
        signal.signal(signal.SIGTERM, lambda *_: running.terminate())
        status = running.wait()
    raise typer.Exit(status)


@app.command()
def agent(out: Annotated[Path, typer.Argument(help="the file to write")] = Path("agent.pyz")):
    """Write the agent as one file, for a service on a host: any Python from 3.9 on runs it."""
    out.write_bytes(pyz.agent_archive())
    print(out)


@app.command()
def tiles(folder: Annotated[Path, typer.Argument(help="where to")] = BUILD / "lab"):
    """Write a tile for each study, for JupyterLab's launcher (`make lab` does)."""
    print(lab.write_tiles(folder))


@app.command()
def reference(results: ResultsOption = None):
    """Store the results of the quick preset as the reference in data/ (for maintainers)."""
    results = results or store.default_results(testbeds.get("deterministic"))
    for study in studies.STUDIES.values():
        store.write_reference(results, study)
        jobs.draw_overview(study)
        print(f"reference of {study.NAME} written to {store.REFERENCE}")
    artifact_page.write_costs(results)
    print(artifact_page.write())


@app.command()
def artifact():
    """Bring the table of studies in ARTIFACT.md up to date (for maintainers)."""
    print(artifact_page.write())


def _studies(name):
    return [studies.get(name)] if name else list(studies.STUDIES.values())


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
