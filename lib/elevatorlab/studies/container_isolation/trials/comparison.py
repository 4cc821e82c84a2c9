"""Beyond the paper: its policies compared with the kernel's mechanisms, under four kinds of load.

Three normal containers write all the time. Offenders begin at `ONSET_S`, and the measurement begins
then, too.

==========  =========================================================================
mechanism   what protects the normal containers from the offenders
==========  =========================================================================
none        nothing
slae, ute   the regulator with this project's policies, the study's SLA or threshold
aimd, pi    the regulator with a controller from the textbook
guard       the regulator with this project's policy that limits newcomers from the beginning
...-paper   the regulator with the paper's policies, in the readings of `regulation.READINGS`
registered  the regulator with that policy of another package or of a notebook
io_max      a fixed limit: the 1 MB/s that the paper set by hand, shared by the offenders
bfq         the scheduler bfq, with weights of 1000 for normal containers and 10 for offenders
io_cost     the kernel's cost controller, with a model of the simulated disk, and weights of
            100 and 10
==========  =========================================================================

``io.latency`` is not compiled into Debian's kernel, so it cannot be tested here.
"""

from __future__ import annotations

from typing import Any, get_args

from ....trial import IoCost, Limits, Phase, Trial
from .containers import NORMAL, OVERLOADED, load, names, trial, writes
from .disks import SERVER
from .parameters import Kernel, Load, OwnMechanism, Parameters
from .regulation import DISK, NORMAL_CONTAINERS, regulator

ONSET_S = 2
FIXED_BYTES_S = 1_000_000

#: For each load: the number of offenders, and each offender's writers in successive equal spans.
LOADS: dict[Load, tuple[int, list[int]]] = {
    "step": (1, [3]),
    "ramp": (1, [1, 2, 3]),
    "burst": (1, [3, 0, 3, 0]),
    "two": (2, [2]),
}
MECHANISMS: tuple[OwnMechanism, ...] = get_args(OwnMechanism)


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``comparison``."""
    return [
        _trial(parameters, mechanism, kind, repetition)
        for repetition in range(1, parameters.comparison_repetitions + 1)
        for kind in parameters.loads
        for mechanism in parameters.mechanisms
    ]


def _trial(parameters: Parameters, mechanism: str, kind: Load, repetition: int) -> Trial:
    count, steps = LOADS[kind]
    normal, offenders = names(NORMAL, NORMAL_CONTAINERS), names(OVERLOADED, count)
    span_s = parameters.overloaded_s / len(steps)
    phases = [Phase(duration_s=ONSET_S, writers=0)]
    phases += [Phase(duration_s=span_s, writers=writers) for writers in steps]
    workloads = [writes(name, ONSET_S + parameters.overloaded_s) for name in normal]
    workloads += [load(name, phases) for name in offenders]
    more: dict[str, Any] = {"warm_up_s": ONSET_S, "limits": _limits(mechanism, normal, offenders)}
    if mechanism not in ("none", *get_args(Kernel)):
        more["regulator"] = regulator(mechanism, parameters)
    if mechanism == "io_cost":
        more["io_cost"] = cost_model(parameters.sla_wait_ms)
    scheduler = "bfq" if mechanism == "bfq" else "none"
    labels: dict[str, str] = {"mechanism": mechanism, "load": kind}
    labels |= {"sla_ms": f"{parameters.sla_wait_ms:g}", "onset": f"{ONSET_S:g}"}
    return trial(parameters, "comparison", DISK, scheduler, repetition, workloads, labels, **more)


def _limits(
    mechanism: str, normal: list[str], offenders: list[str]
) -> dict[str, dict[str, Limits]]:
    """Return the limit or weight of each group that has one, by the group's name."""
    weights = {"bfq": (1000, 10), "io_cost": (100, 10)}
    if mechanism == "io_max":
        each = Limits(write_bytes_s=FIXED_BYTES_S // len(offenders))
        return {name: {"limits": each} for name in offenders}
    if mechanism in weights:
        heavy, light = weights[mechanism]
        return {
            **{name: {"limits": Limits(weight=heavy)} for name in normal},
            **{name: {"limits": Limits(weight=light)} for name in offenders},
        }
    return {}


def cost_model(sla_wait_ms: float, least: float = 25, most: float = 100) -> IoCost:
    """Return the cost controller's model of the study's disk, and its targets.

    The model has the disk's rate in bytes/s, and its rate of requests of 4 KiB. The controller
    moves its own rate between `least` and `most` percent of the model's. It slows down when more
    than a tenth of the writes wait longer than `sla_wait_ms`.
    """
    bytes_s = SERVER["bandwidth_kib_s"] * 1024
    iops = round(1e6 / (SERVER["service_us"] + 4096 / bytes_s * 1e6))
    rates = {"bps": bytes_s, "seqiops": iops, "randiops": iops}
    return IoCost(
        model={f"{way}{name}": value for way in "rw" for name, value in rates.items()},
        qos={"rpct": 0, "wpct": 90, "wlat": round(sla_wait_ms * 1000), "min": least, "max": most},
    )
