"""Run a comparison; trials that were measured before are not run again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ...results import reading, store
from ...running import estimate, jobs
from ...running.campaign import Share, plan
from ...testbeds.deterministic import DeterministicTestbed
from . import measures
from .trials import BESIDE, REPETITIONS, trials


@dataclass(frozen=True)
class SchedulerComparison:
    """A comparison of one scheduler with the kernel's."""

    #: Names of the kernel's schedulers, and after them the scheduler that is compared.
    schedulers: tuple[str, ...]
    #: The trials, and the deterministic testbed.
    share: Share
    #: Folder of the results. Each image has its own, in which the kernel's schedulers are measured
    #: only once.
    results: Path

    def announcement(self, workers: int | None = None) -> str:
        """Say in a line which trials are to run, and how long that will take."""
        cost = estimate.sentence([self.share], self.results, workers)
        return f"compare: {plan([self.share], self.results)}; {cost}"

    def measure(self, workers: int | None = None, cluster: str | None = None) -> pd.DataFrame:
        """Run the trials that are not finished yet; return the answers (`measures.table`)."""
        jobs.run_shares([self.share], self.results, workers, cluster)
        place = store.folder(self.results, self.share.testbed)
        return measures.table(reading.read(place / one.hash) for one in self.share.trials)


def prepare(
    name: str,
    results: Path | None = None,
    beside: Sequence[str] = BESIDE,
    repetitions: int = REPETITIONS,
) -> SchedulerComparison:
    """Return the comparison of a scheduler; nothing starts yet.

    `results`: By default a folder of this image's own below ``build/``.
    """
    schedulers = tuple(dict.fromkeys([*beside, name]))
    testbed = DeterministicTestbed()
    kept = results or store.default_results(testbed, "compare")
    return SchedulerComparison(schedulers, Share(testbed, trials(schedulers, repetitions)), kept)
