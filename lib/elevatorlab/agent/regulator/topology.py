"""Where the host's cgroups are, which block device is which, and which disk lies under it."""

from __future__ import annotations

import os
import pathlib
import stat

from ..errors import Refused
from ..groups.hierarchies import V1, V2


def find_cgroups(mountinfo: str | pathlib.Path = "/proc/self/mountinfo") -> V1 | V2:
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


class Topology:
    """The host's block devices as ``/sys`` shows them."""

    def __init__(
        self, sys: str | pathlib.Path = "/sys", proc: str | pathlib.Path = "/proc"
    ) -> None:
        self.sys = pathlib.Path(sys)
        self.proc = pathlib.Path(proc)

    def number(self, name: str) -> str:
        """Return ``major:minor`` of the device `name`."""
        file = self.sys / "class/block" / name / "dev"
        try:
            return file.read_text().strip()
        except OSError:
            there = sorted(path.name for path in (self.sys / "class/block").glob("*"))
            raise Refused(
                f"expected a block device named {name!r}; found {', '.join(there) or 'none'}; "
                "give the kernel's name, as lsblk prints it"
            ) from None

    def name(self, number: str) -> str | None:
        """Return the kernel's name of ``major:minor``, or None."""
        link = self.sys / "dev/block" / number
        return os.path.basename(os.readlink(link)) if link.is_symlink() else None

    def whole(self, name: str) -> str:
        """Return the whole device of a partition, and any other device itself.

        Limits are taken for whole devices alone.
        """
        folder = (self.sys / "class/block" / name).resolve()
        return folder.parent.name if (folder / "partition").exists() else name

    def of_the_host(self) -> set[str]:
        """Return the devices that the host itself uses: nobody's own."""
        root = self.device_of("/")
        return {root, self.whole(root)} if root else set()

    def device_of(self, path: str) -> str | None:
        """Return the name of the device that is, or holds, `path`; None without one."""
        status = os.stat(path)
        number = status.st_rdev if stat.S_ISBLK(status.st_mode) else status.st_dev
        major_minor = f"{os.major(number)}:{os.minor(number)}"
        return self.name(major_minor) or self._source(major_minor)

    def _source(self, major_minor: str) -> str | None:
        """Return the device of a mount whose number is not its device's (btrfs)."""
        for line in (self.proc / "self/mountinfo").read_text().splitlines():
            mount, _, source = line.partition(" - ")
            if mount.split()[2] == major_minor:
                device = source.split()[1]
                if device.startswith("/dev/") and os.path.exists(device):
                    return os.path.basename(os.path.realpath(device))
        return None

    def disk(self, name: str) -> str:
        """Return the disk at the bottom: below partitions, loop files and device mapper.

        That is a device's name, or ``file system M:m`` for a file that lies on no block device
        that the kernel knows (network, FUSE, tmpfs).
        """
        name = self.whole(name)
        folder = self.sys / "class/block" / name
        slaves = sorted(path.name for path in (folder / "slaves").glob("*"))
        if slaves:
            return self.disk(slaves[0])
        backing = folder / "loop/backing_file"
        if not backing.exists():
            return name
        file = backing.read_text().strip()
        try:
            below = self.device_of(file)
            number = os.stat(file).st_dev
        except OSError:  # deleted since, or in another mount namespace
            return name
        return self.disk(below) if below else f"file system {os.major(number)}:{os.minor(number)}"
