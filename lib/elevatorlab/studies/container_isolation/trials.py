"""Study 3 as trials, experiment by experiment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...errors import ElevatorLabError
from ...plugins.trial_parts import POLICIES
from ...trial import IoCost, Limits, PacedWrites, Phase, Regulator, Scheduler, Trial
from .trials_containers import (
    BY_HAND,
    DISKS,
    KERNEL,
    NORMAL,
    OVERLOAD_BYTES,
    OVERLOADED,
    PAPERS_SCHEDULERS,
    READINGS,
    SERVER,
    Experiment,
    FrontierLoad,
    Load,
    Parameters,
    load,
    names,
    overload_bytes,
    scheduler_of,
    service_ms,
    trial,
    writes,
)

# Section 3 of the paper: equal containers, one that overloads, and open arrivals.

OPEN_CONTAINERS = 2
OPEN_WRITERS = 48
"""Writers of each container under open load: more than ever wait at the same time."""

MEASURED_ON_A_DRIVE_S = 5
"""Shortest measurement on a drive, whose writes wait up to a hundred times as long as others."""

_WITHOUT_AND_WITH: tuple[tuple[Experiment, int], ...] = (("equal", 0), ("overload", 1))


def equal(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``equal``: containers that all do the same."""
    return [
        _beside(parameters, "equal", disk, scheduler, repetition, count, overloaded=0)
        for repetition, disk, scheduler in _each(
            parameters, (*parameters.disks, *parameters.drives)
        )
        for count in (
            parameters.containers if disk == parameters.disks[0] else parameters.contrast_containers
        )
    ]


def overload(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``overload``: an overloaded container, alone and with others.

    Trials of the other containers without the overloaded one are included. They belong to
    experiment ``equal``, too.
    """
    return [
        found
        for repetition, scheduler, counts in _overloads(parameters)
        for disk in parameters.disks[:1]
        for found in (
            _beside(parameters, "overload", disk, scheduler, repetition, 0, overloaded=1),
            *(
                _beside(parameters, experiment, disk, scheduler, repetition, count, overloaded)
                for count in counts
                for experiment, overloaded in _WITHOUT_AND_WITH
            ),
        )
    ]


def sweep(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``sweep``: an overload by more writers with smaller writes.

    The trials without the overloaded container are those of experiment ``equal``.
    """
    return [
        _beside(parameters, "sweep", disk, scheduler, repetition, count, 1, writers)
        for repetition, scheduler, counts in _overloads(parameters)
        for disk in parameters.disks[:1]
        for writers in parameters.overload_writers
        for count in (0, *counts)
    ]


def _overloads(parameters: Parameters) -> Iterator[tuple[int, str, Sequence[int]]]:
    """Yield repetition, scheduler, and the numbers of normal containers beside an overloaded one.

    The paper does not say which scheduler its disk has. Under those besides the study's, the fewest
    and the most containers tell.
    """
    counts = parameters.normal_containers
    ends = tuple(dict.fromkeys((*counts[:1], *counts[-1:])))
    for repetition in parameters.each_repetition:
        for scheduler in parameters.schedulers:
            yield repetition, scheduler, counts
        for scheduler in (*parameters.overload_schedulers, *parameters.reimplemented):
            yield repetition, scheduler, ends


def open_load(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``open``: writes arrive whether or not others have ended.

    Two containers write to a disk with one server. Together, their writes arrive at a given share
    of the rate that this server can do.
    """
    return [
        trial(
            parameters,
            "open",
            disk,
            scheduler,
            repetition,
            [
                writes(
                    name,
                    parameters.open_duration_s,
                    think_us=0,
                    writers=OPEN_WRITERS,
                    arrivals_per_s=ratio / (service_ms() / 1e3) / OPEN_CONTAINERS,
                )
                for name in names(NORMAL, OPEN_CONTAINERS)
            ],
            {"offered": f"{ratio:g}"},
        )
        for repetition, disk, scheduler in _each(parameters, parameters.open_disks)
        for ratio in parameters.open_ratios
    ]


def _each(parameters: Parameters, disks: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    for repetition in parameters.each_repetition:
        for disk in disks:
            for scheduler in parameters.schedulers:
                yield repetition, disk, scheduler


def _beside(
    parameters: Parameters,
    experiment: Experiment,
    disk: str,
    scheduler: str,
    repetition: int,
    normal: int,
    overloaded: int,
    writers: int = 1,
) -> Trial:
    """Return a trial with `normal` normal and `overloaded` overloaded containers.

    Each overloaded container has `writers` writers.
    """
    duration_s = parameters.duration_s
    if disk not in DISKS:
        duration_s = max(duration_s, parameters.warm_up_s + MEASURED_ON_A_DRIVE_S)
    workloads = [writes(name, duration_s) for name in names(NORMAL, normal)]
    workloads += [
        writes(name, duration_s, overload_bytes(writers), think_us=0, writers=writers)
        for name in names(OVERLOADED, overloaded)
    ]
    labels = {"load": f"{writers} writers"} if experiment == "sweep" else {}
    return trial(parameters, experiment, disk, scheduler, repetition, workloads, labels)


# Section 4.3 of the paper as trials, Figures 8 and 9: three normal containers, one overloaded.
#
# From the tenth second on, something limits the overloaded container. *Calibration point*: the
# overloaded container has three writers. With this number, the normal containers wait about as long
# in the first ten seconds as the paper says (17.7 ms). What comes after them is a prediction.
#
# The paper's figures show a limit that its authors set by hand (``io_max``). The paper's two
# policies run literally (``-paper``, in `agent.regulator.paper`), in each reading that the text
# allows. This project's versions of them run, too (``slae``, ``ute``).

NORMAL_CONTAINERS = 3
OVERLOAD_WRITERS = 3
DISK = "write_behind"

FLOOR_KIB_S = 128
"""The lowest limit that the regulator may set."""
PERIODS_S: dict[str, float] = {"guard": 0.25, "share": 0.25}
"""Control periods of the policies that are made for another period than one second."""
FIXED_BYTES_S = 1_000_000
"""The limit that the paper set by hand: "from 4.5Mb/s to 1Mb/s" (section 4.4)."""


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


def by_hand(offender: str, start_s: float) -> Regulator:
    """Return what limits a container as the paper did, as soon after `start_s` as can be."""
    options = {"containers": [offender], "bytes_s": FIXED_BYTES_S}
    return Regulator(policy="fixed_limit", options=options, start_s=start_s, period_s=0.25)


def regulation(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``regulation``: one per policy, scheduler and repetition.

    What the paper's figures show (`BY_HAND`) also runs under the other schedulers that its disk may
    have had.
    """
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
            regulator=(
                by_hand(offender, start_s)
                if policy == BY_HAND
                else regulator(policy, parameters, start_s)
            ),
        )
        for repetition in parameters.each_repetition
        for policy in parameters.policies
        for scheduler in _under(parameters, policy)
    ]


