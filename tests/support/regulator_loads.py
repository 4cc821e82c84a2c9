"""Loads over the simulated disk of study 3, and what a policy or a fixed limit makes of them."""

import bisect
import statistics

from elevatorlab.agent.regulator.control import Settings
from elevatorlab.agent.regulator.decisions import decide
from regulator_simulation import Container, WriteBehindDisk, closed_loop

SLA_MS = 5.0
EVER = float("inf")
ONSET_S, PERIOD_S = 1.75, 0.25


def bursts(turn_s):
    return tuple((ONSET_S + 2 * i * turn_s, ONSET_S + (2 * i + 1) * turn_s) for i in range(40))


def offender(name="over", depth=3, kib=32, active=((ONSET_S, EVER),), born_s=0.0):
    size = kib * 1024
    return Container(name, 0.0, size, depth=depth, active=active, born_s=born_s)


LOADS = {
    "step": lambda: [offender()],
    "bursts of 0.2 s": lambda: [offender(active=bursts(0.2))],
    "bursts of 1 s": lambda: [offender(active=bursts(1))],
    "bursts of 5 s": lambda: [offender(active=bursts(5))],
    "two": lambda: [offender("over1", 2), offender("over2", 2)],
    "many": lambda: [offender(f"over{i}", 1, 4) for i in range(16)],
    "newborn": lambda: [offender(f"over{i}", 1, 4, born_s=ONSET_S) for i in range(16)],
    "mixed": lambda: [offender("over1", 6, 4), offender("over2", 1, 256)],
}


def simulated(load, seed, policy=None, limit_bytes_s=None, seconds=14):
    """Return (seconds in which a normal container missed its SLA, the offenders' bytes/s)."""
    normals = [Container(f"normal{i}", request_bytes=5120) for i in range(3)]
    offenders = LOADS[load]()
    for one in offenders:
        one.limit_bytes_s = limit_bytes_s and limit_bytes_s / len(offenders)
    disk = WriteBehindDisk([*normals, *offenders], seed)
    settings = Settings(floor_bytes_s=min(64 * 1024, 128 * 1024 // len(offenders)))

    def steer(state, seen):
        return decide(policy, state, seen, settings) if policy else (state, [])

    history = closed_loop(disk, steer, round(seconds / PERIOD_S), PERIOD_S)
    missed = sum(worst_ms(disk, normals, second) > SLA_MS for second in range(2, seconds))
    done = sum(u.bytes_s * PERIOD_S for seen, _ in history for u in seen.containers[3:])
    return missed, done / (seconds - ONSET_S)


def worst_ms(disk, normals, second):
    """Return the longest of the containers' mean waits in the second that begins then."""
    waits = ([w for t, w in disk.ended[c.name] if second <= t < second + 1] for c in normals)
    return max(1000 * sum(some) / len(some) for some in waits)


def best_fixed_bytes_s(load, seeds):
    """Return what offenders do under the highest fixed limit that never misses the SLA."""

    def misses(limit_bytes_s):
        return any(simulated(load, seed, limit_bytes_s=limit_bytes_s)[0] for seed in seeds)

    limits = range(200_000, 2_500_000, 50_000)
    place = bisect.bisect_left(limits, True, key=misses)
    assert place, f"even {limits[0]} bytes/s miss the SLA"
    best = limits[place - 1]
    return statistics.mean(simulated(load, seed, limit_bytes_s=best)[1] for seed in seeds)
