"""The control loop as an operator runs it: it takes other classes while it runs, and is watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import Refused
from ..regulator.loop import Loop
from . import metrics

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from ..regulator.actuator import Actuator
    from ..regulator.control import Decision, Policy, Settings
    from ..regulator.event_log import JsonLines
    from ..regulator.monitor import Monitor
    from ..regulator.observation import Observation
    from ..regulator.targets import Source


class Renewal(NamedTuple):
    """How the loop gets another policy and source while it runs.

    Once `wanted` is set, `read` is called before the next period. It raises Refused where the
    old ones shall stay.
    """

    wanted: threading.Event
    read: Callable[[], tuple[Policy, Source]]


class Service(Loop):
    """A loop whose policy and source a renewal changes.

    `show` is called with each observation, the limits in force, and the period's decisions.
    """

    def __init__(
        self,
        source: Source,
        monitor: Monitor,
        policy: Policy,
        settings: Settings,
        actuator: Actuator | None,
        log: JsonLines,
        renewal: Renewal,
        show: Callable[[Observation, Mapping[str, int], Sequence[Decision]], None] | None = None,
    ) -> None:
        super().__init__(source, monitor, policy, settings, actuator, log)
        self.renewal = renewal
        self.show = show

    def step(self) -> None:
        """Do one period's work."""
        if self.renewal.wanted.is_set():
            self._renew()
        super().step()
        if self.show and self.observation:
            self.show(self.observation, self.limits, self.decisions)

    def _renew(self) -> None:
        """Take another policy and source; what is known of the disks and limits stays."""
        self.renewal.wanted.clear()
        try:
            policy, source = self.renewal.read()
        except Refused as problem:
            self.log.write("reload", refused=f"{problem}; what was read before stays in force")
            return
        self.source.close()
        self.policy, self.source = policy, source
        self.log.write("reload", law=policy._asdict())

    def metrics(self) -> str:
        """Return the page of metrics."""
        return metrics.page(self.observation, self.limits, self.counts, self.missed)
