"""What every testbed offers, so that they can be exchanged for one another."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..trial import Trial


@dataclass(frozen=True)
class Finding:
    """One thing that a testbed needs or can do, as `elevatorlab doctor` shows it."""

    testbed: str
    what: str
    found: str
    ready: bool
    #: What to do about it, where it is not ready.
    remedy: str = ""


class Testbed(Protocol):
    """Where trials run."""

    name: str
    #: Trials that may run at the same time.
    slots: int

    def findings(self) -> Iterable[Finding]:
        """Say what this machine has of what the testbed needs. Changes nothing."""

    def prepare(self, trials: list[Trial]) -> None:
        """Make ready for `trials`, or raise `NotReady` before anything starts."""

    def identity(self) -> str:
        """Return what, besides the trial, decides the results (the image digest, say)."""

    def run(self, trial: Trial, folder: Path) -> dict:
        """Run `trial`, put its result into `folder`, and return the provenance."""

    def stop(self) -> None:
        """End what runs now, without results."""
