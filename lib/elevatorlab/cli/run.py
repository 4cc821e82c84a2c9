"""Commands that run trials."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import NotReady
from .base import (
    ClusterOption,
    MinutesOption,
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

if TYPE_CHECKING:
    from ..testbeds.base import Testbed


@app.command()
def run(
    study: StudyArgument,
    preset: PresetOption = "quick",
    parameter: ParameterOption = None,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FOLDER",
            help="one more scheduler: its name, or the folder of your own one; may be repeated",
        ),
    ] = None,
    testbed: TestbedOption = "deterministic",
    results: ResultsOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    minutes: MinutesOption = None,
    dry_run: Annotated[
        bool, typer.Option(help="list the trials, the minutes and the disk space, and stop")
    ] = False,
) -> None:
    """Run the trials of a study that are not finished yet."""
    from .. import testbeds
    from ..paths import BUILD, command
    from ..plugins import scheduler_folders
    from ..running import expansion, jobs

    overrides = expansion.parse_overrides(parameter or [])
    more = [scheduler_folders.named(one) for one in scheduler or []]
    chosen = testbeds.several(testbed)
    unbuilt = _unbuilt(chosen) if dry_run else ""
    if unbuilt and results is None:
        results = BUILD / "results" / "unbuilt"  # the plan needs a folder, and this one is empty
    job = jobs.prepare(study, preset, overrides, chosen, results, more)
    job.refuse_what_never_runs()
    if unbuilt:
        print(f"{study}, {preset}: {job.plan()}; minutes and place not known: {unbuilt}")
    else:
        print(job.announcement(workers))
        print(f"results in {job.results}")
    if dry_run:
        for place, trial in job.plan().todo:
            labels = [trial.scheduler.name, *trial.labels.values(), f"seed={trial.seed}"]
            print(place.name, trial.hash, *labels)
        return
    job.run(workers, cluster, minutes)
    if job.plan().todo:
        print(f"not finished: {job.announcement(workers)}. The same command goes on from there")
        return
    folder = shlex.quote(str(job.results))
    print(f"finished. The verdicts: {command(f'claims {study} --results {folder}')}")
    print(f"with figures and tables: {command(f'report --results {folder}')}")


def _unbuilt(chosen: Sequence[Testbed]) -> str:
    """Return what must be built before a testbed knows the folder of its results; "" if nothing."""
    for testbed in chosen:
        if testbed.anywhere:
            try:
                testbed.machine()
            except NotReady as problem:
                return str(problem)
    return ""


@app.command()
def reproduce(
    preset: PresetOption = "quick",
    results: ResultsOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    out: OutOption = None,
    attest: Annotated[
        bool,
        typer.Option(
            "--attest", help="at the end, print this machine's line for data/attested.csv"
        ),
    ] = False,
) -> None:
    """Run every study on the deterministic testbed and build the report."""
    from .. import testbeds
    from ..judging import conclusions, families, verdict_cache
    from ..plugins import studies
    from ..results import store
    from ..running import jobs
    from ..showing.report import REPORT, write_report

    where = testbeds.get("deterministic")
    if results is None:
        results, out = store.default_results(where), out or REPORT
    names = [study.NAME for study in studies.STUDIES.values()]
    for place, name in enumerate(names, 1):
        job = jobs.prepare(name, preset, {}, [where], results)
        print(job.announcement(workers))
        job.run(workers, cluster)
        claims = verdict_cache.judge(name, results).claims
        for line in conclusions.headlines(claims, families.headline(name)):
            print(f"{name}, main claim: {line}")
        written = write_report(results, out, running=names[place:])
        if place == 1:
            print(f"the first pages: {written['report']}")
    tell(written)
    if attest:
        from ..sharing import attestation

        print(attestation.of_results(results, where.identity()).line())