def _under(parameters: Parameters, policy: str) -> Iterator[str]:
    """Yield the schedulers under which a policy regulates."""
    yield from parameters.schedulers
    if policy == BY_HAND:
        further = (*parameters.overload_schedulers, *parameters.reimplemented)
        yield from (one for one in further if one in PAPERS_SCHEDULERS)


# Beyond the paper: its policies compared with the kernel's mechanisms, under four kinds of load.
#
# Three normal containers write all the time. Offenders begin at `ONSET_S`, and the measurement
# begins then, too.
#
# ==========  =========================================================================
# mechanism   what protects the normal containers from the offenders
# ==========  =========================================================================
# none        nothing
# slae, ute   the regulator with this project's policies, the study's SLA or threshold
# aimd, pi    the regulator with a controller from the textbook
# guard       the regulator with this project's policy that limits newcomers from the beginning
# share       the same, in the disk's time instead of bytes
# ...-paper   the regulator with the paper's policies, in the readings of `READINGS`
# registered  the regulator with that policy of another package or of a notebook
# io_max      a fixed limit: the 1 MB/s that the paper set by hand, shared by the offenders
# bfq         the scheduler bfq, with weights of 1000 for normal containers and 10 for offenders
# io_cost     the kernel's cost controller, with a model of the simulated disk, and weights of
#             100 and 10
# ==========  =========================================================================
#
# ``io.latency`` is not compiled into Debian's kernel, so it cannot be tested here.

ONSET_S = 2

#: For each load: the number of offenders, and each offender's writers in successive equal spans.
LOADS: dict[Load, tuple[int, list[int]]] = {
    "step": (1, [3]),
    "ramp": (1, [1, 2, 3]),
    "burst": (1, [3, 0, 3, 0]),
    "two": (2, [2]),
}


