"""The patterns of cgroups that an operator gives on the command line."""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING

from ..errors import Refused
from ..regulator.targets import Pattern, place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..groups.hierarchies import Hierarchy


def named(texts: Iterable[str], devices: Sequence[str]) -> list[Pattern]:
    """Return the patterns that an operator gives as ``PATH`` or ``PATH=DEVICE``."""
    found = []
    for text in texts:
        path, _, device = text.partition("=")
        if not (device or devices):
            raise Refused(
                f"expected a block device for cgroup {path}; found none; add --device NAME, "
                f"or write --cgroup {path}=NAME"
            )
        found.append(Pattern(path, (device,) if device else tuple(devices)))
    return found


def check_paths(patterns: Iterable[Pattern], hierarchy: Hierarchy) -> None:
    """Refuse a path without a star that is no cgroup that can be limited."""
    for pattern in patterns:
        if glob.has_magic(pattern.path):
            continue
        folder = place(pattern.path, hierarchy.root)
        if not folder.is_dir():
            raise Refused(
                f"expected the cgroup {folder}; found none; give its path below "
                f"{hierarchy.root}, or --container NAME for a Docker container"
            )
        if not (folder / hierarchy.needed).exists():
            raise Refused(
                f"expected {hierarchy.needed} in {folder}; found none; turn the io controller "
                f"on for it: echo +io > {folder.parent}/cgroup.subtree_control"
            )
