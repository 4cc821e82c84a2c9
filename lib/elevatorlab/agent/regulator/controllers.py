"""Two controllers as textbooks have them, to hold the regulator's own against.

Both see what SLAE sees: the worst wait over its SLA (the *pressure*), and the containers that
overload the disk. They steer one number, the share of what these did before that they may do now.

==========  ======================================================================================
``aimd``    additive increase, multiplicative decrease (Chiu and Jain, 1989), as in TCP
``pi``      proportional and integral action in velocity form, held within its bounds, so that the
            integral does not wind up (Astrom and Hagglund, *Advanced PID Control*)
==========  ======================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .control import Throttled
from .policies import Slae

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .control import Pool, Settings
    from .observation import Disk, Usage


class Aimd(NamedTuple):
    """Additive increase, multiplicative decrease of the offenders' share."""

    #: These two as in `policies.Slae`.
    slas: dict[str, float | None]
    metric: str = "wait_ms"
    #: What is added in a period in which the SLA is met, as a share of what they did before.
    increase_ratio: float = 0.05
    #: What is left after one in which it is missed.
    decrease_ratio: float = 0.5

    def share(self, before: float, pressure: float, last: float | None) -> float:
        """Return the share that follows the one before."""
        return before * self.decrease_ratio if pressure > 1 else before + self.increase_ratio

    def advance(
        self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
    ) -> tuple[Pool, str, dict[str, Any]]:
        """Return the next state, and in a sentence and in numbers why."""
        return _steered(Slae(self.slas, self.metric), self.share, pool, usages, disk, settings)


class Pi(NamedTuple):
    """Proportional and integral control of the offenders' share.

    Both gains follow from one number by the rule SIMC (Skogestad, 2003), for a disk that answers
    a period later (delay 1, time constant 1, closed loop as fast as the delay):
    ``K = 1 / (2 gain)`` for each.
    """

    #: These two as in `policies.Slae`.
    slas: dict[str, float | None]
    metric: str = "wait_ms"
    #: The pressure to be held; below 1, since half of all periods lie above what is held.
    target: float = 0.85
    #: How much the pressure rises when the share goes from 0 to 1.
    gain: float = 5.0

    def share(self, before: float, pressure: float, last: float | None) -> float:
        """Return the share that follows the one before."""
        error = self.target - pressure
        growth = error - (self.target - last) if last is not None else error
        return before + (growth + error) / (2 * self.gain)

    def advance(
        self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
    ) -> tuple[Pool, str, dict[str, Any]]:
        """Return the next state, and in a sentence and in numbers why."""
        return _steered(Slae(self.slas, self.metric), self.share, pool, usages, disk, settings)


def _steered(
    trigger: Slae,
    next_share: Callable[[float, float, float | None], float],
    pool: Pool,
    usages: Sequence[Usage],
    disk: Disk | None,
    settings: Settings,
) -> tuple[Pool, str, dict[str, Any]]:
    """Return the pool after the share, and each limit that follows from it, was changed."""
    pressure, offenders, numbers = trigger.pressure(pool, usages, disk, settings)
    cause = trigger.sentence(numbers) if numbers else "nobody is disturbed"
    active = frozenset(usage.key for usage in usages if usage.requests)
    after = pool._replace(active=active, last_pressure=pressure)
    found = pressure or 0.0
    if not pool.throttled and (found <= 1 or not offenders):
        return after, cause, numbers
    share = min(next_share(pool.level or 1.0, found, pool.last_pressure), 1.0)
    if share == 1.0:
        return after._replace(throttled={}, level=None), cause, numbers
    throttled = {
        usage.key: pool.throttled.get(usage.key)
        or Throttled(usage.name, 0, usage.load, usage.bytes_s / usage.load)
        for usage in offenders
    }
    # No share is below that at which everybody is at the floor: it would only take longer back.
    least = min(settings.floor_bytes_s / _before(known) for known in throttled.values())
    share = min(max(share, least), 1.0)
    limited = {
        key: known._replace(
            limit_bytes_s=max(round(share * _before(known)), settings.floor_bytes_s)
        )
        for key, known in throttled.items()
    }
    return after._replace(throttled=limited, level=share), cause, numbers


def _before(known: Throttled) -> float:
    """Return what a container did before it was limited, in bytes/s."""
    return known.demand * known.bytes_per_load
