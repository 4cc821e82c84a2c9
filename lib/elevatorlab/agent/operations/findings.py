"""What a finding of the audit is, and all kinds there are: data decide, and words tell people."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    #: What was read, by name.
    Evidence = Mapping[str, "int | str | list[str]"]


class Severity(enum.Enum):
    """How bad a finding is; a note alone leaves the status at 0."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """Return its place among all, the worst first."""
        return list(Severity).index(self)


class Kind(enum.Enum):
    """What can be wrong with a limit or a weight."""

    # Of what was asked.
    DROPPED = "limit-dropped"
    DIFFERS = "limit-differs"
    WEIGHT_DROPPED = "weight-dropped"
    NOT_DELEGATED = "io-not-delegated"
    PARTITIONS_MERGED = "partitions-merged"
    NOT_SUPPORTED = "not-supported"
    UNRESOLVED = "device-unresolved"
    NOT_FOUND = "cgroup-not-found"
    NOT_ASKED = "not-asked"
    # Of the device that a limit names.
    NO_DISK = "no-disk"
    GONE = "device-gone"
    PARTITION = "partition"
    # Of a limit that the kernel holds.
    NOT_INHERITED = "v1-not-inherited"
    BUFFERED = "v1-buffered-writes"
    MEMORY_OFF = "memory-controller-off"
    FUSE = "fuse-writes"
    ZFS = "zfs-writes"
    NETWORK = "network-writes"
    DATA_JOURNAL = "data-journal-writes"
    CRYPT = "dm-crypt-writes"
    UNCHARGED = "uncharged-writes"
    OTHER_DIRECTION = "other-direction"
    OTHER_DISK = "other-disk"
    PARENT_STRICTER = "parent-stricter"
    WBT = "writeback-throttling"
    JOURNAL = "shared-journal"
    # Of weights and goals.
    WEIGHT_IGNORED = "weight-ignored"
    WEIGHT_WITHOUT_CFQ = "weight-without-cfq"
    LATENCY_BESIDE_COST = "latency-beside-cost"
    CLASS_IGNORED = "priority-class-ignored"
    # Of a regulator that was killed.
    LEFT_BEHIND = "limit-left-behind"


class Finding(NamedTuple):
    """A limit or weight that does not do what it says, or that does more."""

    kind: Kind
    severity: Severity
    #: A cgroup's path below the root, or what was asked of none.
    subject: str
    evidence: Evidence
    #: The cause and the remedy.
    sentence: str

    def record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {**self._asdict(), "kind": self.kind.value, "severity": self.severity.value}


def above_notes(found: list[Finding]) -> bool:
    """Tell whether any finding is more than a note."""
    return any(one.severity is not Severity.NOTE for one in found)
