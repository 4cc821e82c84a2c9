"""A policy of this project's own: a cap that is there before anybody needs it.

SLAE waits until somebody's SLA is missed. ``guard`` limits newcomers from the beginning: all that
were not at work yet may together do a share of what one neighbour does. From then on their cap
follows the wait. It is made for control periods of 100 to 250 ms.

* Those under the cap have a rate x together. Those whom it does not hold back have a *pressure* e:
  the worst of their waits over the SLA. Both are smoothed over about a second.
* 1/e falls in a straight line with x (closed law, W = S / (1 - U)). One point of the line, the
  *anchor*, is known from when there was little under the cap; the other is the present one. The
  secant through both meets 1/target at the rate that the disk bears. The total goes part of the
  way there in each period.
* An SLA is judged over a second, so that a period may make up for those before it. What the last
  three periods were above the target, the next one is below it.
* Whoever is under the cap and does not press against it is protected as the others are.
* The total is divided so that those who want less than an equal share leave theirs to the others.

Whoever was at work before has no cap, until nobody is left under it who presses, the SLA is missed,
and it stands out by SLAE's median rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from .control import Throttled
from .policies import Slae, sla_excess

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from .control import Pool, Settings
    from .observation import Disk, Usage

T = TypeVar("T")

#: How much of a smoothed value is left a period later: of 250 ms, it is about a second long.
KEPT = 0.8
#: How much of the way to the secant's rate is gone in a period.
GAIN = 0.3
#: The total grows at most to this many times in a period, and falls to this share of it.
GROWTH, FALL = 2.0, 0.25
#: Whoever uses this share of its cap would use more; it counts for so many periods.
PRESSING_RATIO, PRESSING_PERIODS = 0.75, 8
#: How many periods are made up for, how much of it, and how far the cap goes for that.
MADE_UP_PERIODS, MADE_UP_RATIO, MADE_UP_BOUNDS = 3, 0.4, (0.3, 1.5)
#: With less than this share of the total under the cap there is an anchor.
LITTLE_RATIO = 0.1


class Victim(NamedTuple):
    """What is remembered of one that is to be protected: sums in which old periods fade."""

    excess: float = 0.0
    requests: float = 0.0
    recent: tuple[float, ...] = ()

    def after(self, excess: float, requests: int) -> Victim:
        """Return what is remembered a period later."""
        return Victim(
            KEPT * self.excess + excess * requests,
            KEPT * self.requests + requests,
            (*self.recent, excess)[-MADE_UP_PERIODS:],
        )

    @property
    def mean(self) -> float:
        """Mean wait over the SLA."""
        return self.excess / self.requests


class Memory(NamedTuple):
    """What ``guard`` remembers of a disk."""

    victims: dict[str, Victim] = {}  # never changed in place
    #: What those under the cap do, smoothed; and what they may do together.
    rate_bytes_s: float = 0.0
    total_bytes_s: float = 0.0
    #: The rate under the cap, and 1/e, where there was little to cap.
    anchor: tuple[float, float] | None = None

    @property
    def pressure(self) -> float:
        """The worst of the smoothed waits over the SLA; 0 where nobody is to be protected."""
        return max((one.mean for one in self.victims.values() if one.requests), default=0.0)


class Guard(NamedTuple):
    """A standing cap on newcomers, steered by the secant of the closed law."""

    #: These two as in `policies.Slae`.
    slas: dict[str, float | None]
    metric: str = "wait_ms"
    #: The pressure to be held.
    target: float = 0.92
    #: What newcomers may do together at first, as a share of what the median of those at work does.
    newcomers_ratio: float = 0.6

    def advance(
        self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
    ) -> tuple[Pool, str, dict[str, Any]]:
        """Return the next state, and in a sentence and in numbers why."""
        capped = under_the_cap(pool, usages)
        memory = self._observed(pool.memory or Memory(), usages, capped)
        known = (pool.active or frozenset()) | {usage.key for usage in usages if usage.requests}
        newcomers = [
            usage for usage in usages if usage.key not in known and usage.key not in capped
        ]
        presses = any_presses(capped)
        total = memory.total_bytes_s
        if newcomers and not total:
            total = self.newcomers_ratio * _median(usages)
        if presses and memory.pressure:
            total = self._steered(memory, total)
        done = {usage.key: usage.bytes_s for usage in usages}
        trigger = Slae(self.slas, self.metric, self.target)
        joining, kept_bytes_s = joined(trigger, pool, usages, capped, newcomers, done, settings)
        total += kept_bytes_s
        capped |= joining
        memory = memory._replace(total_bytes_s=total, victims=protected(memory.victims, capped))
        now_bytes_s = total * self._made_up(memory) if presses else total
        held = {key: one.limit_bytes_s for key, one in capped.items()}
        limits = divided(now_bytes_s, capped, done, held) if total else {}
        throttled = {
            key: capped[key]._replace(limit_bytes_s=max(round(limit), settings.floor_bytes_s))
            for key, limit in limits.items()
        }
        after = pool._replace(memory=memory, throttled=throttled, active=known)
        numbers = {"pressure": round(memory.pressure, 3), "total_bytes_s": round(total)}
        cause = f"{self.metric} is {memory.pressure:.2f} of the SLA where it is worst, smoothed"
        return after, cause, numbers

    def _observed(
        self, memory: Memory, usages: Sequence[Usage], capped: Mapping[str, Throttled]
    ) -> Memory:
        """Return the memory with what was seen in this period."""
        seen = {
            usage.key: memory.victims.get(usage.key, Victim()).after(excess, usage.requests)
            for usage in usages
            if (excess := sla_excess(usage, self.slas, self.metric)) is not None
        }
        victims = protected(seen, capped)
        now = sum(usage.bytes_s for usage in usages if usage.key in capped)
        rate = KEPT * memory.rate_bytes_s + (1 - KEPT) * now
        memory = memory._replace(victims=victims, rate_bytes_s=rate)
        if memory.pressure and rate <= LITTLE_RATIO * memory.total_bytes_s:
            memory = memory._replace(anchor=(rate, 1 / memory.pressure))
        return memory

    def _steered(self, memory: Memory, total: float) -> float:
        """Return the total that follows: nearer to where the secant meets the target."""
        rate, pressure = memory.rate_bytes_s, memory.pressure
        wanted = rate * self.target / pressure  # without an anchor, as SLAE does
        if memory.anchor and memory.anchor[1] > 1 / min(pressure, self.target):
            rate_before, most = memory.anchor
            share = (most - 1 / self.target) / (most - 1 / pressure)
            wanted = rate_before + (rate - rate_before) * share
        following = total + GAIN * (wanted - rate)
        return min(max(following, FALL * total), GROWTH * total)

    def _made_up(self, memory: Memory) -> float:
        """Return the next period's share of the total, by which a second keeps to the target."""
        if memory.anchor is None or memory.anchor[1] <= 1 / self.target:
            return 1.0
        _, most = memory.anchor
        wanted = min(
            (
                self.target + MADE_UP_RATIO * sum(self.target - excess for excess in one.recent)
                for one in memory.victims.values()
            ),
            default=self.target,
        )
        share = (most - 1 / max(wanted, 1 / most)) / (most - 1 / self.target)
        least, largest = MADE_UP_BOUNDS
        return min(max(share, least), largest)


