"""Scenarios that students do not see: drawn by a teacher's seed, in the image of the public ones.

A drawn scenario has the times of a public one, and other places. Whatever the places, the disk
takes a request whenever it has served one. So what holds for the times of a public scenario (no
request comes while a choice is made, and no wait ends near its bound) holds for a drawn one, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from ...errors import ElevatorLabError
from .assignments import PUBLIC_SEED, Assignment, Request, Scenario

#: Places are multiples of this, so that neighbours stay apart, and no distance hangs on whether the
#: head is at the beginning or at the end of the last request, which is shorter.
SLOT_KIB = 16

#: Fewest characters of a seed. Students have this code, and could try short ones.
SHORTEST_SEED = 8

#: Tries for all requests of a scenario. The course's scenarios need about a hundred.
MOST_TRIES = 100_000


def hidden(assignment: Assignment, seed: str) -> Assignment:
    """Return an assignment with other requests; the same seed gives the same ones.

    `seed`: A secret of the teacher's. What is drawn for a workload of fio is the seed of its own
    random numbers.
    """
    if len(seed) < SHORTEST_SEED:
        raise ElevatorLabError(
            f"--seed: expected a secret of at least {SHORTEST_SEED} characters, since students "
            f"could try all shorter ones; found {len(seed)}"
        )
    # Of the methods of `Random`, Python promises the same numbers for this one alone.
    draw = random.Random(f"{assignment.name}\0{seed}").random
    others = tuple(_other(scenario, _places(scenario, draw)) for scenario in assignment.scenarios)
    return assignment.model_copy(
        update={"scenarios": others, "seed": PUBLIC_SEED + 1 + int(draw() * 2**31)}
    )


def _other(scenario: Scenario, places_kib: Sequence[int]) -> Scenario:
    times_ms = (at_ms for at_ms, _ in scenario.requests)
    requests: tuple[Request, ...] = tuple(zip(times_ms, places_kib, strict=True))
    return scenario.model_copy(update={"requests": requests})


def _places(scenario: Scenario, draw: Callable[[], float]) -> list[int]:
    """Draw other places, as many near each other as in the scenario, and none as near as another.

    No place is half-way between two others, so that "the nearest" is always one request.
    """
    public = sorted(place_kib for _, place_kib in scenario.requests)
    slots: list[int] = []
    for _ in range(MOST_TRIES):
        if len(slots) == len(public):
            return [SLOT_KIB * slot for slot in slots]
        at = draw() * (len(public) - 1)
        below, above = public[int(at) : int(at) + 2]
        slot = int(below + (at - int(at)) * (above - below)) // SLOT_KIB
        if SLOT_KIB * slot not in public and not _ties(slot, slots):
            slots.append(slot)
    raise ElevatorLabError(
        f"--seed: expected room for other places in scenario {scenario.what!r}; found too little "
        f"for {len(public)} requests. Spread its places, or take fewer"
    )


def _ties(slot: int, others: Sequence[int]) -> bool:
    """Tell whether a slot is one of the others, or would be as far from one as another is."""
    return slot in others or any(
        2 * one - slot in others or 2 * slot - one in others or (one + slot) / 2 in others
        for one in others
    )
