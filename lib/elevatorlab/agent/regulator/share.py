"""A policy of this project's own: guard's cap, counted in the disk's time instead of in bytes.

A byte of a small request costs the disk more than one of a large request. So ``share`` counts what
containers do in *disk time*, by a linear cost model (a time for each request and one for each KiB)
that it learns from the disk's counters. All under the cap have one total of disk time. Each one's
limit in bytes follows from its part of the total and the size of its own requests.

The closed law W = S / (1 - U) makes a straight line of 1/e over the disk time x of those under the
cap, where e is the wait of one that is to be protected, over its SLA. Two points of the line are
remembered for each of them: one from when those under the cap rested, one from when they worked.
The line through both meets 1/target at the total that it bears; the least of these totals holds.
What is remembered is points of the line and no sum of errors, so nothing winds up while all rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .guard import MADE_UP_PERIODS, any_presses, divided, joined, protected, under_the_cap
from .observation import REQUEST_BYTES
from .policies import Slae, sla_excess

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .control import Pool, Settings, Throttled
    from .observation import Disk, Usage

#: How much of a point is left when another period is added to it.
KEPT = 0.9
#: How much of what the cost model rests on is left a period later.
COSTS_KEPT = 0.98
#: The weight of the model that holds before there are data, beside that of the data.
PRIOR_RATIO = 0.02
#: The total grows at most to this many times in a period.
GROWTH = 1.3
#: A limit is left as it is when it would change by less. In a period, it falls at most to the one
#: share, and rises at most to the other.
STEADY_RATIO, FALL, RISE = 0.05, 0.55, 2.0
#: How much of what the last periods were off is made up for, and how far the total goes for that.
MADE_UP_RATIO, MADE_UP_BOUNDS = 0.3, (0.5, 1.5)
#: The bytes of a request where nobody has made one yet: small ones cost the most time a byte.
SMALL_BYTES = 4096
#: A request a second of each under the cap may take this share of the disk's time.
SPARED_RATIO = 0.2
#: Those under the cap rest when they do less than this share of the total.
LITTLE_RATIO = 0.1


class Costs(NamedTuple):
    """The linear cost model: fading sums over periods, of requests/s r, KiB/s k and busy time u."""

    rr: float = 0.0
    rk: float = 0.0
    kk: float = 0.0
    ru: float = 0.0
    ku: float = 0.0

    def after(self, disk: Disk | None) -> Costs:
        """Return the sums after a period; a disk without counters says nothing of costs."""
        if disk is None or not disk.has_counters or not disk.iops:
            return self
        r, k, u = disk.iops, disk.bytes_s / 1024, disk.utilization_ratio
        now = (r * r, r * k, k * k, r * u, k * u)
        return Costs(*(COSTS_KEPT * old + new for old, new in zip(self, now)))

    def model(self) -> tuple[float, float]:
        """Return the disk time, in seconds, of a request and of a KiB.

        Least squares, drawn a little towards a model in which a request costs as much as
        `REQUEST_BYTES`: requests of one size alone do not tell the two apart.
        """
        prior_r, prior_k = 1e-3, 1e-3 * 1024 / REQUEST_BYTES
        if not self.ru or not self.ku:
            return prior_r, prior_k
        square = prior_r**2 * self.rr + 2 * prior_r * prior_k * self.rk + prior_k**2 * self.kk
        scale = (prior_r * self.ru + prior_k * self.ku) / square
        prior_r, prior_k = scale * prior_r, scale * prior_k
        rr, kk = (1 + PRIOR_RATIO) * self.rr, (1 + PRIOR_RATIO) * self.kk
        ru = self.ru + PRIOR_RATIO * self.rr * prior_r
        ku = self.ku + PRIOR_RATIO * self.kk * prior_k
        determinant = rr * kk - self.rk**2
        per_request = (ru * kk - ku * self.rk) / determinant
        per_kib = (ku * rr - ru * self.rk) / determinant
        # None is without cost: noise may say so, where it is small.
        return max(per_request, 0.05 * prior_r), max(per_kib, 0.05 * prior_k)


class Point(NamedTuple):
    """A point of a line: fading sums over periods.

    Weighted by the time that was waited, the mean of x and 1/e lie on the line without bias,
    however much e differs from period to period.
    """

    requests: float = 0.0
    waited: float = 0.0
    iops_waited: float = 0.0
    kib_waited: float = 0.0

    def after(self, requests: int, excess: float, iops: float, kib_s: float) -> Point:
        """Return the point after a period in which those under the cap did so much."""
        waited = requests * excess
        now = (requests, waited, iops * waited, kib_s * waited)
        return Point(*(KEPT * old + new for old, new in zip(self, now)))

    def at(self, model: tuple[float, float]) -> tuple[float, float]:
        """Return x, the disk time, and 1/e."""
        x = (self.iops_waited * model[0] + self.kib_waited * model[1]) / self.waited
        return x, self.requests / self.waited


class Victim(NamedTuple):
    """What is remembered of one that is to be protected."""

    resting: Point | None = None
    working: Point | None = None
    #: Its waits over the SLA in the last periods.
    recent: tuple[float, ...] = ()

    def after(self, rest: bool, requests: int, excess: float, iops: float, kib_s: float) -> Victim:
        """Return what is remembered a period later, in which those under the cap rest or not."""
        point = (self.resting if rest else self.working) or Point()
        point = point.after(requests, excess, iops, kib_s)
        one = self._replace(resting=point) if rest else self._replace(working=point)
        return one._replace(recent=(*self.recent, excess)[-MADE_UP_PERIODS:])


class Memory(NamedTuple):
    """What ``share`` remembers of a disk."""

    costs: Costs = Costs()
    victims: dict[str, Victim] = {}  # never changed in place
    #: Bytes of a request of each that has made one.
    sizes: dict[str, float] = {}
    #: The disk time that those under the cap may have together, in seconds a second.
    total: float = 0.0


class Share(NamedTuple):
    """A standing cap on the disk time of newcomers."""

    #: These two as in `policies.Slae`.
    slas: dict[str, float | None]
    metric: str = "wait_ms"
    #: The pressure to be held.
    target: float = 0.93
    #: The disk time that newcomers have together at first, as a share of what the median of those
    #: at work has.
    newcomers_ratio: float = 0.6

    def advance(
        self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
    ) -> tuple[Pool, str, dict[str, Any]]:
        """Return the next state, and in a sentence and in numbers why."""
        capped = under_the_cap(pool, usages)
        memory = self._observed(pool.memory or Memory(), usages, disk, capped)
        model = memory.costs.model()
        times = {one.key: _time(one.iops, one.bytes_s / 1024, model) for one in usages}
        # Known are those who were at work first; everybody else is a newcomer, at work or not.
        known = pool.active or frozenset(one.key for one in usages if one.requests)
        newcomers = [one for one in usages if one.key not in known and one.key not in capped]
        total = memory.total
        if newcomers and not total:
            at_work = sorted(times[one.key] for one in usages if one.requests and one.key in known)
            total = self.newcomers_ratio * at_work[len(at_work) // 2] if at_work else 0.0
        share = 1.0
        if any_presses(capped):
            total = self._borne(memory, model, total)
            share = self._made_up(memory, model)
        trigger = Slae(self.slas, self.metric, self.target)
        joining, kept = joined(trigger, pool, usages, capped, newcomers, times, settings)
        total += kept
        capped |= joining
        memory = memory._replace(total=total, victims=protected(memory.victims, capped))
        throttled = _limited(total * share, memory, pool, capped, times, settings) if total else {}
        after = pool._replace(memory=memory, throttled=throttled, active=known)
        worst = max((one.recent[-1] for one in memory.victims.values()), default=0.0)
        numbers = {"pressure": round(worst, 3), "disk_time_ratio": round(total, 4)}
        numbers |= {"request_us": round(model[0] * 1e6, 1), "kib_us": round(model[1] * 1e6, 2)}
        return after, f"{self.metric} is {worst:.2f} of the SLA where it is worst", numbers

    def _observed(
        self,
        memory: Memory,
        usages: Sequence[Usage],
        disk: Disk | None,
        capped: Mapping[str, Throttled],
    ) -> Memory:
        """Return the memory with what was seen in this period."""
        costs = memory.costs.after(disk)
        iops = sum(usage.iops for usage in usages if usage.key in capped)
        kib_s = sum(usage.bytes_s for usage in usages if usage.key in capped) / 1024
        rest = _time(iops, kib_s, costs.model()) <= LITTLE_RATIO * memory.total
        victims, sizes = {}, {}
        for usage in usages:
            one = memory.victims.get(usage.key, Victim())
            size = memory.sizes.get(usage.key)
            excess = sla_excess(usage, self.slas, self.metric)
            if excess and usage.requests:
                victims[usage.key] = one.after(rest, usage.requests, excess, iops, kib_s)
            elif one.recent[1:]:  # for some periods, it may come back as it was
                victims[usage.key] = one._replace(recent=one.recent[1:])
            if usage.requests:
                now = usage.bytes_s / usage.iops
                size = now if size is None else (size + now) / 2
            if size:
                sizes[usage.key] = size
        return memory._replace(costs=costs, victims=protected(victims, capped), sizes=sizes)

    def _borne(self, memory: Memory, model: tuple[float, float], total: float) -> float:
        """Return the total that all bear who are to be protected."""
        least = GROWTH * total
        for one in memory.victims.values():
            if one.working is None:
                continue
            x, now = one.working.at(model)
            before, most = one.resting.at(model) if one.resting else (0.0, 0.0)
            if most <= 1 / self.target:  # nothing is known of rest, or it is too slow: as SLAE does
                least = min(least, x * self.target * now)
            elif now < most:
                wanted = before + (x - before) * (most - 1 / self.target) / (most - now)
                least = min(least, wanted)
        return least

    def _made_up(self, memory: Memory, model: tuple[float, float]) -> float:
        """Return the next period's share of the total, by which a second keeps to the target."""
        least, share = MADE_UP_BOUNDS
        for one in memory.victims.values():
            most = one.resting.at(model)[1] if one.resting else 0.0
            if most > 1 / self.target:
                off = sum(self.target - excess for excess in one.recent)
                wanted = max(self.target + MADE_UP_RATIO * off, 1 / most)
                share = min(share, (most - 1 / wanted) / (most - 1 / self.target))
        return max(share, least)


