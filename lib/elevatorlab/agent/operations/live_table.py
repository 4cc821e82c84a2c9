"""The live table that an operator sees on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO

    from ..regulator.control import Decision
    from ..regulator.observation import Observation

HOME, CLEAR_BELOW, CLEAR_LINE = "\x1b[H", "\x1b[J", "\x1b[K"

COLUMNS = (
    "container            class    role       IOPS  read KiB/s write KiB/s  wait ms  queue  util %"
    "  limit KiB/s"
)

#: How many decisions of one period the live table shows.
SHOWN_DECISIONS = 4


def table(
    observation: Observation,
    limits: Mapping[str, int],
    decisions: Sequence[Decision],
    width: int = 120,
) -> list[str]:
    """Return the live table of one period as lines.

    A wait, queue or utilisation with ``~`` is that of a shared device. An offender is under a
    limit; a victim is whose wait, queue or utilisation led to a decision of this period.
    """
    lines = []
    for name, disk in sorted(observation.disks.items()):
        source = "" if disk.has_counters else " (mean of the containers' devices)"
        lines.append(f"disk {name}: utilisation {disk.utilization_ratio:.1%}{source}")
    lines += decided(decisions)
    lines.append(COLUMNS)
    victims = {decision.numbers.get("victim") for decision in decisions}
    for usage in sorted(observation.containers, key=lambda usage: (-usage.load, usage.name)):
        wait = "-" if usage.wait_ms is None else f"{usage.wait_ms:.2f}"
        shared = " " if usage.own_device else "~"
        limit = limits.get(usage.key)
        shown = "-" if limit is None else f"{limit / 1024:.0f}"
        role = "offender" if limit is not None else "victim" if usage.name in victims else ""
        lines.append(
            f"{usage.name[:20]:20} {usage.sla_class[:8]:8} {role:8} {usage.iops:6.0f} "
            f"{usage.read_bytes_s / 1024:11.0f} {usage.write_bytes_s / 1024:11.0f} "
            f"{wait:>8}{shared}{usage.queue_length:6.2f}{shared}"
            f"{100 * usage.utilization_ratio:6.1f}{shared}{shown:>13}"
        )
    return [line[:width] for line in lines]


def decided(decisions: Sequence[Decision]) -> list[str]:
    """Return a period's decisions as lines, the first ones where there are many."""
    if not decisions:
        return ["decision: none, all limits stay as they are"]
    lines = []
    for decision in decisions[:SHOWN_DECISIONS]:
        what = f"{decision.action} {decision.name}".strip()
        if decision.limit_bytes_s is not None:
            what += f" to {decision.limit_bytes_s / 1024:.0f} KiB/s"
        lines.append(f"decision: {what}: {decision.cause}")
    more = len(decisions) - SHOWN_DECISIONS
    return lines + [f"decision: {more} more, see the log"] * (more > 0)


def draw(
    observation: Observation,
    limits: Mapping[str, int],
    decisions: Sequence[Decision],
    file: TextIO | None = None,
) -> None:
    """Draw the table over the last one on a terminal."""
    file = file or sys.stdout
    lines = [f"{line}{CLEAR_LINE}\n" for line in table(observation, limits, decisions)]
    file.write(HOME + "".join(lines) + CLEAR_BELOW)
    file.flush()
