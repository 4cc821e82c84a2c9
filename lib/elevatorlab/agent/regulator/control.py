"""One number for each disk, the level, and how it follows the pressure on the disk.

The level is the most load that a throttled container may put on the disk. Limits follow
from it (max-min fairness: the heaviest are cut down to it, lighter ones are not touched).
All functions are pure; docs/regulator.md has the equations and their reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

    from .observation import Disk, Usage


class Settings(NamedTuple):
    """The controller's constants.

    Ratios are of the SLA or of the threshold; counts are control periods.
    """

    floor_bytes_s: int = 128 * 1024
    #: A container is an overload when it loads the disk this much more than the others.
    overload_factor: float = 1.5
    #: Fewer requests than this in a period say nothing about the mean wait.
    min_requests: int = 5
    #: The most that a cut takes at once, and a give-back adds at once.
    deepest_cut_ratio: float = 1 / 16
    step_ratio: float = 0.5
    #: How fast the level probes where the laws give no more.
    probe_ratio: float = 0.03
    #: A limit of which less than this is used does not bind. (A writer that waits for each
    #: request loses time to the limit's pace: well above this a limit still holds it back.)
    binding_ratio: float = 0.5
    release_after: int = 10
    give_up_after: int = 10
    retry_after: int = 60
    longest_patience: int = 64


DEFAULTS = Settings()


class Throttled(NamedTuple):
    """A container under a limit."""

    name: str
    limit_bytes_s: int
    #: Its load before it was first limited: what it would like to do.
    demand: float
    bytes_per_load: float
    slack_periods: int = 0


class Pool(NamedTuple):
    """The controller's memory of one disk."""

    level: float | None = None
    throttled: dict[str, Throttled] = {}  # never changed in place
    #: The lowest level that was too much, and the pressure there.
    bad: tuple[float, float] | None = None
    #: The level before the last give-back, to go back to if that was too much.
    good: float | None = None
    #: Calm periods to wait before going past `bad` again; doubles with each failure.
    patience: int = 2
    waited: int = 0
    last_pressure: float | None = None
    #: An SLA that cannot be met is judged as if it were this many times laxer, for a time.
    relief: float = 1.0
    relief_periods: int = 0
    #: How often it was given up since it last could be met.
    failures: int = 0
    floor_periods: int = 0
    blameless: bool = False
    #: Containers with a request in the period before; None before the first one.
    active: frozenset[str] | None = None
    #: What a rule of its own remembers.
    memory: Any = None


class Decision(NamedTuple):
    """What the policy wants: `action` is throttle, tighten, loosen, release or report.

    `limit_bytes_s` is the new limit of reads and of writes each, None for no limit.
    `numbers` are the values that led to it.
    """

    key: str
    name: str
    action: str
    limit_bytes_s: int | None
    cause: str
    numbers: dict[str, Any]


@runtime_checkable
class Rule(Protocol):
    """A policy that sets the limits of a disk's containers by itself."""

    def advance(
        self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
    ) -> tuple[Pool, str, dict[str, Any]]:
        """Return the next state, and in a sentence and in numbers why."""
        ...

    def _asdict(self) -> dict[str, Any]: ...


if TYPE_CHECKING:

    class Law(Protocol):
        """A policy: where the pressure is held, and what the disk's law makes of it."""

        @property
        def target(self) -> float:
            """The pressure to be held."""
            ...

        @property
        def low(self) -> float:
            """Below it, limits are loosened."""
            ...

        @property
        def high(self) -> float:
            """Above it, they are tightened."""
            ...

        def signal(self, pressure: float, /) -> float:
            """Return what is linear in the load."""
            ...

        def pressure(
            self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
        ) -> tuple[float | None, list[Usage], dict[str, Any]]:
            """Return (pressure, offenders, numbers)."""
            ...

        def keep(self, pressure: float) -> float:
            """Return how much of the offenders' load may stay."""
            ...

        def sentence(self, numbers: dict[str, Any]) -> str:
            """Say what was found."""
            ...

        def _asdict(self) -> dict[str, Any]: ...

    Policy = Law | Rule


def water_level(loads: Collection[float], wanted: float) -> float:
    """Return the level at which ``sum(min(load, level)) == wanted``.

    >>> water_level([10, 6, 1], 9)
    4.0
    """
    remaining, left = wanted, len(loads)
    for load in sorted(loads):
        if load * left >= remaining:
            return remaining / left
        remaining -= load
        left -= 1
    return max(loads)