def counted(known: Throttled, usage: Usage) -> Throttled:
    """Return what is known of one under the cap, with the periods since it pressed against it.

    One request more may be on its way: of large ones few end in a period.
    """
    fastest = max(usage.read_bytes_s, usage.write_bytes_s)
    fastest *= (usage.requests + 1) / max(usage.requests, 1)
    presses = fastest >= PRESSING_RATIO * known.limit_bytes_s
    return known._replace(slack_periods=0 if presses else known.slack_periods + 1)


def is_pressing(known: Throttled) -> bool:
    """Tell whether one under the cap pressed against it not long ago: what it waits is its own."""
    return known.slack_periods < PRESSING_PERIODS


def protected(victims: Mapping[str, T], capped: Mapping[str, Throttled]) -> dict[str, T]:
    """Return those that no cap holds back."""
    return {
        key: one
        for key, one in victims.items()
        if key not in capped or not is_pressing(capped[key])
    }


def under_the_cap(pool: Pool, usages: Sequence[Usage]) -> dict[str, Throttled]:
    """Return those under the cap that are still there, with what they did in this period."""
    return {
        usage.key: counted(pool.throttled[usage.key], usage)
        for usage in usages
        if usage.key in pool.throttled
    }


def any_presses(capped: Mapping[str, Throttled]) -> bool:
    """Tell whether one under the cap pressed against it in this period."""
    return any(one.slack_periods == 0 for one in capped.values())


def joined(
    trigger: Slae,
    pool: Pool,
    usages: Sequence[Usage],
    capped: Mapping[str, Throttled],
    newcomers: Sequence[Usage],
    done: Mapping[str, float],
    settings: Settings,
) -> tuple[dict[str, Throttled], float]:
    """Return those that come under the cap now, and what the total grows by for them.

    They are the newcomers, and those without a cap who overload the disk where nobody presses: of
    what is `done` by these, the total keeps a part.
    """
    joining, kept = [*newcomers], 0.0
    if not any_presses(capped):
        free = [usage for usage in usages if usage.key not in capped]
        now, found, _ = trigger.pressure(pool, free, None, settings)
        if now is not None and now > 1:
            kept = trigger.keep(now) * sum(done[usage.key] for usage in found)
            joining += found
    return {one.key: Throttled(one.name, 0, one.load, 1.0) for one in joining}, kept


def _median(usages: Iterable[Usage]) -> float:
    """Return the (upper) median rate of those that are at work; 0 where none is."""
    rates = sorted(usage.bytes_s for usage in usages if usage.requests)
    return rates[len(rates) // 2] if rates else 0.0


def divided(
    total: float,
    capped: Mapping[str, Throttled],
    done: Mapping[str, float],
    held: Mapping[str, float],
) -> dict[str, float]:
    """Return the cap of each: an equal share, and what others leave of theirs if it presses.

    `total`, what each has `done` and the cap by which it is `held` are in one unit.
    """
    if not capped:
        return {}
    equal = total / len(capped)
    pressing = [key for key, one in capped.items() if one.limit_bytes_s and is_pressing(one)]
    left = sum(min(done.get(key, 0.0), equal) for key in capped if key not in pressing)
    level = max((total - left) / max(len(pressing), 1), equal)
    return {key: level if key in pressing else held.get(key) or equal for key in capped}
