"""SLAE and UTE (section 4.2 of the paper) as pure functions: (state, observation) -> decisions.

Both see a *pressure*: 1 is where the policy acts. SLAE: the worst ratio of a container's
wait to its SLA, among those that are not the overload. UTE: the disk's utilisation over the
threshold. What is throttled, by how much, and when it is given back is in `control`.
"""

from typing import NamedTuple

from . import control
from .control import Decision, Pool, Settings

DEFAULTS = Settings()

#: A disk that is busier than this is saturated.
SATURATED_RATIO = 0.97


class Slae(NamedTuple):
    """Service-Level Agreement Ensure.

    Parameters
    ----------
    slas : dict
        Class -> the most that the metric may be; the class "" is everybody else's. None: no
        SLA.
    metric : str
        ``wait_ms``, ``queue_length`` or ``utilization_ratio`` of `Usage`.
    """

    slas: dict
    metric: str = "wait_ms"
    target: float = 0.75
    low: float = 0.65
    high: float = 0.85

    @staticmethod
    def signal(pressure):
        """Return what is linear in the load: -1/W, by the M/M/1 law W = S / (1 - U)."""
        return -1 / max(pressure, 1e-9)

    def excess(self, usage, settings):
        """Return a container's metric over its SLA; None where it has none or is idle."""
        sla = self.slas.get(usage.sla_class, self.slas.get(""))
        value = getattr(usage, self.metric)
        if sla is None or value is None or usage.requests < settings.min_requests:
            return None
        return value / sla

    def pressure(self, pool, usages, disk, settings):
        """Return (pressure, offenders, numbers).

        Offenders are the containers under a limit and those that load the disk
        `overload_factor` times as much as the others (their median, so that several
        offenders do not hide each other). What an overload waits is its own doing.
        """
        heavy = overloads(pool, usages, settings)
        offenders, worst = [], None
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

    def keep(self, pressure):
        """Return how much of the offenders' load may stay: in proportion to the excess."""
        return self.target / pressure

    def sentence(self, numbers):
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
    def signal(pressure):
        """Return what is linear in the load: U itself, by the utilisation law U = X * S."""
        return pressure

    def pressure(self, pool, usages, disk, settings):
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

    def keep(self, pressure):
        """Return how much of the load may stay, by the utilisation law U = X * S.

        A saturated disk does not show how much more is asked of it, and writers that wait
        for each request fill the room that is made: then the cut is squared.
        """
        factor = self.target / pressure
        saturated = pressure * self.threshold > SATURATED_RATIO
        return factor**2 if saturated else factor

    def sentence(self, numbers):
        """Say what was found."""
        return (
            f"utilisation of the disk is {numbers['utilization_ratio']}, "
            f"threshold {numbers['threshold']}"
        )


def overloads(pool, usages, settings):
    """Return the keys of the containers whose load is `overload_factor` times the others' median.

    The lower median, so that one of two containers can be told from the other. One that was idle
    in the period before may have begun at its end: it may stand out, but nobody is held against
    the little that it has done so far.
    """

    def demand(usage):
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


def _standing_out(loads, factor):
    """Return the keys whose load is `factor` times the lower median of the others'.

    Loads are sorted once: the others' are all but one's own.
    """
    ranked = sorted((load, key) for key, load in loads.items())
    middle = (len(ranked) - 2) // 2
    found = set()
    for rank, (load, key) in enumerate(ranked):
        if len(ranked) > 1:
            median, _ = ranked[middle if middle < rank else middle + 1]
            if load > factor * median:
                found.add(key)
    return found


def decide(law, state, observation, settings=DEFAULTS):
    """Return the next state and the decisions for one observation.

    Parameters
    ----------
    law : Slae or Ute
    state : dict
        Disk name -> `Pool`; empty at first.
    observation : Observation
    settings : Settings

    Returns
    -------
    state : dict
    decisions : list of Decision
        At most one a container.
    """
    following, decisions = {}, []
    watched = {name for name, pool in state.items() if pool.throttled} | set(observation.disks)
    for name in sorted(watched):
        disk = observation.disks.get(name)
        usages = [usage for usage in observation.containers if usage.disk == name]
        pool = state.get(name, Pool())
        following[name], made = _decide_pool(law, pool, usages, disk, settings)
        decisions += made
    return following, decisions


def _decide_pool(law, before, usages, disk, settings):
    pool, binding = control.count_slack(before, usages, settings)
    raw, offenders, numbers = law.pressure(pool, usages, disk, settings)
    pool = _relief(pool, raw)
    reports = []
    pressure = None if raw is None else raw / pool.relief
    numbers["pressure"] = None if raw is None else round(raw, 3)
    if pressure is not None and pressure > 1:
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
    pool, released = _release(pool, settings)
    active = frozenset(usage.key for usage in usages if usage.requests)
    pool = pool._replace(last_pressure=pressure, active=active)
    if not pool.throttled:
        pool = pool._replace(level=None, bad=None, good=None, floor_periods=0)
    return pool, reports + _changes(law, before, pool, released, usages, numbers)


def _calm(law, pool, pressure):
    """Tell whether two periods in a row were calm: one may be chance."""
    recent = [value for value in (pressure, pool.last_pressure) if value is not None]
    return all(value < law.low for value in recent)


def _too_much(law, pool, usages, offenders, raw, pressure, settings, numbers):
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


def _tighten(law, pool, usages, offenders, pressure, violated, settings):
    loaded = [usage for usage in offenders if usage.load or usage.key in pool.throttled]
    if not control.total_load(loaded):
        return pool
    factor = law.keep(pressure)
    return control.cut(pool, loaded, factor, violated, pressure, settings)


def _relief(pool, raw):
    """Return the pool with its relief one period older, ended when met or outlived."""
    if pool.relief == 1.0:
        return pool
    left = pool.relief_periods - 1
    if left <= 0 or (raw is not None and raw < 0.9):
        failures = 0 if left > 0 else pool.failures
        return pool._replace(relief=1.0, relief_periods=0, failures=failures)
    return pool._replace(relief_periods=left)


def _release(pool, settings):
    """Take away the limits that did not bind for `release_after` periods."""
    released = {
        key: known
        for key, known in pool.throttled.items()
        if known.slack_periods >= settings.release_after
    }
    kept = {key: known for key, known in pool.throttled.items() if key not in released}
    return pool._replace(throttled=kept), released


def _changes(law, before, pool, released, usages, numbers):
    """Return the decisions that lead from the limits before to those now."""
    cause = "its limit did not bind for long enough: the pressure is gone"
    decisions = [
        Decision(key, known.name, "release", None, cause, numbers)
        for key, known in released.items()
    ]
    for usage in usages:
        old, new = before.throttled.get(usage.key), pool.throttled.get(usage.key)
        if new and (old is None or new.limit_bytes_s != old.limit_bytes_s):
            if old is None or new.limit_bytes_s < old.limit_bytes_s:
                action, cause = ("tighten" if old else "throttle"), law.sentence(numbers)
            else:
                action = "loosen"
                cause = law.sentence(numbers) if len(numbers) > 1 else "nobody is disturbed"
            own = {**numbers, "load": round(usage.load, 1), "bytes_s": round(usage.bytes_s)}
            made = Decision(usage.key, usage.name, action, new.limit_bytes_s, cause, own)
            decisions.append(made)
    return decisions
