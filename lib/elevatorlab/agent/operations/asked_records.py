"""Records of what was asked for a cgroup, whoever asked it."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import Refused

#: The key of a goal of latency, in us.
LATENCY = "target"


def bfq(weight: int) -> int:
    """Return what systemd writes to BFQ's file: 1 to 10000 on a scale of 1 to 1000."""
    return weight if weight <= 100 else 100 + (weight - 100) * 900 // 9900


class AskedLimit(NamedTuple):
    """A limit of a device, or a goal of its latency; the device is a path, or ``major:minor``."""

    device: str
    key: str
    value: int


class AskedWeight(NamedTuple):
    """A weight, on one device or on all; `blkio`: of 10 to 1000, and not of 1 to 10000."""

    device: str
    value: int
    blkio: bool

    def accepted(self, source: str, version: int) -> set[int]:
        """Return what a runtime may write for it with a version of cgroups, whichever file it is.

        systemd has the scale of blkio with version 1 alone, and runc and crun write both scales.
        """
        value = self.value
        if source != "systemd":
            scaled = 1 + (value - 10) * 9999 // 990
            return {value, scaled, bfq(scaled)}
        if self.blkio and version == 2:
            value = max(value // 5, 1)
        elif not self.blkio and version == 1:
            value = min(max(value * 5, 10), 1000)
        return {value, bfq(value)}


class Asked(NamedTuple):
    """What was asked for one cgroup."""

    source: str
    name: str
    #: Parts of the cgroup's name, its path below the root, or a process in it.
    hints: tuple[str, ...]
    path: str = ""
    process: int = 0
    limits: tuple[AskedLimit, ...] = ()
    weights: tuple[AskedWeight, ...] = ()
    #: The class of a runtime's configuration, where that was not given.
    unknown_class: str = ""
    #: What no runtime reads, such as a line that systemd ignores.
    unsupported: tuple[str, ...] = ()


def number(text: str) -> int:
    """Return a number as the classes write it.

    >>> number("10M"), number("4Ki"), number("7")
    (10000000, 4096, 7)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGTPE]?)(i?)B?", text.strip(), re.IGNORECASE)
    if not match:
        raise Refused(f"expected a number as 1048576, 10M or 10Mi; found {text!r}; correct it")
    power = " KMGTPE".index(match[2].upper() or " ")
    return round(float(match[1]) * float(1024 if match[3] else 1000) ** power)
