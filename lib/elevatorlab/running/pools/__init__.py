"""Where the trials of a campaign run: in this process, or by the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...results.outcome import Outcome
    from ...testbeds.base import Testbed
    from ...trial import Trial


class Pool(Protocol):
    """Something that runs trials. Context managers make pools, and end them."""

    def submit(
        self, testbed: Testbed, trial: Trial, note: Callable[[str], object]
    ) -> Future[Outcome]:
        """Run a trial when its turn comes; see `elevatorlab.running.pools.task.run`."""
        ...

    def stop(self) -> None:
        """End what runs, and start nothing more."""
        ...
