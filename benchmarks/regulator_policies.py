"""What each policy of the regulator reaches over simulated disks, beside the best fixed limit.

    .venv/bin/python benchmarks/regulator_policies.py > data/frontier/simulated.csv

The loop is closed over the simulated disks of the tests: that of study 3 with one server, and one
with 32. Three normal containers are joined by those that overload the disk, 1.75 s after the
beginning. From 2 s on each second is judged: is one of the normal containers' mean waits above the
SLA? A row is one seed of what one policy reached under one load. ``fixed`` is the highest limit
that misses no second in any seed: what an oracle would set. It takes some minutes.
"""

import csv
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))

from elevatorlab.agent.regulator.control import Settings
from elevatorlab.agent.regulator.controllers import Aimd, Pi
from elevatorlab.agent.regulator.decisions import decide
from elevatorlab.agent.regulator.guard import Guard
from elevatorlab.agent.regulator.paper import SlaePaper
from elevatorlab.agent.regulator.policies import Slae
from elevatorlab.agent.regulator.share import Share
from regulator_simulation import Container, ParallelDisk, RecordedDisk, WriteBehindDisk, closed_loop

SEEDS = range(1, 6)
#: Seeds that nobody looked at while a policy's constants were chosen, and the policies chosen so.
KEPT_SEEDS, TUNED = range(201, 211), ("guard", "share")
ONSET_S, JUDGED_FROM_S, SECONDS = 1.75, 2, 14
EVER = float("inf")
NORMAL_CONTAINERS = 3
#: A policy, and its control period. The least limit of all offenders together is the usual one.
POLICIES: dict[str, tuple[Callable[..., Any] | None, float]] = {
    "none": (None, 0.25),
    "slae-paper": (SlaePaper, 1.0),
    "slae": (Slae, 1.0),
    "slae at 0.25 s": (Slae, 0.25),
    "aimd at 0.25 s": (Aimd, 0.25),
    "pi at 0.25 s": (Pi, 0.25),
    "guard": (Guard, 0.25),
    "share": (Share, 0.25),
}
FLOOR_BYTES_S = 128 * 1024


class Place(NamedTuple):
    """A disk, how many writers each normal container has on it, its SLA, and the oracle's steps."""

    disk: Callable[..., RecordedDisk]
    depth: int
    sla_ms: float
    step_bytes_s: int


PLACES = {
    "one server": Place(WriteBehindDisk, 1, 5.0, 25_000),
    "32 servers": Place(ParallelDisk, 8, 30.0, 1_000_000),
}


def offender(
    name: str = "over", depth: int = 3, kib: int = 32, from_s: float = ONSET_S, turn_s: float = EVER
) -> Container:
    """Return one that overloads the disk; it comes and goes by turns."""
    turns = range(round(SECONDS / turn_s / 2) + 1)
    starts = [from_s + (2 * turn_s * turn if turn else 0) for turn in turns]
    active = tuple((start, start + turn_s) for start in starts)
    return Container(name, think_ms=0.0, request_bytes=kib * 1024, depth=depth, active=active)


def newborn(name: str, kib: int) -> Container:
    """Return an offender with one writer that does not exist before it writes."""
    one = offender(name, 1, kib)
    one.born_s = ONSET_S
    return one


#: Which disk, and who overloads it.
LOADS: dict[str, tuple[str, Callable[[], list[Container]]]] = {
    "step": ("one server", lambda: [offender()]),
    "ramp": (
        "one server",
        lambda: [offender(f"over{i}", 1, from_s=ONSET_S + 4 * i) for i in range(3)],
    ),
    "burst-0.2": ("one server", lambda: [offender(turn_s=0.2)]),
    "burst-1": ("one server", lambda: [offender(turn_s=1)]),
    "burst-5": ("one server", lambda: [offender(turn_s=5)]),
    "two": ("one server", lambda: [offender("over1", 2), offender("over2", 2)]),
    "many": ("one server", lambda: [offender(f"over{i}", 1, 4) for i in range(16)]),
    "thousand": ("one server", lambda: [offender(f"over{i}", 1, 4) for i in range(1000)]),
    "born": ("one server", lambda: [newborn(f"over{i}", 4) for i in range(16)]),
    "mixed": ("one server", lambda: [offender("over1", 6, 4), offender("over2", 1, 256)]),
    "step, 64 writers": ("32 servers", lambda: [offender(depth=64)]),
}


class Reached(NamedTuple):
    """What one run came to."""

    missed_s: int
    longest_wait_ms: float
    offenders_kb_s: float


def run(load: str, seed: int, policy: str = "none", limit_bytes_s: float | None = None) -> Reached:
    """Run a load under a policy, or under a fixed limit of all offenders together."""
    where, offenders_of = LOADS[load]
    place = PLACES[where]
    normals = [
        Container(f"normal{i}", request_bytes=5120, depth=place.depth)
        for i in range(NORMAL_CONTAINERS)
    ]
    offenders = offenders_of()
    for one in offenders:
        one.limit_bytes_s = limit_bytes_s and limit_bytes_s / len(offenders)
    disk = place.disk([*normals, *offenders], seed)
    kind, period_s = POLICIES[policy]
    law = kind({"": place.sla_ms}) if kind else None
    settings = Settings(floor_bytes_s=max(FLOOR_BYTES_S // len(offenders), 1))

    def steer(state: dict[str, Any], seen: Any) -> tuple[dict[str, Any], list[Any]]:
        return decide(law, state, seen, settings) if law else (state, [])

    history = closed_loop(disk, steer, round(SECONDS / period_s), period_s)
    waits = [
        max(_mean_ms(disk.ended[one.name], second) for one in normals)
        for second in range(JUDGED_FROM_S, SECONDS)
    ]
    done = sum(
        usage.bytes_s * period_s
        for seen, _ in history
        for usage in seen.containers[NORMAL_CONTAINERS:]
    )
    missed = sum(wait > place.sla_ms for wait in waits)
    return Reached(missed, max(waits), done / 1000 / (SECONDS - ONSET_S))


def _mean_ms(ended: list[tuple[float, float]], second: int) -> float:
    """Return the mean wait in a second; where no request ended it is the whole second."""
    waits = [wait_s for when_s, wait_s in ended if second <= when_s < second + 1]
    return 1000 * statistics.mean(waits) if waits else 1000.0


def best_fixed(load: str) -> list[Reached]:
    """Return what the highest limit reaches that misses no second in any seed."""
    step = PLACES[LOADS[load][0]].step_bytes_s
    best: list[Reached] = []
    for steps in range(8, 200):
        found = [run(load, seed, limit_bytes_s=steps * step) for seed in SEEDS]
        if any(one.missed_s for one in found):
            break
        best = found
    return best


def rows() -> Iterator[list[Any]]:
    """Yield a row for each load, policy and seed."""
    for load, (where, _) in LOADS.items():
        if load != "thousand":  # so many fixed limits are all used up at the same moment
            for seed, one in zip(SEEDS, best_fixed(load), strict=True):
                yield [where, load, "fixed", seed, *one]
        for policy in POLICIES:
            kept = KEPT_SEEDS if policy in TUNED and load != "thousand" else ()
            for seed in (*SEEDS, *kept):
                yield [where, load, policy, seed, *run(load, seed, policy)]
        print(load, file=sys.stderr)


def main() -> None:
    """Print the table."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["disk", "load", "policy", "seed", *Reached._fields])
    for row in rows():
        writer.writerow([f"{cell:.4g}" if isinstance(cell, float) else cell for cell in row])


if __name__ == "__main__":
    main()
