"""Commands that run trials."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import (
    ClusterOption,
    OutOption,
    ParameterOption,
    PresetOption,
    ResultsOption,
    StudyArgument,
    TestbedOption,
    WorkersOption,
    app,
    tell,
)


@app.command()
def run(
    study: StudyArgument,
    preset: PresetOption = "quick",
    parameter: ParameterOption = None,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER",
            help="one more scheduler: its name, or the folder of your own one; may be repeated",
        ),
    ] = None,
    testbed: TestbedOption = "deterministic",
    results: ResultsOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    dry_run: Annotated[
        bool, typer.Option(help="list the trials, the minutes and the disk space, and stop")
    ] = False,
) -> None:
    """Run the trials of a study that are not finished yet."""
    from .. import testbeds
    from ..paths import command
    from ..running import expansion, jobs

    overrides = expansion.parse_overrides(parameter or [])
    more = [_name_or_folder(one) for one in scheduler or []]
    job = jobs.prepare(study, preset, overrides, testbeds.several(testbed), results, more)
    print(job.announcement(workers))
    print(f"results in {job.results}")
    if dry_run:
        for place, trial in job.plan().todo:
            labels = [trial.scheduler.name, *trial.labels.values(), f"seed={trial.seed}"]
            print(place.name, trial.hash, *labels)
        return
    job.run(workers, cluster)
    print(f"finished. The verdicts: {command(f'claims {study} --results {job.results}')}")
    print(f"with figures and tables: {command(f'report --results {job.results}')}")


def _name_or_folder(given: str) -> Path | str:
    """Return the name of a scheduler that is known, or a folder."""
    from ..plugins.schedulers import SCHEDULERS

    return given if given in SCHEDULERS else Path(given)


@app.command()
def reproduce(
    preset: PresetOption = "quick",
    results: ResultsOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    out: OutOption = None,
    attest: Annotated[
        bool, typer.Option("--attest", help="end with this machine's line for data/attested.csv")
    ] = False,
) -> None:
    """Run every study on the deterministic testbed and build the report."""
    from .. import testbeds
    from ..plugins import studies
    from ..results import store
    from ..running import jobs
    from ..showing.report import REPORT, write_report

    where = testbeds.get("deterministic")
    if results is None:
        results, out = store.default_results(where), out or REPORT
    for study in studies.STUDIES.values():
        job = jobs.prepare(study.NAME, preset, {}, [where], results)
        print(job.announcement(workers))
        job.run(workers, cluster)
    tell(write_report(results, out))
    if attest:
        from ..sharing import attestation

        print(attestation.of_results(results, where.identity()).line())