def comparison(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``comparison``."""
    return [
        _compared(parameters, mechanism, kind, repetition)
        for repetition in range(1, parameters.comparison_repetitions + 1)
        for kind in parameters.loads
        for mechanism in parameters.mechanisms
    ]


def _compared(parameters: Parameters, mechanism: str, kind: Load, repetition: int) -> Trial:
    count, steps = LOADS[kind]
    normal, offenders = names(NORMAL, NORMAL_CONTAINERS), names(OVERLOADED, count)
    span_s = parameters.overloaded_s / len(steps)
    phases = [Phase(duration_s=ONSET_S, writers=0)]
    phases += [Phase(duration_s=span_s, writers=writers) for writers in steps]
    workloads = [writes(name, ONSET_S + parameters.overloaded_s) for name in normal]
    workloads += [load(name, phases) for name in offenders]
    more: dict[str, Any] = {"warm_up_s": ONSET_S, "limits": _limits(mechanism, normal, offenders)}
    if mechanism not in ("none", *KERNEL):
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


# Beyond the paper: what each mechanism can reach at its best, and what it costs.
#
# Each mechanism runs with each of its settings. A setting gives a point: how long the normal
# containers missed their SLA, and how much the offenders could write. The best points of all
# settings are the mechanism's front.
#
# ===========  ======================================================================
# mechanism    its settings
# ===========  ======================================================================
# alone        only one: normal containers without offenders, as a baseline for the others
# none         only one: nothing limits the offenders
# io_max       a fixed limit for all offenders together, as if their load were known
# io_cost      the offenders' weight (normal containers have 100), the bounds of the
#              controller's rate (vrate, in percent) and the wait above which it slows down, which
#              also sets its period
# io_class     how long a request may wait until mq-deadline gives it its turn, whatever its class;
#              the offenders' writes have the class idle
# bfq          the offenders' weight (normal containers have 1000), with bfq's defaults, without
#              its ``low_latency``, and with ``strict_guarantees`` as well, as the kernel advises
# bfq_tuned    the offenders' weight, with ``slice_idle`` and ``low_latency`` set to 0
# policies     the regulator's control period
# ===========  ======================================================================
#
# ``io.latency`` and ``io.prio.class`` are not compiled into Debian's kernel. The latter only gives
# the requests of a cgroup a class. So does ``io_class``, for direct writes: each writer sets it.
#
# Offenders begin at `FRONTIER_ONSET_S`, 250 ms before a full second. Results are judged in full
# seconds. So the first second that counts begins when a mechanism has had 250 ms to act.

FRONTIER_ONSET_S = 1.75
NORMAL_WEIGHT_COST, NORMAL_WEIGHT_BFQ = 100, 1000
LOW_FLOOR_KIB_S = 16
"""The regulator's lowest limit under every load. Sixteen offenders, each at the usual floor, would
overload the disk."""
BFQ: dict[str, dict[str, dict[str, Any]]] = {
    "bfq": {
        "": {},
        ", low_latency 0": {"low_latency": 0},
        ", strict": {"low_latency": 0, "strict_guarantees": 1},
    },
    "bfq_tuned": {"": {"slice_idle": 0, "low_latency": 0}},
}
"""For each of bfq's mechanisms: what its settings are called, and their tunables."""


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
OFFENDERS: dict[str, tuple[Offender, ...]] = {
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


def frontier(parameters: Parameters) -> list[Trial]:
    """Return the trials of experiment ``frontier``."""
    if parameters.frontier_drives and "io_cost" in parameters.frontier_mechanisms:
        raise ElevatorLabError(
            "frontier_drives: expected no io_cost among frontier_mechanisms, since its model is "
            f"that of the study's disk; found {', '.join(parameters.frontier_drives)}"
        )
    return [
        _of_setting(parameters, mechanism, setting, disk, kind, repetition)
        for repetition in range(1, parameters.frontier_repetitions + 1)
        for disk in (*parameters.frontier_disks, *parameters.frontier_drives)
        for kind in parameters.frontier_loads
        for mechanism in parameters.frontier_mechanisms
        for setting in settings(parameters, mechanism, len(OFFENDERS[kind]))
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
        yield from _cost_settings(parameters, offenders)
    elif mechanism == "io_class":
        for aging_ms in parameters.frontier_agings_ms:
            scheduler = Scheduler(name="mq-deadline", tunables={"prio_aging_expire": aging_ms})
            yield Setting(f"{aging_ms} ms", {"io_class": "idle"}, scheduler)
    elif mechanism in BFQ:
        for added, tunables in BFQ[mechanism].items():
            scheduler = scheduler_of("bfq", **tunables)
            for weight in parameters.frontier_weights:
                fields = {"limits": _weights(NORMAL_WEIGHT_BFQ, weight)}
                yield Setting(f"weight {weight}{added}", fields, scheduler)
    else:
        for period_s in parameters.frontier_periods_s:
            chosen = regulator(mechanism, parameters, 0, period_s, LOW_FLOOR_KIB_S)
            yield Setting(f"{period_s:g} s", {"regulator": chosen})


def _cost_settings(parameters: Parameters, offenders: int) -> Iterator[Setting]:
    for weight in parameters.frontier_total_weights:
        # Weights of so many containers as if the offenders had one parent with that weight.
        limits = _weights(NORMAL_WEIGHT_COST * offenders, weight)
        for least, most in parameters.frontier_vrates:
            for wait_ms in parameters.frontier_waits_ms:
                cost = cost_model(wait_ms, least, most)
                # The control period is twice the longer target, also at a fixed rate. That of reads
                # would be the kernel's 25 ms, though nobody reads (ioc_refresh_period_us).
                qos = {**cost.qos, "rlat": cost.qos["wlat"]}
                name = f"weight {weight} in all, vrate {least:g}-{most:g}, {wait_ms:g} ms"
                fields = {"limits": limits, "io_cost": cost.model_copy(update={"qos": qos})}
                yield Setting(name, fields)


def _weights(normal: int, overloaded: int) -> dict[str, Limits]:
    return {NORMAL: Limits(weight=normal), OVERLOADED: Limits(weight=overloaded)}


def _of_setting(
    parameters: Parameters,
    mechanism: str,
    setting: Setting,
    disk: str,
    kind: FrontierLoad,
    repetition: int,
) -> Trial:
    fields = dict(setting.fields)
    normal = names(NORMAL, NORMAL_CONTAINERS)
    workloads = [writes(name, FRONTIER_ONSET_S + parameters.frontier_s) for name in normal]
    if mechanism != "alone":
        offenders = OFFENDERS[kind]
        each = zip(names(OVERLOADED, len(offenders)), offenders, strict=True)
        offends = [_offends(name, offender, parameters.frontier_s) for name, offender in each]
        io_class = {"io_class": fields.pop("io_class", None)}
        workloads += [one.model_copy(update=io_class) for one in offends]
    of_role = fields.pop("limits", {})
    limits = {
        one.group: {"limits": of_role[role]}
        for one in workloads
        if (role := one.group.split("-")[0]) in of_role
    }
    labels = {"mechanism": mechanism, "setting": setting.name, "load": kind}
    labels |= {"sla_ms": f"{parameters.sla_wait_ms:g}", "onset": f"{FRONTIER_ONSET_S:g}"}
    scheduler = setting.scheduler
    fields["warm_up_s"] = FRONTIER_ONSET_S
    return trial(
        parameters, "frontier", disk, scheduler, repetition, workloads, labels, limits, **fields
    )


def _offends(name: str, offender: Offender, duration_s: float) -> PacedWrites:
    """Return an offender's workload, which begins at `FRONTIER_ONSET_S`."""
    turn_s = offender.turn_s or duration_s / len(offender.writers)
    phases = [Phase(duration_s=FRONTIER_ONSET_S, writers=0)]
    for turn in range(math.ceil(round(duration_s / turn_s, 6))):
        lasts_s = min(turn_s, duration_s - turn * turn_s)
        writers = offender.writers[turn % len(offender.writers)]
        phases.append(Phase(duration_s=lasts_s, writers=writers))
    return load(name, phases, offender.request_bytes)


EXPERIMENTS: dict[Experiment, Callable[[Parameters], list[Trial]]] = {
    "equal": equal,
    "overload": overload,
    "sweep": sweep,
    "open": open_load,
    "regulation": regulation,
    "comparison": comparison,
    "frontier": frontier,
}
"""What makes the trials of each experiment, in the order in which the experiments are run."""


def trials(parameters: Parameters) -> list[Trial]:
    """Return the trials of `parameters`, each once, experiment by experiment."""
    wanted = [trial for name in parameters.experiments for trial in EXPERIMENTS[name](parameters)]
    return list({trial.hash: trial for trial in wanted}.values())
