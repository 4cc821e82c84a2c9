"""Section 4.3 of the paper as trials, Figures 8 and 9: three normal containers, one overloaded.

A regulator works from the tenth second on. *Calibration point*: the overloaded container has three
writers. With this number, the normal containers wait about as long in the first ten seconds as the
paper says (17.7 ms). The overloaded container's rate in these seconds is a prediction, and so is
everything after them.

The paper's two policies run literally (``-paper``, in `agent.regulator.paper`), in each reading
that the text allows. This project's versions of them run, too (``slae``, ``ute``).
"""

from __future__ import annotations

from typing import Any

from ....plugins.kinds import POLICIES
from ....trial import Phase, Regulator, Trial
from .containers import NORMAL, OVERLOADED, load, names, trial, writes
from .parameters import Parameters

NORMAL_CONTAINERS = 3
OVERLOAD_WRITERS = 3
DISK = "write_behind"

MILD = {"step": "mild"}
READINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "slae-paper": ("slae-paper", {}),
    "slae-paper-mild": ("slae-paper", MILD),
    "slae-paper-speed": ("slae-paper", {"overload": "speed"}),
    "slae-paper-utilization": ("slae-paper", {"overload": "utilization"}),
    "ute-paper": ("ute-paper", {}),
    "ute-paper-mild": ("ute-paper", MILD),
    "ute-paper-shared": ("ute-paper", {"system": "shared"}),
    "ute-paper-shared-mild": ("ute-paper", {"system": "shared", **MILD}),
    "slae": ("slae", {}),
    "ute": ("ute", {}),
    "aimd": ("aimd", {}),
    "pi": ("pi", {}),
    "guard": ("guard", {}),
}
"""For each policy of the study: the regulator's name for it, and its options (the reading)."""
FLOOR_KIB_S = 128
"""The lowest limit that the regulator may set."""
PERIODS_S: dict[str, float] = {"guard": 0.25}
"""Control periods of the policies that are made for another period than one second."""


def regulator(
    policy: str,
    parameters: Parameters,
    start_s: float = 0,
    period_s: float | None = None,
    floor_kib_s: float = FLOOR_KIB_S,
) -> Regulator:
    """Return the regulator with a policy, and with the study's SLA or threshold if it has one."""
    name, options = READINGS.get(policy, (policy, {}))
    given: dict[str, Any] = {"policy": name, "start_s": start_s, "options": options}
    given |= {"period_s": period_s or PERIODS_S.get(policy, 1), "floor_kib_s": floor_kib_s}
    if number := POLICIES.get(name).number:
        given[number] = getattr(parameters, number)
    return Regulator(**given)


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``regulation``: one per policy, scheduler and repetition."""
    start_s = parameters.regulate_from_s
    duration_s = start_s + parameters.regulation_s
    (offender,) = names(OVERLOADED, 1)
    workloads = [writes(name, duration_s) for name in names(NORMAL, NORMAL_CONTAINERS)]
    workloads.append(load(offender, [Phase(duration_s=duration_s, writers=OVERLOAD_WRITERS)]))
    labels = {"load": "constant", "sla_ms": f"{parameters.sla_wait_ms:g}", "onset": f"{start_s:g}"}
    return [
        trial(
            parameters,
            "regulation",
            DISK,
            scheduler,
            repetition,
            workloads,
            {"mechanism": policy, **labels},
            regulator=regulator(policy, parameters, start_s),
        )
        for repetition in parameters.each_repetition
        for scheduler in parameters.schedulers
        for policy in parameters.policies
    ]
