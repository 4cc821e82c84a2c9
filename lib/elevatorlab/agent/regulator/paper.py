"""SLAE and UTE as section 4.2 of the paper has them, and nothing besides.

Once a period each looks whether there is too much. If so, it chooses one container and takes a
share of what that one does. The paper says nothing of how large a step is, of how the container
that overloads the disk is told from others, or of which utilisation is "of the system": those are
options here, with the readings that the text allows. Nor does it say when a limit is given back:
here it stays until its container or the regulator ends.

What this project adds to them is in `policies`, under the names ``slae`` and ``ute``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .control import Throttled
from .policies import sla_excess

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from .control import Pool, Settings
    from .observation import Disk, Usage

#: How much a container keeps of what it does, by the size of the step.
KEPT_RATIOS = {"mild": 0.9, "sharp": 0.5}

#: The readings that the text allows, by the option that chooses among them.
READINGS = {
    "step": tuple(KEPT_RATIOS),
    "overload": ("both", "utilization", "speed"),
    "system": ("mean", "shared"),
}


class SlaePaper(NamedTuple):
    """Service-Level Agreement Ensure, section 4.2.1.

    "If the overloaded container has caused the I/O Wait Time of other normal containers exceed the
    SLA requirements [...] we decrease the overall I/O utilization of the system by reducing the I/O
    strength of the overload container".
    """

    #: Class -> the most that the metric may be, as in `policies.Slae`.
    slas: dict[str, float | None]
    #: ``wait_ms``, ``queue_length`` or ``utilization_ratio`` of `Usage`.
    metric: str = "wait_ms"
    #: How much is taken at once: a tenth (``mild``) or half (``sharp``) of what it does.
    step: str = "sharp"
    #: What the overloaded container has most of: the ``utilization`` of its device, or ``speed`` in
    #: bytes/s, or ``both``; then nobody is the overload where they belong to two containers.
    #: Section 3.3: "the container with the highest I/O utilization and read/write speed should be
    #: regulated first".
    overload: str = "both"

    def advance(
        self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
    ) -> tuple[Pool, str, dict[str, Any]]:
        """Return the next state, and in a sentence and in numbers why."""
        overload = heaviest(usages, self.overload)
        if overload is None:
            return pool, "nobody overloads the disk", {}
        worst = (0.0, "", overload)
        for usage in usages:
            excess = sla_excess(usage, self.slas, self.metric)
            if usage is not overload and excess is not None:
                worst = max(worst, (excess, usage.key, usage))
        excess, _, victim = worst
        if excess <= 1:
            return pool, "no other container misses its SLA", {}
        found = round(getattr(victim, self.metric), 3)
        sla = self.slas.get(victim.sla_class, self.slas.get(""))
        cause = f"{self.metric} of {victim.name} is {found}, SLA {sla}"
        numbers = {"victim": victim.name, self.metric: found, "sla": sla}
        return reduced(pool, overload, self.step, settings), cause, numbers


class UtePaper(NamedTuple):
    """Utilisation Threshold Ensure, section 4.2.2.

    Where the utilisation of the system exceeds the threshold, it "chooses the container with the
    highest I/O utilization in the current running containers and reduces its I/O intensity".
    """

    #: "The threshold is about 0.7-0.8".
    threshold: float = 0.75
    #: What the utilisation of the system is: ``mean`` of the containers' own devices, which is what
    #: Figure 5 shows, or that of the ``shared`` disk, which is the single server of the paper's
    #: model.
    system: str = "mean"
    #: As in `SlaePaper`.
    step: str = "sharp"

    def advance(
        self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
    ) -> tuple[Pool, str, dict[str, Any]]:
        """Return the next state, and in a sentence and in numbers why."""
        found = self._utilization(usages, disk)
        numbers = {"utilization_ratio": round(found, 3), "threshold": self.threshold}
        cause = f"utilisation of the system ({self.system}) is {found:.3g}"
        chosen = heaviest(usages, "utilization")
        if found <= self.threshold or chosen is None:
            return pool, f"{cause}, within the threshold {self.threshold}", numbers
        after = reduced(pool, chosen, self.step, settings)
        return after, f"{cause}, threshold {self.threshold}", numbers

    def _utilization(self, usages: Sequence[Usage], disk: Disk | None) -> float:
        if self.system == "shared":
            return disk.utilization_ratio if disk else 0.0
        return sum(usage.utilization_ratio for usage in usages) / max(len(usages), 1)


def check_readings(options: Mapping[str, Any]) -> None:
    """Refuse a reading that is not there."""
    for name, allowed in READINGS.items():
        if name in options and options[name] not in allowed:
            raise ValueError(f"{name} is one of {', '.join(allowed)}")


def heaviest(usages: Iterable[Usage], by: str) -> Usage | None:
    """Return the container with the highest utilisation, speed, or both; None where none has.

    Of those that are equal in the one, it is the one that is higher in the other.
    """
    running = [usage for usage in usages if usage.requests]
    busiest = max(running, key=lambda usage: (*_measures(usage), usage.key), default=None)
    fastest = max(running, key=lambda usage: (*_measures(usage)[::-1], usage.key), default=None)
    if by == "both":
        return busiest if busiest is fastest else None
    return fastest if by == "speed" else busiest


def _measures(usage: Usage) -> tuple[float, float]:
    return usage.utilization_ratio, usage.bytes_s


def reduced(pool: Pool, usage: Usage, step: str, settings: Settings) -> Pool:
    """Return the pool after one step against a container."""
    fastest = max(usage.read_bytes_s, usage.write_bytes_s)
    limit = max(round(KEPT_RATIOS[step] * fastest), settings.floor_bytes_s)
    known = pool.throttled.get(usage.key)
    if known is None:
        known = Throttled(usage.name, limit, usage.load, usage.bytes_s / max(usage.load, 1e-9))
    limited = known._replace(limit_bytes_s=min(limit, known.limit_bytes_s))
    return pool._replace(throttled={**pool.throttled, usage.key: limited})
