"""From a state and an observation to the next state and the decisions.

A *law* says how far the disk is from where it should be, who is to blame and how much of their
load may stay (`policies`). How that becomes limits, and when they are given back, is in `control`,
the same for all laws. A *rule* sets limits by itself (`paper`, `controllers`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import control
from .control import DEFAULTS, Decision, Pool, Rule, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .control import Law, Policy
    from .observation import Disk, Observation, Usage

#: Why a limit is released that follows from the level.
SLACK = "its limit did not bind for long enough: the pressure is gone"


def decide(
    policy: Policy,
    state: Mapping[str, Pool],
    observation: Observation,
    settings: Settings = DEFAULTS,
) -> tuple[dict[str, Pool], list[Decision]]:
    """Return the next state and the decisions for one observation, at most one a container.

    The state has the pool of each disk by its name; it is empty at first.
    """
    following: dict[str, Pool] = {}
    decisions: list[Decision] = []
    watched = {name for name, pool in state.items() if pool.throttled} | set(observation.disks)
    for name in sorted(watched):
        disk = observation.disks.get(name)
        usages = [usage for usage in observation.containers if usage.disk == name]
        pool = state.get(name, Pool())
        if isinstance(policy, Rule):
            following[name], made = _follow(policy, pool, usages, disk, settings)
        else:
            following[name], made = _decide_pool(policy, pool, usages, disk, settings)
        decisions += made
    return following, decisions


def _follow(
    rule: Rule, before: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
) -> tuple[Pool, list[Decision]]:
    """Let a rule set limits, on containers that are there."""
    present = {usage.key for usage in usages}
    there = {key: known for key, known in before.throttled.items() if key in present}
    pool = before._replace(throttled=there)
    pool, cause, numbers = rule.advance(pool, usages, disk, settings)
    return pool, _changes(before, pool, usages, cause, "it ended, or nobody is disturbed", numbers)


def _decide_pool(
    law: Law, before: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
) -> tuple[Pool, list[Decision]]:
    pool, binding = control.count_slack(before, usages, settings)
    raw, offenders, numbers = law.pressure(pool, usages, disk, settings)
    pool = _relief(pool, raw)
    reports: list[Decision] = []
    pressure = None if raw is None else raw / pool.relief
    numbers["pressure"] = None if raw is None else round(raw, 3)
    if raw is not None and pressure is not None and pressure > 1:
        pool, reports = _too_much(law, pool, usages, offenders, raw, pressure, settings, numbers)
    elif pool.throttled:
        pool = pool._replace(floor_periods=0, blameless=False)
        if pressure is not None and pressure > law.high:
            pool = _tighten(law, pool, usages, offenders, pressure, False, settings)
        elif binding and _calm(law, pool, pressure):
            pool = control.give_back(pool, pressure, law, settings)
        else:
            pool = pool._replace(good=None)
    else:
        pool = pool._replace(blameless=False)
    pool = _release(pool, settings)
    active = frozenset(usage.key for usage in usages if usage.requests)
    pool = pool._replace(last_pressure=pressure, active=active)
    if not pool.throttled:
        pool = pool._replace(level=None, bad=None, good=None, floor_periods=0)
    cause = law.sentence(numbers) if len(numbers) > 1 else "nobody is disturbed"
    return pool, reports + _changes(before, pool, usages, cause, SLACK, numbers)


def _calm(law: Law, pool: Pool, pressure: float | None) -> bool:
    """Tell whether two periods in a row were calm: one may be chance."""
    recent = [value for value in (pressure, pool.last_pressure) if value is not None]
    return all(value < law.low for value in recent)


def _too_much(
    law: Law,
    pool: Pool,
    usages: Sequence[Usage],
    offenders: Sequence[Usage],
    raw: float,
    pressure: float,
    settings: Settings,
    numbers: dict[str, Any],
) -> tuple[Pool, list[Decision]]:
    """Cut the offenders; say so where there are none, or where cutting more is no use."""
    if not [usage for usage in offenders if usage.load]:
        if pool.blameless:
            return pool, []
        cause = f"{law.sentence(numbers)}, but no container overloads the disk: nothing to throttle"
        return pool._replace(blameless=True), [Decision("", "", "report", None, cause, numbers)]
    pool = _tighten(law, pool, usages, offenders, pressure, True, settings)
    limits = [known.limit_bytes_s for known in pool.throttled.values()]
    if not limits or max(limits) > settings.floor_bytes_s:
        return pool._replace(floor_periods=0, blameless=False), []
    pool = pool._replace(floor_periods=pool.floor_periods + 1, blameless=False)
    if pool.floor_periods < settings.give_up_after:
        return pool, []
    retry_after = settings.retry_after * min(2**pool.failures, 10)
    cause = (
        f"{law.sentence(numbers)} after {pool.floor_periods} periods at the floor: throttling "
        "cannot meet it; what does not help is given back, and it is tried again in "
        f"{retry_after} periods"
    )
    pool = pool._replace(
        relief=1.2 * raw / law.low,
        relief_periods=retry_after,
        failures=pool.failures + 1,
        floor_periods=0,
        bad=None,
    )
    return pool, [Decision("", "", "report", None, cause, numbers)]


def _tighten(
    law: Law,
    pool: Pool,
    usages: Sequence[Usage],
    offenders: Sequence[Usage],
    pressure: float,
    violated: bool,
    settings: Settings,
) -> Pool:
    loaded = [usage for usage in offenders if usage.load or usage.key in pool.throttled]
    if not control.total_load(loaded):
        return pool
    factor = law.keep(pressure)
    return control.cut(pool, loaded, factor, violated, pressure, settings)


def _relief(pool: Pool, raw: float | None) -> Pool:
    """Return the pool with its relief one period older, ended when met or outlived."""
    if pool.relief == 1.0:
        return pool
    left = pool.relief_periods - 1
    if left <= 0 or (raw is not None and raw < 0.9):
        failures = 0 if left > 0 else pool.failures
        return pool._replace(relief=1.0, relief_periods=0, failures=failures)
    return pool._replace(relief_periods=left)


def _release(pool: Pool, settings: Settings) -> Pool:
    """Take away the limits that did not bind for `release_after` periods."""
    kept = {
        key: known
        for key, known in pool.throttled.items()
        if known.slack_periods < settings.release_after
    }
    return pool._replace(throttled=kept)


def _changes(
    before: Pool,
    pool: Pool,
    usages: Sequence[Usage],
    cause: str,
    released: str,
    numbers: dict[str, Any],
) -> list[Decision]:
    """Return the decisions that lead from the limits before to those now, and why."""
    decisions = [
        Decision(key, known.name, "release", None, released, numbers)
        for key, known in before.throttled.items()
        if key not in pool.throttled
    ]
    for usage in usages:
        old, new = before.throttled.get(usage.key), pool.throttled.get(usage.key)
        if new and (old is None or new.limit_bytes_s != old.limit_bytes_s):
            action = "throttle" if old is None else "tighten"
            if old is not None and new.limit_bytes_s > old.limit_bytes_s:
                action = "loosen"
            own = {**numbers, "load": round(usage.load, 1), "bytes_s": round(usage.bytes_s)}
            made = Decision(usage.key, usage.name, action, new.limit_bytes_s, cause, own)
            decisions.append(made)
    return decisions
