"""Run a lecture's trials on the deterministic testbed, or read the results that exist."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from ..results import reading, store, trace
from ..running import campaign
from ..testbeds.deterministic import DeterministicTestbed
from ..trial import NullBlk, Trial, checked


@dataclass(frozen=True)
class FinishedTrial:
    """A trial that has run."""

    trial: Trial
    #: Folder of its result.
    folder: Path

    @cached_property
    def result(self) -> Mapping[str, Any]:
        """What was measured (``result.json``)."""
        return reading.read_result(self.folder, self.trial.model_dump(mode="json")).as_given()

    @cached_property
    def samples(self) -> pd.DataFrame:
        """The counters of the device and of each group over time."""
        return reading.read_samples(self.folder)

    @cached_property
    def events(self) -> pd.DataFrame:
        """The block layer's events, if the trial was traced."""
        return trace.read(self.folder)

    @cached_property
    def requests(self) -> pd.DataFrame:
        """The requests, each put together from its events."""
        return trace.requests(self.events)


def trial(lecture: str, **fields: Any) -> Trial:
    """Return a trial: one group on `disk()` without a file system, unless `fields` say otherwise.

    Examples
    --------
    >>> reader = fio("reader", rw="randread", runtime="1s", time_based=1)
    >>> trial("elevator", scheduler={"name": "bfq"}, workloads=(reader,)).memory_mib
    512
    """
    usual = {
        "study": "lecture",
        "preset": "smoke",
        "labels": {"lecture": lecture},
        "memory_mib": 512,
        "device": disk(),
        "filesystem": None,
        "groups": ({"name": "main"},),
        "settle_s": 0,
        "deadline_s": 60,
        "seed": 1,
    }
    return checked(Trial, {**usual, **fields}, "trial")


def disk(service_time_us: float = 1000, size_mib: int = 64) -> NullBlk:
    """Return a simulated disk that serves one request at a time, always in `service_time_us`."""
    return NullBlk(
        profile="one_server", size_mib=size_mib, service_time_us=service_time_us, parallelism=1
    )


def fio(name: str, group: str = "main", **options: Any) -> dict[str, Any]:
    """Return a fio workload that bypasses the page cache.

    Its requests are asynchronous and of 4 KiB, unless `options` say otherwise.
    """
    usual = {"bs": "4k", "ioengine": "libaio", "direct": 1}
    return {"kind": "fio", "name": name, "group": group, "options": {**usual, **options}}


def run(trials: Mapping[str, Trial], results: str | Path | None = None) -> dict[str, FinishedTrial]:
    """Run the trials that have no result yet, and return all of them.

    `results`: Folder of results. By default, one below ``build/`` for the present image of the
    deterministic testbed.
    """
    testbed = DeterministicTestbed(say=lambda _: None)
    kept = Path(results) if results else store.default_results(testbed, "lectures")
    share, place = campaign.Share(testbed, list(trials.values())), store.folder(kept, testbed)
    if share.todo(kept):  # else only read: a class may share one folder
        campaign.run([share], kept, threads=True)
    return {name: FinishedTrial(one, place / one.hash) for name, one in trials.items()}
