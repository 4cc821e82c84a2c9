"""SLAE and UTE with what this project adds to them: laws of when to act, and on whom.

When they act is the paper's (section 4.2); what follows from it is ours, step by step in
docs/regulator.md. The two as the paper gives them are in `paper`.

Both laws see a *pressure*: 1 is where the policy acts. SLAE: the worst ratio of a container's wait
to its SLA, among those that are not the overload. UTE: the disk's utilisation over the threshold.
What is throttled, by how much, and when it is given back is in `decisions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .control import Pool, Settings
    from .observation import Disk, Usage

#: A disk that is busier than this is saturated.
SATURATED_RATIO = 0.97


class Slae(NamedTuple):
    """Service-Level Agreement Ensure."""

    #: Class -> the most that the metric may be; the class "" is everybody else's. None: no SLA.
    slas: dict[str, float | None]
    #: ``wait_ms``, ``queue_length`` or ``utilization_ratio`` of `Usage`.
    metric: str = "wait_ms"
    target: float = 0.75
    low: float = 0.65
    high: float = 0.85

    @staticmethod
    def signal(pressure: float) -> float:
        """Return what is linear in the load: -1/W, by the M/M/1 law W = S / (1 - U)."""
        return -1 / max(pressure, 1e-9)

    def excess(self, usage: Usage, settings: Settings) -> float | None:
        """Return a container's metric over its SLA; None where it has none or is idle."""
        if usage.requests < settings.min_requests:
            return None
        return sla_excess(usage, self.slas, self.metric)

    def pressure(
        self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
    ) -> tuple[float | None, list[Usage], dict[str, Any]]:
        """Return (pressure, offenders, numbers).

        Offenders are the containers under a limit and those that load the disk
        `overload_factor` times as much as the others (their median, so that several
        offenders do not hide each other). What an overload waits is its own doing.
        """
        heavy = overloads(pool, usages, settings)
        offenders: list[Usage] = []
        worst: tuple[float, str, Usage] | None = None
        for usage in usages:
            if usage.key in heavy or usage.key in pool.throttled:
                offenders.append(usage)
                continue
            excess = self.excess(usage, settings)
            if excess is not None and (worst is None or (excess, usage.key) > worst[:2]):
                worst = (excess, usage.key, usage)
        if worst is None:
            return None, offenders, {}
        excess, _, victim = worst
        numbers = {"victim": victim.name, self.metric: round(getattr(victim, self.metric), 3)}
        numbers["sla"] = self.slas.get(victim.sla_class, self.slas.get(""))
        return excess, offenders, numbers

    def keep(self, pressure: float) -> float:
        """Return how much of the offenders' load may stay: in proportion to the excess."""
        return self.target / pressure

    def sentence(self, numbers: dict[str, Any]) -> str:
        """Say what was found."""
        return (
            f"{self.metric} of {numbers['victim']} is {numbers[self.metric]}, SLA {numbers['sla']}"
        )


class Ute(NamedTuple):
    """Utilisation Threshold Ensure."""

    threshold: float = 0.75
    target: float = 0.95
    low: float = 0.87
    high: float = 1.0

    @staticmethod
    def signal(pressure: float) -> float:
        """Return what is linear in the load: U itself, by the utilisation law U = X * S."""
        return pressure

    def pressure(
        self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
    ) -> tuple[float | None, list[Usage], dict[str, Any]]:
        """Return (pressure, offenders, numbers).

        Everybody is an offender here: the water level cuts those first that load the disk
        most, which is what "the container with the highest utilisation" means where all
        that wait behind it have a high utilisation, too.
        """
        if disk is None:
            return None, [], {}
        offenders = [usage for usage in usages if usage.requests or usage.key in pool.throttled]
        numbers = {
            "utilization_ratio": round(disk.utilization_ratio, 3),
            "threshold": self.threshold,
        }
        return disk.utilization_ratio / self.threshold, offenders, numbers

    def keep(self, pressure: float) -> float:
        """Return how much of the load may stay, by the utilisation law U = X * S.

        A saturated disk does not show how much more is asked of it, and writers that wait
        for each request fill the room that is made: then the cut is squared.
        """
        factor = self.target / pressure
        saturated = pressure * self.threshold > SATURATED_RATIO
        return factor**2 if saturated else factor

    def sentence(self, numbers: dict[str, Any]) -> str:
        """Say what was found."""
        return (
            f"utilisation of the disk is {numbers['utilization_ratio']}, "
            f"threshold {numbers['threshold']}"
        )


def sla_excess(usage: Usage, slas: Mapping[str, float | None], metric: str) -> float | None:
    """Return a container's metric over the SLA of its class; None where it has none."""
    sla = slas.get(usage.sla_class, slas.get(""))
    value: float | None = getattr(usage, metric)
    return None if sla is None or value is None else value / sla


def overloads(pool: Pool, usages: Sequence[Usage], settings: Settings) -> set[str]:
    """Return the keys of the containers whose load is `overload_factor` times the others' median.

    The lower median, so that one of two containers can be told from the other. One that was idle
    in the period before may have begun at its end: it may stand out, but nobody is held against
    the little that it has done so far.
    """

    def demand(usage: Usage) -> float:
        known = pool.throttled.get(usage.key)
        return max(usage.load, known.demand) if known else usage.load

    loads = {usage.key: demand(usage) for usage in usages if usage.requests}
    if pool.active is None:
        return _standing_out(loads, settings.overload_factor)
    known = {key: load for key, load in loads.items() if key in pool.active}
    newcomers = _standing_out(loads, settings.overload_factor) - known.keys()
    found = newcomers | _standing_out(known, settings.overload_factor)
    least = min((loads[key] for key in found), default=float("inf"))
    return {key for key, load in loads.items() if load >= least}


def _standing_out(loads: Mapping[str, float], factor: float) -> set[str]:
    """Return the keys whose load is `factor` times the lower median of the others'.

    Loads are sorted once: the others' are all but one's own.
    """
    ranked = sorted((load, key) for key, load in loads.items())
    middle = (len(ranked) - 2) // 2
    found: set[str] = set()
    for rank, (load, key) in enumerate(ranked):
        if len(ranked) > 1:
            median, _ = ranked[middle if middle < rank else middle + 1]
            if load > factor * median:
                found.add(key)
    return found
