"""The control loop: once a period, monitor -> policy -> actuator."""

from __future__ import annotations

import collections
import contextlib
import time
from typing import TYPE_CHECKING

from ..errors import Refused
from .actuator import LimitFailed
from .control import Decision
from .decisions import decide
from .shared_journals import shared_journals, waiting_bytes

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .actuator import Actuator
    from .control import Policy, Pool, Settings
    from .event_log import JsonLines
    from .monitor import Monitor
    from .observation import Observation
    from .targets import Source, Target

#: A limit is called without effect when this many periods in a row it was passed by half.
IN_VAIN_PERIODS = 3

#: A journal that a limit may hold up for longer than this is told of.
JOURNAL_DELAY_S = 1.0


class Loop:
    """Regulates until stopped.

    Without an actuator it decides and reports, but sets nothing.
    """

    def __init__(
        self,
        source: Source,
        monitor: Monitor,
        policy: Policy,
        settings: Settings,
        actuator: Actuator | None,
        log: JsonLines,
    ) -> None:
        self.source = source
        self.monitor = monitor
        self.policy = policy
        self.settings = settings
        self.actuator = actuator
        self.log = log
        self.state: dict[str, Pool] = {}
        self.limits: dict[str, int] = {}
        self.observation: Observation | None = None
        self.decisions: Sequence[Decision] = ()
        self.counts: collections.Counter[str] = collections.Counter()
        self.missed = 0
        self._known: dict[str, Target] = {}
        self._in_vain: collections.Counter[str] = collections.Counter()
        self._buffering: set[str] = set()
        self._pinning: set[str] = set()

    def run(self, period_s: float, stop: threading.Event) -> None:
        """Control every `period_s` until the event `stop` is set.

        The instants are multiples of the period after the start, so that a late one does
        not delay the others; those that passed meanwhile are missed, counted and told.
        """
        next_s = time.monotonic()
        while not stop.is_set():
            self.step()
            next_s += period_s
            late_s = time.monotonic() - next_s
            if late_s >= 0:
                passed = int(late_s / period_s) + 1
                self.missed += passed
                next_s += passed * period_s
                self.log.write("missed", control_periods=passed, late_s=round(late_s, 3))
            stop.wait(max(0.0, next_s - time.monotonic()))

    def step(self) -> None:
        """Do one period's work."""
        targets, notes = self.source.targets()
        self._welcome(targets)
        self.observation = self.monitor.observe(targets)
        for note in [*notes, *self.monitor.notes]:
            self.log.write("note", text=note)
        self.monitor.notes.clear()
        if self.observation is None:
            return
        self._check_effect(self.observation)
        self.state, self.decisions = decide(
            self.policy, self.state, self.observation, self.settings
        )
        present = {target.key: target for target in targets}
        for decision in self.decisions:
            self._carry_out(decision, present.get(decision.key))

    def _welcome(self, targets: Sequence[Target]) -> None:
        """Start the counters of containers that are new; forget those that went."""
        present = {target.key: target for target in targets}
        if present == self._known:
            return
        for old in _others(self._known, present):
            if _ended(old, targets):
                self._forget(old)
            elif old.key in self.limits:
                self._let_go(old)
            self.limits.pop(old.key, None)
            self.log.write("container", container=old.name, came=False)
        for new in _others(present, self._known):
            devices = list(new.devices)
            self.log.write("container", container=new.name, came=True, devices=devices)
            if self.actuator:
                self.actuator.start_counters(new)
        self._known = present

    def _forget(self, target: Target) -> None:
        """Keep nothing of one that has ended: thousands may come and go in a host's life."""
        self._in_vain.pop(target.key, None)
        self._buffering.discard(target.key)
        self._pinning.discard(target.key)
        for disk, pool in self.state.items():
            if pool.active:
                self.state[disk] = pool._replace(active=pool.active - {target.key})
        if self.actuator:
            self.actuator.forget(target)

    def _let_go(self, target: Target) -> None:
        """Take the limit from one that goes on, but is watched no longer."""
        cause = "it is watched no longer"
        self._carry_out(Decision(target.key, target.name, "release", None, cause, {}), target)
        for disk, pool in self.state.items():
            kept = {key: known for key, known in pool.throttled.items() if key != target.key}
            self.state[disk] = pool._replace(throttled=kept)

    def limited(self) -> list[str]:
        """Return the names of the containers that have a limit of ours now."""
        return sorted(self._known[key].name for key in self.limits if key in self._known)

    def _carry_out(self, decision: Decision, target: Target | None) -> None:
        self.counts[decision.action] += 1
        outcome: dict[str, Any] = {"dry_run": self.actuator is None}
        if target is not None and decision.limit_bytes_s is not None:
            self._foresee(target, decision.limit_bytes_s)
        if target is not None and self.actuator is not None:
            try:
                outcome["proofs"] = self.actuator.set(target, decision.limit_bytes_s)
            except LimitFailed as failure:
                outcome["failed"] = str(failure)
        if decision.limit_bytes_s is None:
            self.limits.pop(decision.key, None)
        elif "failed" not in outcome:
            self.limits[decision.key] = decision.limit_bytes_s
        self.log.write(
            "decision",
            container=decision.name,
            action=decision.action,
            limit_bytes_s=decision.limit_bytes_s,
            cause=decision.cause,
            numbers=decision.numbers,
            **outcome,
        )

    def _foresee(self, target: Target, limit_bytes_s: int) -> None:
        """Say it, once for each container, where a limit will hold up a journal that all share.

        A commit waits until the container's dirty pages are written, which the limit slows down.
        """
        if self.monitor.hierarchy.version != 2 or target.key in self._pinning:
            return  # version 1 limits no buffered writes
        waiting = waiting_bytes(target.folder)
        delay_s = waiting / limit_bytes_s
        points: list[str] = []
        if delay_s >= JOURNAL_DELAY_S:
            with contextlib.suppress(Refused):  # a device has just gone
                points = self._journals(target)
        if not points:
            return
        self._pinning.add(target.key)
        self.log.write(
            "warning",
            container=target.name,
            text=f"{target.name} has {waiting >> 10} KiB to be written, which a limit of "
            f"{limit_bytes_s >> 10} KiB/s turns into {delay_s:.1f} s; all who fsync on "
            f"{', '.join(points)} may wait as long for the journal: give it a file system of its "
            "own, or weights with io.cost instead of a limit",
        )

    def _journals(self, target: Target) -> list[str]:
        """Return where a container's disks are mounted with a journal that all share."""
        numbers = dict.fromkeys(map(self.monitor.number, target.devices))
        topology = self.monitor.topology
        return [mount.point for number in numbers for mount in shared_journals(topology, number)]

    def _check_effect(self, observation: Observation) -> None:
        """Say it, once for each container, where writes escape their limit."""
        if self.actuator is None:
            return
        for usage in observation.containers:
            limit = self.limits.get(usage.key)
            buffered = usage.unlimited_bytes_s > 0.5 * usage.write_bytes_s
            if buffered and usage.key not in self._buffering:
                self._buffering.add(usage.key)
                self.log.write(
                    "warning",
                    container=usage.name,
                    text=f"{usage.name} writes {usage.unlimited_bytes_s / 1024:.0f} KiB/s through "
                    "the page cache; cgroup v1 cannot limit such writes: boot with cgroup v2, or "
                    "let it write with O_DIRECT or O_SYNC",
                )
            escaped = limit and max(usage.read_bytes_s, usage.write_bytes_s) > 1.5 * limit
            self._in_vain[usage.key] = self._in_vain[usage.key] + 1 if escaped else 0
            if limit and self._in_vain[usage.key] == IN_VAIN_PERIODS:
                self.log.write(
                    "warning",
                    container=usage.name,
                    text=f"the limit of {usage.name} has no effect: {usage.bytes_s / 1024:.0f} "
                    f"KiB/s in spite of a limit of {limit / 1024:.0f} KiB/s",
                )


def _ended(old: Target, targets: Sequence[Target]) -> bool:
    """Say whether a container's cgroup is gone, or is that of another one by now."""
    others = (target for target in targets if target.key != old.key)
    return not old.folder.is_dir() or any(target.folder == old.folder for target in others)


def _others(some: Mapping[str, Target], others: Mapping[str, Target]) -> list[Target]:
    """Return those of `some` that are not, or have other devices, among `others`."""
    return [
        target
        for key, target in some.items()
        if key not in others or others[key].devices != target.devices
    ]
