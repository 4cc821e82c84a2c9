"""The jobs that the command line and the notebooks share: run trials, and show progress."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..plugins import studies
from ..results import store, tidying
from ..testbeds.base import refuse_what_is_never_there
from . import campaign, estimate, expansion, progress
from .campaign import Plan, Share

if TYPE_CHECKING:
    import pandas as pd

    from ..testbeds.base import Testbed
    from ..trial import Trial


@dataclass(frozen=True)
class Job:
    """One study on some testbeds: its trials, and the folder of their results."""

    study: ModuleType
    preset: str
    #: The trials that each testbed runs.
    shares: tuple[Share, ...]
    results: Path

    @property
    def trials(self) -> list[Trial]:
        """The trials of all testbeds."""
        return [trial for share in self.shares for trial in share.trials]

    def plan(self) -> Plan:
        """Return the trials to run, and how many are finished."""
        return campaign.plan(self.shares, self.results)

    def announcement(self, workers: int | None = None) -> str:
        """Say in a line what is to run, and how much time and disk space it will take."""
        cost = estimate.sentence(self.shares, self.results, workers)
        return f"{self.study.NAME}, {self.preset}: {self.plan()}; {cost}"

    def refuse_what_never_runs(self) -> None:
        """Refuse trials that a testbed cannot run here even after all that it needs is built.

        Real machines are not asked, so their trials are never refused here.
        """
        for share in self.shares:
            if share.testbed.anywhere:
                todo = share.todo(self.results)
                refuse_what_is_never_there(share.testbed.name, share.testbed.findings(), todo)

    def run(
        self,
        workers: int | None = None,
        cluster: str | None = None,
        minutes: float | None = None,
    ) -> None:
        """Run the unfinished trials, and show progress; see `campaign.run`."""
        run_shares(self.shares, self.results, workers, cluster, minutes)

    def table(self) -> pd.DataFrame:
        """Return the study's tidy table of all finished trials."""
        return tidying.tidy(self.results, self.study)


def prepare(
    name: str,
    preset: str,
    overrides: Mapping[str, Any],
    testbeds: Sequence[Testbed],
    results: str | Path | None = None,
    more_schedulers: Sequence[Path | str] = (),
) -> Job:
    """Return the job of running a study; nothing starts yet.

    `overrides`: The study's own parameters; see `expansion.shares`. `results`: Folder of the
    results; by default that of the first testbed (`store.default_results`).
    """
    study = studies.get(name)
    if results:
        store.refuse_a_file(results)
    shares = expansion.shares(study, preset, overrides, testbeds, more_schedulers)
    place = Path(results) if results else store.default_results(testbeds[0])
    return Job(study, preset, tuple(shares), place)


def run_shares(
    shares: Iterable[Share],
    results: str | Path,
    workers: int | None = None,
    cluster: str | None = None,
    minutes: float | None = None,
) -> None:
    """Run the unfinished trials of a campaign, and show progress; see `campaign.run`."""
    with progress.shown() as (update, note):
        campaign.run(list(shares), results, workers, update, note, cluster, minutes=minutes)


def run_in_turn(
    jobs: Sequence[Job], workers: int | None = None, minutes: float | None = None
) -> list[Job]:
    """Run jobs one after the other, into one folder; return those that are finished.

    Before and after, print what remains. `minutes`: As in `campaign.run`, for all jobs together.
    """

    def remains() -> None:
        for job in jobs:
            print(f"{job.study.NAME}, {job.preset}: {job.plan()}")
        shares = [share for job in jobs for share in job.shares]
        print(f"in all: {estimate.sentence(shares, jobs[0].results, workers)}", flush=True)

    remains()
    began_s = time.monotonic()
    for job in jobs:
        left = None if minutes is None else minutes - (time.monotonic() - began_s) / 60
        if left is None or left > 0:
            job.run(workers, minutes=left)
    remains()
    return [job for job in jobs if not job.plan().todo]


def run_study(
    name: str,
    preset: str,
    overrides: Mapping[str, Any],
    testbeds: Sequence[Testbed],
    results: str | Path | None = None,
    workers: int | None = None,
    cluster: str | None = None,
) -> pd.DataFrame:
    """Run a study from a notebook and return its tidy table.

    Parameters
    ----------
    name, preset, overrides, testbeds, results
        See `prepare`.
    workers : int, optional
    cluster : str, optional
        See `campaign.run`.

    Examples
    --------
    It boots a machine for each trial, so no test runs this one:

    >>> testbed = DeterministicTestbed()  # doctest: +SKIP
    >>> table = run_study("vm_vs_container", "smoke", {}, [testbed])  # doctest: +SKIP
    """
    job = prepare(name, preset, overrides, testbeds, results)
    try:
        job.run(workers, cluster)
    except KeyboardInterrupt:
        print("stopped; what is finished is kept, the same cell goes on from there")
        raise
    return job.table()
