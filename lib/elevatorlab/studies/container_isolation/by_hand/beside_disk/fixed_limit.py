"""The rule of somebody who knows whom to limit, and to what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent.regulator.control import Throttled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent.regulator.control import Pool, Settings
    from agent.regulator.observation import Disk, Usage


class FixedLimit(NamedTuple):
    """Limits each of some containers, named in advance, to a rate that never changes."""

    containers: Sequence[str]
    bytes_s: int

    def advance(
        self, pool: Pool, usages: Sequence[Usage], disk: Disk | None, settings: Settings
    ) -> tuple[Pool, str, dict[str, Any]]:
        """Return the next state, and in a sentence and in numbers why."""
        throttled = {
            usage.key: Throttled(usage.name, self.bytes_s, usage.load, 1.0)
            for usage in usages
            if usage.name in self.containers
        }
        return pool._replace(throttled=throttled), "limited by hand", {}