def _limited(
    total: float,
    memory: Memory,
    pool: Pool,
    capped: Mapping[str, Throttled],
    times: Mapping[str, float],
    settings: Settings,
) -> dict[str, Throttled]:
    """Return those under the cap with their limits in bytes: by the size of their own requests.

    Nobody's limit is below one of its own requests a second, unless there are so many under the cap
    that these take too much of the disk's time.
    """
    model = memory.costs.model()
    known = sorted(memory.sizes.values())
    usual = known[len(known) // 2] if known else SMALL_BYTES
    sizes = {key: memory.sizes.get(key, usual) for key in capped}
    bytes_a_second = {key: size / _time(1, size / 1024, model) for key, size in sizes.items()}
    spared = sum(size / bytes_a_second[key] for key, size in sizes.items()) <= SPARED_RATIO
    held = {key: one.limit_bytes_s / bytes_a_second[key] for key, one in capped.items()}
    limited = {}
    for key, part in divided(total, capped, times, held).items():
        wanted = _changed(pool.throttled.get(key), round(part * bytes_a_second[key]))
        limit = max(wanted, settings.floor_bytes_s, round(sizes[key]) if spared else 0)
        limited[key] = capped[key]._replace(limit_bytes_s=limit)
    return limited


def _changed(known: Throttled | None, wanted: int) -> int:
    """Return the limit that follows another one.

    A slice of a limit may be spent in advance, and is owed then. Before Linux 6.6, blk-throttle
    lets everything pass as long as a container owes more than a slice of its new limit. So limits
    fall by steps, and not in the period in which a container begins to press.
    """
    if known is None:
        return wanted
    old = known.limit_bytes_s
    if abs(wanted - old) < STEADY_RATIO * old or (wanted < old and known.slack_periods):
        return old
    return min(max(wanted, round(FALL * old)), round(RISE * old))


def _time(iops: float, kib_s: float, model: tuple[float, float]) -> float:
    """Return the disk time of requests and KiB, by a model as `Costs.model` returns it."""
    return iops * model[0] + kib_s * model[1]
