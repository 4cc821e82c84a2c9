"""Run trials of a campaign: in threads of this process, or one on a worker of a Dask cluster."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from ... import __version__
from ...errors import NotReady
from ...results.outcome import Outcome
from ...testbeds.base import Say, Testbed, requirements
from ...trial import Trial
from ...trial.required_plugins import installed

#: (campaign, testbed) of the trials that run in this process for a Dask cluster.
_running: set[tuple[str, Testbed]] = set()

#: Campaigns that were stopped. If another trial of theirs reaches this process, it never starts.
_stopped: set[str] = set()


def run(testbed: Testbed, trial: Trial, note: Say) -> Outcome:
    """Run `trial` and return its outcome.

    This adds to the provenance: the version of this package, the capabilities that the trial
    required, its plug-ins, and the testbed if that is a plug-in.
    """
    outcome = testbed.run(trial, note)
    told: dict[str, object] = {"package": __version__, "capabilities": sorted(requirements(trial))}
    if trial.plugins:
        told["plugins"] = [plugin.model_dump() for plugin in trial.plugins]
    if plugin := installed("testbed", testbed.name):
        told["testbed_plugin"] = plugin.model_dump()
    return replace(outcome, provenance={**outcome.provenance, **told})


class Threads:
    """A pool of `width` threads.

    Each real machine runs one trial at a time. The client only talks to the machine, so a Dask
    worker would just be another program in between. QEMU works outside of Python as well. So where
    Dask is not installed, threads run several emulated machines, too.
    """

    def __init__(self, width: int) -> None:
        self._threads = ThreadPoolExecutor(width)
        self._testbeds: set[Testbed] = set()

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()

    def submit(self, testbed: Testbed, trial: Trial, note: Say) -> Future[Outcome]:
        """Run a trial when its turn comes."""
        self._testbeds.add(testbed)
        return self._threads.submit(run, testbed, trial, note)

    def stop(self) -> None:
        """End what runs, start nothing more, and wait until all has ended."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for testbed in self._testbeds:
            testbed.stop()
        self._threads.shutdown()


def run_for(campaign: str, testbed: Testbed, identity: str, trial: Trial) -> Outcome:
    """Run `trial` on a worker of a Dask cluster, if its testbed has the client's identity."""
    if refusal := unlike(testbed, identity):
        raise NotReady(refusal)
    job = (campaign, testbed)
    _running.add(job)
    try:
        if campaign in _stopped:
            raise NotReady("the campaign was stopped before this trial started")
        return run(testbed, trial, lambda text: None)
    finally:
        _running.discard(job)


def unlike(testbed: Testbed, identity: str) -> str:
    """Return how the testbed here differs from the client's; "" if they are the same."""
    try:
        found = testbed.identity()
    except NotReady as problem:
        return str(problem)
    if found == identity:
        return ""
    return f"expected {testbed.name} {identity[:12]}{testbed.identity_is}; found {found[:12]}"


def stop(campaign: str) -> None:
    """End the trials that run in this process for a campaign, and let no other start."""
    _stopped.add(campaign)
    for name, testbed in list(_running):
        if name == campaign:
            testbed.stop()
