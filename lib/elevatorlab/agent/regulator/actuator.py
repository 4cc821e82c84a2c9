"""The actuator: sets the limits of containers, proves each, and always takes them back."""

from __future__ import annotations

import contextlib
import errno
import pathlib
from typing import TYPE_CHECKING

from ..errors import AgentError, KnobFailed, Refused
from ..lifecycle.journal import undoes
from ..lifecycle.proofs import Proofs

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..groups.hierarchies import Hierarchy
    from ..lifecycle.journal import Journal
    from .targets import Target

#: What the regulator limits.
LIMITED = ("read_bytes_s", "write_bytes_s")

#: What the kernel answers where the device, or the cgroup, is gone, and the limit with it.
GONE = (errno.ENODEV, errno.ENXIO, errno.ENOENT)


class LimitFailed(Exception):
    """A limit could not be set; the message says why."""


@undoes("restore_limit")
def _restore_limit(path: str, value: str) -> None:
    """Write a limit back, where there still is something to limit."""
    if pathlib.Path(path).exists():
        try:
            pathlib.Path(path).write_text(value + "\n")
        except OSError as problem:
            if problem.errno not in GONE:
                raise


class Actuator:
    """Sets limits in cgroups.

    `number` gives the ``major:minor`` of a device's name. The journal notes each limit before it is
    first changed; its end restores them all.
    """

    def __init__(
        self, hierarchy: Hierarchy, number: Callable[[str], str], journal: Journal
    ) -> None:
        self.hierarchy = hierarchy
        self.number = number
        self.journal = journal
        self._original: dict[tuple[str, str], dict[str, int | None]] = {}

    def set(self, target: Target, bytes_s: int | None) -> list[dict[str, str | None]]:
        """Limit a container's reads and writes to `bytes_s` each; None restores what was.

        A stricter limit that somebody else has set stays. Returns what was written and read back.
        """
        proofs = Proofs()
        try:
            for device in target.devices:
                number = self.number(device)
                original = self._note(target, number)
                limits = original
                if bytes_s is not None:
                    limits = {
                        name: min(bytes_s, limit or bytes_s) for name, limit in original.items()
                    }
                for file, value, reader in self.hierarchy.knobs(target.folder, number, limits):
                    proofs.set(file, value, read_as=reader)
        except KnobFailed as refusal:
            raise LimitFailed(str(refusal)) from None
        except (OSError, AgentError, Refused):
            raise LimitFailed(
                f"container {target.name} ended, or lost its device, before its limit was set"
            ) from None
        return proofs.records

    def _note(self, target: Target, number: str) -> dict[str, int | None]:
        """Return the limits before ours, noted in the journal the first time."""
        place = (target.key, number)
        if place not in self._original:
            original = self.hierarchy.limits(target.folder, number, LIMITED)
            for file, value, _ in self.hierarchy.knobs(target.folder, number, original):
                self.journal.will("restore_limit", file, value)
            self._original[place] = original
        return self._original[place]

    def forget(self, target: Target) -> None:
        """Drop what is known of a container that has ended: its limits went with its cgroup."""
        for place in [place for place in self._original if place[0] == target.key]:
            original = self._original.pop(place)
            for file, value, _ in self.hierarchy.knobs(target.folder, place[1], original):
                self.journal.forget("restore_limit", file, value)

    def start_counters(self, target: Target) -> None:
        """Make the kernel count a container's I/O under cgroup v1.

        Since Linux 6.10 or so it does from the moment when any limit is written for a
        device. What is written here is what is set already: nothing is limited by it.
        """
        if self.hierarchy.version != 1:
            return
        with contextlib.suppress(OSError, Refused):  # ended already
            counted = self.hierarchy.counters(target.folder)
            for device in target.devices:
                number = self.number(device)
                if number not in counted:
                    limits = self.hierarchy.limits(target.folder, number, LIMITED)
                    for file, value, _ in self.hierarchy.knobs(target.folder, number, limits):
                        file.write_text(value + "\n")
