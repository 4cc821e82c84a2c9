"""Commands for maintainers of the project: its reference, its pages, the tiles of `make lab`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ElevatorLabError
from ..paths import BUILD, INSTALLED
from ..plugins.testbeds import DEFAULT
from .base import (
    ClusterOption,
    MinutesOption,
    PresetOption,
    ReferenceOption,
    ResultsOption,
    SomeStudy,
    StudyArgument,
    WorkersOption,
    app,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..plugins.studies import Study
    from ..testbeds.base import Testbed


def _only_in_a_checkout() -> None:
    if INSTALLED:
        raise ElevatorLabError(
            "expected a checkout of the project, which this command is for; found an installed "
            "package. Call it from a clone, after `make setup`"
        )


@app.command()
def tiles(
    folder: Annotated[Path, typer.Argument(help="folder to write the tiles to")] = BUILD / "lab",
) -> None:
    """Write a tile for each study, for JupyterLab's launcher (`make lab` does)."""
    _only_in_a_checkout()
    from ..notebook import launcher

    print(launcher.write_tiles(folder))


@app.command()
def reference(
    study: SomeStudy = None,
    preset: ReferenceOption = "quick",
    results: ResultsOption = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="run what is missing, and store the finished studies")
    ] = False,
    workers: WorkersOption = None,
    minutes: MinutesOption = None,
) -> None:
    """Store the results of a preset as its reference in data/ (for maintainers).

    With --measure, the trials' results are kept in the user's cache until all are there. Those of
    an unfinished study are kept in an archive beside the reference, too: any machine goes on there.
    """
    _only_in_a_checkout()
    if not measure and (workers or minutes is not None):
        raise typer.BadParameter("--workers, --minutes: expected with --measure, which runs trials")
    from .. import cache, testbeds
    from ..plugins import studies
    from ..results import costs, references, store
    from ..running.provenance import preset_trials
    from ..showing import artifact
    from ..showing.report_writer import draw_overview

    where = testbeds.get(DEFAULT)
    some = [studies.get(study)] if study else studies.ours()
    if measure:
        results = results or cache.work_folder("reference", f"{preset}-{where.identity()[:12]}")
        some = _measured(some, preset, results, where, workers, minutes)
    results = results or store.default_results(where)
    for one in some:
        references.write(results, one, preset, preset_trials(one, preset))
        draw_overview(one)
        print(f"reference of {one.NAME} written to {references.folder(preset)}")
    if some:
        costs.write(results, preset, some)
        print(*artifact.write(), sep="\n")


def _measured(
    some: Sequence[Study],
    preset: str,
    results: Path,
    where: Testbed,
    workers: int | None,
    minutes: float | None,
) -> list[Study]:
    """Run what the stored reference lacks of some studies; return those that can be stored now.

    What is finished of the others is kept in their archives.
    """
    from ..results import references, unfinished
    from ..running import jobs

    jobs_of_all = [jobs.prepare(one.NAME, preset, {}, [where], results) for one in some]
    lacking = {
        unfinished.archive(job.study.NAME, preset): job
        for job in jobs_of_all
        if not references.is_current(job.study.NAME, preset, job.trials, where.identity())
    }
    if not lacking:
        print(f"nothing to run: {references.folder(preset)} has all of them, of this image")
        return []
    taken = sum(unfinished.take_up(archive, results, where) for archive in lacking)
    print(f"{taken} results taken up from {references.folder(preset)}")
    finished = jobs.run_in_turn(list(lacking.values()), workers, minutes)
    for archive, job in lacking.items():
        if kept := unfinished.keep(archive, results, where, job.trials):
            print(f"{job.study.NAME}: {kept} results of an unfinished study kept in {archive}")
    return [job.study for job in finished]


@app.command()
def sensitivity(
    study: StudyArgument,
    preset: PresetOption = "quick",
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    dry_run: Annotated[bool, typer.Option(help="say what would run, and stop")] = False,
) -> None:
    """Judge a study on other machines, and store in data/sensitivity which verdicts stand."""
    _only_in_a_checkout()
    from ..judging import sensitivity as tables
    from ..running import variations
    from ..testbeds.deterministic import DeterministicTestbed, qemu

    other = DeterministicTestbed(emulator=qemu.usual(qemu.OTHER_PROCESSOR))
    others = {f"processor {qemu.OTHER_PROCESSOR.partition(',')[0]}": other}
    prepared = variations.prepare(study, preset, DeterministicTestbed(), others)
    for name, job in prepared.items():
        print(f"{name}: {job.announcement(workers)}")
        if not dry_run:
            variations.run(name, job, workers, cluster)
    if dry_run:
        return
    found = variations.judge(prepared)
    file = tables.file(study)
    file.parent.mkdir(exist_ok=True)
    found.to_csv(file, index=False, lineterminator="\n")
    print(*tables.counts(found), sep="\n")
    print(f"which ones: {file}")


@app.command()
def dictionary() -> None:
    """Bring docs/data-dictionary.md in line with the tables' columns (for maintainers)."""
    from ..showing import dictionary

    print(dictionary.write())


@app.command("artifact")
def artifact_page(
    appendix: Annotated[
        bool, typer.Option("--appendix", help="print the artifact appendix of USENIX and ACM")
    ] = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="with --appendix: as a LaTeX document, not as Markdown")
    ] = False,
) -> None:
    """Bring README, ARTIFACT.md and the badge up to date, or print the appendix.

    The appendix is the artifact appendix of a paper.
    """
    _only_in_a_checkout()
    if latex and not appendix:
        raise typer.BadParameter("--latex: expected with --appendix, which prints the appendix")
    from ..showing import artifact, badge

    if appendix:
        page = artifact.appendix()
        print(artifact.in_latex(page) if latex else page, end="")
        return
    print(*artifact.write(), badge.write(), sep="\n")
