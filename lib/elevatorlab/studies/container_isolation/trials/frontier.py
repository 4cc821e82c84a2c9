"""Beyond the paper: what each mechanism can reach at its best, and what it costs.

Each mechanism runs with each of its settings. A setting gives a point: how long the normal
containers missed their SLA, and how much the offenders could write. The best points of all settings
are the mechanism's front.

===========  ======================================================================
mechanism    its settings
===========  ======================================================================
alone        only one: normal containers without offenders, as a baseline for the others
none         only one: nothing limits the offenders
io_max       a fixed limit for all offenders together, as if their load were known
io_cost      the offenders' weight (normal containers have 100), the bounds of the
             controller's rate (vrate, in percent) and the wait above which it slows down
bfq          the offenders' weight (normal containers have 1000), with bfq's defaults
bfq_tuned    the offenders' weight, with ``slice_idle`` and ``low_latency`` set to 0
policies     the regulator's control period
===========  ======================================================================

Offenders begin at `ONSET_S`, 250 ms before a full second. Results are judged in full seconds. So
the first second that counts begins when a mechanism has had 250 ms to act.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ....errors import ElevatorLabError
from ....trial import Limits, PacedWrites, Phase, Scheduler, Trial
from . import comparison
from .containers import NORMAL, OVERLOADED, load, names, trial, writes
from .disks import OVERLOAD_BYTES
from .parameters import FrontierLoad, Parameters
from .regulation import FLOOR_KIB_S, NORMAL_CONTAINERS, regulator

ONSET_S = 1.75
NORMAL_WEIGHTS = {"io_cost": 100, "bfq": 1000, "bfq_tuned": 1000}
FLOOR_OF_ALL_KIB_S = 256
"""The lowest limit of all offenders together. Sixteen of them, each at the usual floor, would
overload the disk."""
TUNED = {"slice_idle": 0, "low_latency": 0}


class Offender(NamedTuple):
    """A container that overloads the disk, with a number of writers that may change."""

    #: The numbers of writers, in their order in time.
    writers: tuple[int, ...]
    #: Each number of writers lasts this long, and after the last one comes the first again. None:
    #: each number has an equal part of the whole time.
    turn_s: float | None = None
    #: Size of a write.
    request_bytes: int = OVERLOAD_BYTES


BURSTS = {f"burst-{turn_s:g}": Offender((3, 0), turn_s) for turn_s in (0.2, 1, 5)}
LOADS: dict[str, tuple[Offender, ...]] = {
    "step": (Offender((3,)),),
    "ramp": (Offender((1, 2, 3)),),
    **{name: (offender,) for name, offender in BURSTS.items()},
    "two": (Offender((2,)),) * 2,
    "many": (Offender((1,), request_bytes=4096),) * 16,
    "mixed": (Offender((6,), request_bytes=4096), Offender((1,), request_bytes=256 * 1024)),
}
"""The offenders of each load. ``many`` has only 16 small offenders, because the machine needs a
partition and a container for each. The simulation in the tests has a thousand."""


class Setting(NamedTuple):
    """One setting of a mechanism: its name, the fields of a trial that it sets, and the scheduler.

    In the field ``limits``, the keys are roles of containers, not names of groups.
    """

    name: str
    fields: dict[str, Any]
    scheduler: Scheduler = Scheduler(name="none")


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``frontier``."""
    if parameters.frontier_drives and "io_cost" in parameters.frontier_mechanisms:
        raise ElevatorLabError(
            "frontier_drives: expected no io_cost among frontier_mechanisms, since its model is "
            f"that of the study's disk; found {', '.join(parameters.frontier_drives)}"
        )
    return [
        _trial(parameters, mechanism, setting, disk, kind, repetition)
        for repetition in range(1, parameters.frontier_repetitions + 1)
        for disk in (*parameters.frontier_disks, *parameters.frontier_drives)
        for kind in parameters.frontier_loads
        for mechanism in parameters.frontier_mechanisms
        for setting in settings(parameters, mechanism, len(LOADS[kind]))
    ]


