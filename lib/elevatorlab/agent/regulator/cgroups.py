"""Where the cgroups are that limit I/O on the operator's host."""

from __future__ import annotations

import pathlib

from ..errors import Refused
from ..groups.hierarchies import V1, V2


def find(mountinfo: str | pathlib.Path = "/proc/self/mountinfo") -> V1 | V2:
    """Return the hierarchy that limits I/O on this host."""
    unified = None
    for line in pathlib.Path(mountinfo).read_text().splitlines():
        mount, _, source = line.partition(" - ")
        kind, _, options = source.split(" ", 2)
        point = mount.split()[4]
        if kind == "cgroup" and "blkio" in options.split(","):
            return V1(point)
        if kind == "cgroup2" and unified is None:
            unified = point
    if unified is None:
        raise Refused(
            "expected cgroups, v1 with blkio or v2 with io; found neither mounted; mount one "
            "(on Debian: mount -t cgroup2 none /sys/fs/cgroup)"
        )
    found = V2(unified)
    controllers = found.controllers()
    if "io" not in controllers:
        raise Refused(
            f"expected the io controller in {unified}/cgroup.controllers; found "
            f"{' '.join(controllers) or 'no controller'}; boot a kernel with CONFIG_BLK_CGROUP "
            "and without cgroup_disable=io"
        )
    return found