def cut(
    pool: Pool,
    offenders: Sequence[Usage],
    factor: float,
    violated: bool,
    pressure: float,
    settings: Settings,
) -> Pool:
    """Return the pool after the offenders' load is cut to `factor` of what it is.

    Offenders are those already throttled and those that shall be. `violated` says whether this
    level was too much (and not only near it).
    """
    heaviest = max(usage.load for usage in offenders)
    factor = min(max(factor, settings.deepest_cut_ratio), 1.0)
    wants = [_want(usage, pool) for usage in offenders]
    level = water_level(wants, factor * total_load(offenders))
    bad, patience, good = pool.bad, pool.patience, pool.good
    if violated:
        if good is not None and good < heaviest:  # the last give-back was too much: take it back
            level = max(level, good)
            patience = min(2 * patience, settings.longest_patience)
        if bad is None or heaviest <= bad[0]:
            bad = (heaviest, pressure)
    level = max(level, min(_floor_level(usage, pool, settings) for usage in offenders))
    throttled = dict(pool.throttled)
    for usage in offenders:
        if usage.key in throttled or usage.load > level:
            throttled[usage.key] = _limited(throttled.get(usage.key), usage, level, settings)
    return pool._replace(
        level=level, throttled=throttled, bad=bad, good=None, patience=patience, waited=0
    )


def _want(usage: Usage, pool: Pool) -> float:
    """Return the load that a container would have at any level above the present one."""
    known = pool.throttled.get(usage.key)
    return max(usage.load, known.demand) if known and not known.slack_periods else usage.load


def _floor_level(usage: Usage, pool: Pool, settings: Settings) -> float:
    """Return the level at which a container is at its floor."""
    return settings.floor_bytes_s / _bytes_per_load(pool.throttled.get(usage.key), usage)


def _bytes_per_load(known: Throttled | None, usage: Usage) -> float:
    if usage.load:
        return usage.bytes_s / usage.load
    assert known  # one without load is here for its limit
    return known.bytes_per_load


def _limited(known: Throttled | None, usage: Usage, level: float, settings: Settings) -> Throttled:
    """Return a container's limit at `level`: bytes/s by the mix of requests it has now."""
    bytes_per_load = _bytes_per_load(known, usage)
    limit = max(round(level * bytes_per_load), settings.floor_bytes_s)
    if known is None:
        return Throttled(usage.name, limit, usage.load, bytes_per_load)
    # A cut that others join may have a level above this container's: it raises no limit.
    limit = min(limit, known.limit_bytes_s)
    return known._replace(limit_bytes_s=limit, bytes_per_load=bytes_per_load)


def give_back(pool: Pool, pressure: float | None, law: Law, settings: Settings) -> Pool:
    """Return the pool with a higher level, as far as the law and the memory allow.

    `pressure` is None where nobody is left who could be disturbed.
    """
    level, bad, waited = pool.level, pool.bad, pool.waited + 1
    assert level is not None  # as long as there are limits
    if pressure is None:
        bad, higher = None, level * (1 + settings.step_ratio)
    elif bad is None:
        higher = level * (1 + settings.step_ratio)
    else:
        higher = max(_half_secant(level, pressure, bad, law), level * (1 + settings.probe_ratio))
        higher = min(higher, level * (1 + settings.step_ratio))
        if higher > 0.95 * bad[0]:
            if waited < pool.patience:
                higher = max(level, 0.95 * bad[0])
            elif level >= bad[0]:  # what was too much is no more
                bad = None
    factor = higher / level
    throttled = {
        key: known._replace(limit_bytes_s=round(known.limit_bytes_s * factor))
        for key, known in pool.throttled.items()
    }
    good = level if factor > 1 else pool.good
    return pool._replace(level=higher, throttled=throttled, bad=bad, good=good, waited=waited)


def _half_secant(level: float, pressure: float, bad: tuple[float, float], law: Law) -> float:
    """Return the level half way to where the law expects the target.

    The law's signal is linear in the level; `bad` is its other known point.
    """
    bad_level, bad_pressure = bad
    rise = law.signal(bad_pressure) - law.signal(pressure)
    if bad_level <= level or rise <= 0:
        return level
    wanted = (law.signal(law.target) - law.signal(pressure)) / rise
    return level + 0.5 * min(max(wanted, 0.0), 1.0) * (bad_level - level)


def total_load(usages: Iterable[Usage]) -> float:
    """Return the load that `usages` put on the disk together."""
    return sum(usage.load for usage in usages)


def count_slack(pool: Pool, usages: Sequence[Usage], settings: Settings) -> tuple[Pool, bool]:
    """Return the pool with each limit's periods of slack, and whether any limit binds."""
    present = {usage.key: usage for usage in usages}
    throttled: dict[str, Throttled] = {}
    binding = False
    for key, known in pool.throttled.items():
        usage = present.get(key)
        fastest = max(usage.read_bytes_s, usage.write_bytes_s) if usage else 0.0
        if fastest >= settings.binding_ratio * known.limit_bytes_s:
            binding = True
            throttled[key] = known._replace(slack_periods=0)
        else:
            throttled[key] = known._replace(slack_periods=known.slack_periods + 1)
    return pool._replace(throttled=throttled), binding
