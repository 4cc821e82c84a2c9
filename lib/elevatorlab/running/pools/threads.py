"""Run trials in threads of this process, which wait for the machines that do the work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from ...results.outcome import Outcome
from ...testbeds.base import Testbed
from ...trial import Trial
from . import task


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

    def submit(
        self, testbed: Testbed, trial: Trial, note: Callable[[str], object]
    ) -> Future[Outcome]:
        """Run a trial when its turn comes."""
        self._testbeds.add(testbed)
        return self._threads.submit(task.run, testbed, trial, note)

    def stop(self) -> None:
        """End what runs, start nothing more, and wait until all has ended."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for testbed in self._testbeds:
            testbed.stop()
        self._threads.shutdown()
