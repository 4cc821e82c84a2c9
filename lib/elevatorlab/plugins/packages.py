"""What other people's packages add to the registries."""

from __future__ import annotations

from typing import Any

from . import studies, testbeds
from .drives import DRIVES
from .kinds import DEVICES, POLICIES, WORKLOADS
from .profiles import PROFILES
from .registry import OURS, Registry
from .schedulers import SCHEDULERS

#: Every registry, in the order in which `of_others` lists entries.
REGISTRIES: tuple[Registry[Any], ...] = (
    studies.STUDIES,
    SCHEDULERS,
    DEVICES,
    PROFILES,
    DRIVES,
    WORKLOADS,
    POLICIES,
    testbeds.TESTBEDS,
)


def of_others() -> dict[str, list[str]]:
    """Return the entries ("KIND NAME") that each other package brings, by "PACKAGE VERSION"."""
    found: dict[str, list[str]] = {}
    for registry in REGISTRIES:
        for name in registry.names():
            package = registry.package(name)
            if package is not None and package.name != OURS:
                found.setdefault(" ".join(package), []).append(f"{registry.kind} {name}")
    return found
