"""Commands that run trials."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from .. import bundles, campaign, estimate, jobs, progress, store, studies, testbeds, verification
from .base import (
    EXIT_ERROR,
    EXIT_UNDECIDED,
    ClusterOption,
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
    parameter: Annotated[
        list[str] | None, typer.Option("-p", help="NAME=VALUE, may be repeated")
    ] = None,
    testbed: TestbedOption = "deterministic",
    results: ResultsOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    dry_run: Annotated[
        bool, typer.Option(help="list the trials, the minutes and the disk space, and stop")
    ] = False,
):
    """Run the trials of a study that are not finished yet."""
    chosen = studies.get(study)
    overrides = jobs.parse_overrides(parameter or [])
    where = testbeds.several(testbed)
    shares = jobs.shares(chosen, preset, overrides, where)
    results = results or store.default_results(where[0])
    plan = _announce(study, preset, shares, results, workers)
    print(f"results in {results}")
    if dry_run:
        for place, trial in plan.todo:
            labels = [trial.scheduler.name, *trial.labels.values(), f"seed={trial.seed}"]
            print(place.name, trial.hash, *labels)
        return
    _run(shares, results, workers, cluster)
    print(f"finished. The verdicts: elevatorlab claims {study} --results {results}")
    print(f"with figures and tables: elevatorlab report --results {results}")


@app.command()
def reproduce(
    preset: PresetOption = "quick",
    results: ResultsOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    out: Path = jobs.REPORT,
):
    """Run every study on the deterministic testbed and build the report."""
    where = testbeds.get("deterministic")
    results = results or store.default_results(where)
    for study in studies.STUDIES.values():
        shares = jobs.shares(study, preset, {}, [where])
        _announce(study.NAME, preset, shares, results, workers)
        _run(shares, results, workers, cluster)
    tell(jobs.report(results, out))


@app.command()
def verify(
    bundle: Annotated[
        Path | None, typer.Argument(help="a bundle; by default the stored reference")
    ] = None,
    sample: Annotated[
        int, typer.Option(min=0, help="how many trials to run again; of a bundle also none")
    ] = 3,
    everything: Annotated[
        bool, typer.Option("--all", help="run all again, and compare the verdicts, too")
    ] = False,
    seed: Annotated[int, typer.Option(help="which ones")] = 0,
    workers: WorkersOption = None,
):
    """Check a bundle's files; run a sample of the trials again and compare the bits.

    Exit status: 0 same bits, or with --all and another image the same verdicts; 1 something is
    not what it is said to be; 4 another image, where bits may differ.
    """
    if bundle is None and sample == 0:
        raise typer.BadParameter("--sample: expected at least 1 where there is no bundle to check")
    where = testbeds.get("deterministic")
    sample = None if everything else sample
    if bundle is None:
        answer = _again(verification.reference(), where, sample, seed, workers)
    else:
        answer = _verify_bundle(bundle, where, sample, seed, workers)
    if answer == verification.DIFFERENT:
        raise typer.Exit(EXIT_ERROR)
    if answer == verification.ANOTHER_IMAGE:
        raise typer.Exit(EXIT_UNDECIDED)


def _verify_bundle(path, where, sample, seed, workers):
    with bundles.Bundle(path) as opened, tempfile.TemporaryDirectory() as folder:
        stored, left_out = verification.unpacked(opened, Path(folder))
        print(f"{path}: all {len(opened.manifest.files)} files are as its manifest says")
        print(f"manifest SHA-256 {opened.digest()}; it should be what its author published")
        followed = verification.tables_follow(Path(folder))
        print(*followed, *left_out, sep="\n")
        answer = verification.outcome(followed)
        again = _again(stored, where, sample, seed, workers) if stored and sample != 0 else answer
        return answer if answer == verification.DIFFERENT else again


def _again(stored, where, sample, seed, workers):
    with progress.shown() as (update, note):
        found = verification.again(stored, where, sample, seed, workers, progress=update, note=note)
    print(*found, sep="\n")
    return verification.outcome(found)


def _announce(study, preset, shares, results, workers):
    plan = campaign.plan(shares, results)
    print(f"{study}, {preset}: {plan}; {estimate.sentence(shares, results, workers)}")
    return plan


def _run(shares, results, workers, cluster):
    with progress.shown() as (update, note):
        campaign.run(shares, results, workers, update, note, cluster)
