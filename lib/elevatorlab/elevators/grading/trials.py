"""The trials of an assignment, for one scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...plugins.schedulers import room_for
from ...trial import Trial, checked
from .assignments import Assignment, Scenario, Workload

#: Requests that a scheduler may hold. By default the kernel allows too few on a disk that takes one
#: request at a time.
ROOM = 256

#: Deadline of a trial, in the guest's own time. The longest part of the course takes 3 s.
DEADLINE_S = 20


def of(assignment: Assignment, scheduler: str) -> dict[str, Trial]:
    """Return a trial for each part of an assignment that is run, by the part's name."""
    return {part.what: _trial(assignment, part, scheduler) for part in assignment.runs}


def _trial(assignment: Assignment, part: Scenario | Workload, scheduler: str) -> Trial:
    workloads = [replay(part)] if isinstance(part, Scenario) else part.workloads
    tunables = room_for(scheduler, ROOM)
    if tunables and isinstance(part, Scenario):
        tunables |= part.tunables
    content = {
        "study": "course",
        "preset": "smoke",
        "labels": {"assignment": assignment.name, "part": part.what},
        "memory_mib": 512,
        "device": assignment.device,
        "scheduler": {"name": scheduler, "tunables": tunables},
        "filesystem": None,
        "groups": ({"name": "main"},),
        "workloads": workloads,
        "settle_s": 0,
        "trace": True,
        "deadline_s": DEADLINE_S,
        "seed": assignment.seed,
    }
    return checked(Trial, content, f"assignment {assignment.name}, {part.what!r}")


def replay(scenario: Scenario) -> Mapping[str, Any]:
    """Return the workload that sends a scenario's requests at their times."""
    requests = [
        {"at_us": round(1000 * at_ms), "offset_bytes": place_kib << 10}
        for at_ms, place_kib in scenario.requests
    ]
    return {"kind": "replay", "name": "replay", "group": "main", "requests": requests}
