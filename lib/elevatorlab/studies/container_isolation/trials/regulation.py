"""Section 4.3 of the paper as trials, Figures 8 and 9: three normal containers, one overloaded.

From the tenth second on a regulator is at work. *Calibration point*: the overload writes with three
writers, because then the normal containers wait about as long as the paper says they did in the
first ten seconds (17.7 ms). What the overload writes then, and everything after the tenth second,
is prediction.

The paper's two policies are run word for word (``-paper``, in `agent.regulator.paper`), in each
reading that the text allows, and as this project has them (``slae``, ``ute``).
"""

from __future__ import annotations

from typing import Any

from ....trial import Phase, Regulator, Trial
from .containers import NORMAL, OVERLOADED, load, names, trial, writes
from .parameters import Parameters, Policy

NORMAL_CONTAINERS = 3
OVERLOAD_WRITERS = 3
DISK = "write_behind"

MILD = {"step": "mild"}
POLICIES: dict[Policy, tuple[str, dict[str, Any]]] = {
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
"""What the study calls a policy: the regulator's own name, and the reading or the options."""
FLOOR_KIB_S = 128
"""Below it the regulator limits nobody."""
PERIODS_S: dict[Policy, float] = {"guard": 0.25}
"""Control periods other than one second: those that a policy is made for."""


def regulator(
    policy: Policy,
    parameters: Parameters,
    start_s: float = 0,
    period_s: float | None = None,
    floor_kib_s: float = FLOOR_KIB_S,
) -> Regulator:
    """Return the regulator with a policy and the study's SLA or threshold."""
    name, options = POLICIES[policy]
    given: dict[str, Any] = {"policy": name, "start_s": start_s, "options": options}
    given |= {"period_s": period_s or PERIODS_S.get(policy, 1), "floor_kib_s": floor_kib_s}
    if name.startswith("ute"):
        return Regulator(**given, threshold=parameters.threshold)
    return Regulator(**given, sla_wait_ms=parameters.sla_wait_ms)


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``regulation``: one a policy and repetition."""
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
