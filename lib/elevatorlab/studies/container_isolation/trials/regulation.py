"""Section 4.3 of the paper as trials, Figures 8 and 9: three normal containers, one overloaded.

From the tenth second on a regulator is at work. *Calibration point*: the overload writes with three
writers, because then the normal containers wait about as long as the paper says they did in the
first ten seconds (17.7 ms). What the overload writes then, and everything after the tenth second,
is prediction.
"""

from __future__ import annotations

from ....trial import Phase, Regulator, Trial
from .containers import NORMAL, OVERLOADED, load, names, trial, writes
from .parameters import Parameters, Policy

NORMAL_CONTAINERS = 3
OVERLOAD_WRITERS = 3
DISK = "write_behind"


def regulator(policy: Policy, parameters: Parameters, start_s: float = 0) -> Regulator:
    """Return the regulator with a policy and the study's SLA or threshold."""
    if policy == "slae":
        return Regulator(policy=policy, start_s=start_s, sla_wait_ms=parameters.sla_wait_ms)
    return Regulator(policy=policy, start_s=start_s, threshold=parameters.threshold)


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of part ``regulated``: one a policy and repetition."""
    start_s = parameters.regulate_from_s
    duration_s = start_s + parameters.regulated_s
    (offender,) = names(OVERLOADED, 1)
    workloads = [writes(name, duration_s) for name in names(NORMAL, NORMAL_CONTAINERS)]
    workloads.append(load(offender, [Phase(duration_s=duration_s, writers=OVERLOAD_WRITERS)]))
    labels = {"load": "constant", "sla_ms": f"{parameters.sla_wait_ms:g}", "onset": f"{start_s:g}"}
    return [
        trial(
            parameters,
            "regulated",
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
