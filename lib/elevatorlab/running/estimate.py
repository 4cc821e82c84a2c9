"""Estimate the minutes and the disk space of a campaign from trials that have finished.

An emulator executes the processors of a machine one after the other. So a trial's time is estimated
in proportion to its processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..results import costs, reading, store
from ..testbeds.base import Testbed
from . import campaign
from .campaign import Share


@dataclass(frozen=True)
class Cost:
    """The cost of trials: wall time of one worker, and disk space.

    The time of one trial is that for each of its processors.
    """

    wall_s: float
    size_bytes: float

    def __mul__(self, count: float) -> Cost:
        return Cost(self.wall_s * count, self.size_bytes * count)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall_s + other.wall_s, self.size_bytes + other.size_bytes)


NOTHING = Cost(0, 0)


def finished(share: Share, results: str | Path) -> Cost | None:
    """Return the mean cost of a share's finished trials; None if no trial is finished."""
    place, found = store.folder(results, share.testbed), []
    for trial in share.trials:
        if reading.whole(folder := place / trial.hash):
            wall_s = reading.read_provenance(folder).wall_s / trial.needed_processors
            found.append(Cost(wall_s, sum(file.stat().st_size for file in folder.rglob("*"))))
    return sum(found, NOTHING) * (1 / len(found)) if found else None


def stored(share: Share) -> Cost | None:
    """Return the mean cost of such trials in the stored reference; None if it lacks some."""
    if not share.testbed.anywhere:
        return None
    presets = {trial.preset for trial in share.trials}
    known = {preset: costs.read(preset) for preset in presets}
    if any(trial.study not in known[trial.preset] for trial in share.trials):
        return None
    alike = [known[trial.preset][trial.study] for trial in share.trials]
    wall_s = sum(float(cost["wall_s"]) / int(cost["trials"]) for cost in alike)
    size_bytes = sum(int(cost["size_bytes"]) / int(cost["trials"]) for cost in alike)
    return Cost(wall_s, size_bytes) * (1 / len(alike))


def sentence(shares: Sequence[Share], results: str | Path, workers: int | None = None) -> str:
    """Say how many minutes and how much disk space the unfinished trials will take.

    `workers`: Trials at the same time, where a testbed allows several.
    """
    machines: dict[str, list[tuple[Testbed, Cost]]] = {}
    total, bases = NOTHING, []
    for share in shares:
        if not (todo := share.todo(results)):
            continue
        each, basis = finished(share, results), "the trials finished here"
        if each is None:
            each, basis = stored(share), "the reference's trials"
        if each is None:
            return (
                "minutes not known before the first trial is finished, since no such trial was "
                f"measured yet; {len(todo) * campaign.MIB_PER_RESULT} MiB of disk space at most"
            )
        wall_s = each.wall_s * sum(trial.needed_processors for trial in todo)
        cost = Cost(wall_s, each.size_bytes * len(todo))
        machines.setdefault(share.testbed.machine(), []).append((share.testbed, cost))
        total += cost
        bases.append(basis)
    if not machines:
        return "nothing to run"
    minutes = max(_minutes(work, workers) for work in machines.values())
    return (
        f"about {_rounded(minutes)} min ({_rounded(total.wall_s / 60)} min of one worker's time) "
        f"and {total.size_bytes / 2**20:.1f} MiB of disk space, by the mean of "
        f"{' and '.join(dict.fromkeys(bases))}"
    )


def _minutes(work: Sequence[tuple[Testbed, Cost]], workers: int | None) -> float:
    """Return how many minutes one machine works."""
    width = campaign.width(list(dict.fromkeys(testbed for testbed, _ in work)), workers)
    return sum(cost.wall_s for _, cost in work) / width / 60


def _rounded(minutes: float) -> str:
    return f"{minutes:.0f}" if minutes >= 10 else f"{minutes:.1f}"