def settings(parameters: Parameters, mechanism: str, offenders: int) -> Iterator[Setting]:
    """Yield the settings of a mechanism for a load with `offenders` offenders."""
    if mechanism in ("alone", "none"):
        yield Setting("", {})
    elif mechanism == "io_max":
        for limit_kb_s in parameters.frontier_limits_kb_s:
            each = Limits(write_bytes_s=round(limit_kb_s * 1000 / offenders))
            yield Setting(f"{limit_kb_s:g} kB/s", {"limits": {OVERLOADED: each}})
    elif mechanism == "io_cost":
        yield from _cost_settings(parameters)
    elif mechanism in ("bfq", "bfq_tuned"):
        scheduler = Scheduler(name="bfq", tunables=TUNED if mechanism == "bfq_tuned" else {})
        for weight in parameters.frontier_weights:
            yield Setting(f"weight {weight}", {"limits": _weights(mechanism, weight)}, scheduler)
    else:
        for period_s in parameters.frontier_periods_s:
            floor_kib_s = min(FLOOR_KIB_S, FLOOR_OF_ALL_KIB_S / offenders)
            chosen = regulator(mechanism, parameters, 0, period_s, floor_kib_s)
            yield Setting(f"{period_s:g} s", {"regulator": chosen})


def _cost_settings(parameters: Parameters) -> Iterator[Setting]:
    for weight in parameters.frontier_weights:
        for least, most in parameters.frontier_vrates:
            # At a fixed rate, the wait has no effect: one value of it is enough.
            for wait_ms in parameters.frontier_waits_ms if least < most else (0,):
                cost = comparison.cost_model(wait_ms or parameters.sla_wait_ms, least, most)
                name = f"weight {weight}, vrate {least:g}"
                name += f"-{most:g}, {wait_ms:g} ms" if least < most else ""
                yield Setting(name, {"limits": _weights("io_cost", weight), "io_cost": cost})


def _weights(mechanism: str, weight: int) -> dict[str, Limits]:
    return {NORMAL: Limits(weight=NORMAL_WEIGHTS[mechanism]), OVERLOADED: Limits(weight=weight)}


def _trial(
    parameters: Parameters,
    mechanism: str,
    setting: Setting,
    disk: str,
    kind: FrontierLoad,
    repetition: int,
) -> Trial:
    normal = names(NORMAL, NORMAL_CONTAINERS)
    workloads = [writes(name, ONSET_S + parameters.frontier_s) for name in normal]
    if mechanism != "alone":
        offenders = LOADS[kind]
        each = zip(names(OVERLOADED, len(offenders)), offenders, strict=True)
        workloads += [_offends(name, offender, parameters.frontier_s) for name, offender in each]
    fields = dict(setting.fields)
    of_role = fields.pop("limits", {})
    limits = {
        one.group: {"limits": of_role[role]}
        for one in workloads
        if (role := one.group.split("-")[0]) in of_role
    }
    labels = {"mechanism": mechanism, "setting": setting.name, "load": kind}
    labels |= {"sla_ms": f"{parameters.sla_wait_ms:g}", "onset": f"{ONSET_S:g}"}
    scheduler = setting.scheduler
    fields["warm_up_s"] = ONSET_S
    return trial(
        parameters, "frontier", disk, scheduler, repetition, workloads, labels, limits, **fields
    )


def _offends(name: str, offender: Offender, duration_s: float) -> PacedWrites:
    """Return an offender's workload, which begins at `ONSET_S`."""
    turn_s = offender.turn_s or duration_s / len(offender.writers)
    phases = [Phase(duration_s=ONSET_S, writers=0)]
    for turn in range(math.ceil(round(duration_s / turn_s, 6))):
        lasts_s = min(turn_s, duration_s - turn * turn_s)
        writers = offender.writers[turn % len(offender.writers)]
        phases.append(Phase(duration_s=lasts_s, writers=writers))
    return load(name, phases, offender.request_bytes)
