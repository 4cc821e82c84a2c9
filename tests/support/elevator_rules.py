"""The rules of the course's elevators in a few lines: what the kernel's must agree with.

They choose when the block layer asks: one request is always ahead, chosen as soon as the one
before it has gone to the disk.
"""

import math
from typing import NamedTuple

NEVER = math.inf


class Choice(NamedTuple):
    """What was chosen, when, from what, and where the head was: (at_ms, place_kib) each."""

    at_ms: float
    head_kib: int
    waiting: list
    chosen: tuple


class Rule:
    """First come, first served; the others choose otherwise."""

    def __init__(self, expire_ms=NEVER):
        self.expire_ms, self.head_kib, self.up = expire_ms, 0, True

    def choose(self, waiting, now_ms):
        oldest = min(waiting)
        chosen = oldest if now_ms - oldest[0] > self.expire_ms else self.next(waiting)
        self.head_kib = chosen[1]
        return chosen

    def next(self, waiting):
        return min(waiting)


class Sstf(Rule):
    def next(self, waiting):
        return min(waiting, key=lambda one: abs(one[1] - self.head_kib))


class Look(Rule):
    def next(self, waiting):
        ahead = self.ahead(waiting)
        if not ahead:
            self.up = not self.up
            ahead = self.ahead(waiting)
        return min(ahead, key=lambda one: abs(one[1] - self.head_kib))

    def ahead(self, waiting):
        return [one for one in waiting if (one[1] > self.head_kib) == self.up]


class CLook(Rule):
    def next(self, waiting):
        ahead = [one for one in waiting if one[1] > self.head_kib]
        return min(ahead or waiting, key=lambda one: one[1])


RULES = {"fifo": Rule, "sstf": Sstf, "look": Look, "c-look": CLook}


def choices(rule, requests, service_ms):
    """Return every choice that a rule makes, in order, for (at_ms, place_kib) requests."""
    coming, waiting, made = sorted(requests), [], []
    ahead, done_ms = None, NEVER
    while coming or waiting or ahead or done_ms < NEVER:
        if coming and coming[0][0] < done_ms:
            now_ms = coming[0][0]
            waiting.append(coming.pop(0))
        else:
            now_ms, done_ms = done_ms, NEVER
        while True:
            if ahead and done_ms == NEVER:
                ahead, done_ms = None, now_ms + service_ms
            if ahead or not waiting:
                break
            head_kib, before = rule.head_kib, list(waiting)
            ahead = rule.choose(waiting, now_ms)
            waiting.remove(ahead)
            made.append(Choice(now_ms, head_kib, before, ahead))
    return made


def order(name, requests, service_ms, expire_ms=NEVER):
    """Return the places in the order in which a rule dispatches them."""
    return [one.chosen[1] for one in choices(RULES[name](expire_ms), requests, service_ms)]
