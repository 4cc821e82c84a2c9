"""The two generations of cgroups: where they are, what they count, how they limit.

Files: Documentation/admin-guide/cgroup-v1/blkio-controller.rst and cgroup-v2.rst (io.stat,
io.max) of the kernel.
"""

import os
import pathlib

from .errors import Refused


def read_text(path):
    """Return a small file's text; three system calls, for it is done thousands of times."""
    file = os.open(path, os.O_RDONLY)
    try:
        text = os.read(file, 65536)
        while len(text) % 65536 == 0 and (more := os.read(file, 65536)):
            text += more
        return text.decode()
    finally:
        os.close(file)


class V1:
    """The blkio controller of cgroup v1, mounted at `root`."""

    version = 1
    needed = "blkio.throttle.write_bps_device"

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def path(self, text):
        """Return the cgroup that a ``/proc/PID/cgroup`` text names."""
        for line in text.splitlines():
            _, controllers, path = line.split(":", 2)
            if "blkio" in controllers.split(","):
                return self.root / path.lstrip("/")
        return None

    def counters(self, folder, requests=True):
        """Return a cgroup's counters since its devices' first limit: number -> counts.

        Counts are (reads, writes, bytes read, bytes written). Kernels since 6.10 or so count
        only on devices that had a limit once: see `Actuator.start_counters`.
        """
        counts = {}
        files = [("blkio.throttle.io_service_bytes", 2)]
        if requests:
            files.append(("blkio.throttle.io_serviced", 0))
        for name, offset in files:
            for line in read_text(f"{folder}/{name}").splitlines():
                fields = line.split()
                if len(fields) == 3 and fields[1] in ("Read", "Write"):
                    row = counts.setdefault(fields[0], [0, 0, 0, 0])
                    row[offset + (fields[1] == "Write")] = int(fields[2])
        return counts

    def knobs(self, folder, number, limits):
        """Return [(file, value, reader)] that set `limits` = (read, write), in bytes/s."""
        names = ("read_bps_device", "write_bps_device")
        return [
            (
                folder / f"blkio.throttle.{name}",
                f"{number} {limit or 0}",
                _reader(_v1_limit, number),
            )
            for name, limit in zip(names, limits)
        ]

    def limits(self, folder, number):
        """Return the limits (read, write) that are set now, in bytes/s; None for no limit."""
        texts = [reader(file.read_text()) for file, _, reader in self.knobs(folder, number, (0, 0))]
        return tuple(int(text.split()[1]) or None for text in texts)


class V2:
    """The io controller of cgroup v2, mounted at `root`."""

    version = 2
    needed = "io.max"

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def path(self, text):
        """Return the cgroup that a ``/proc/PID/cgroup`` text names."""
        for line in text.splitlines():
            if line.startswith("0::"):
                return self.root / line[3:].lstrip("/")
        return None

    def counters(self, folder, requests=True):
        """Return a cgroup's counters: number -> (reads, writes, bytes read, bytes written)."""
        counts = {}
        for line in read_text(f"{folder}/io.stat").splitlines():
            number, *pairs = line.split()
            values = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
            names = ("rios", "wios", "rbytes", "wbytes")
            counts[number] = [int(values.get(name, 0)) for name in names]
        return counts

    def knobs(self, folder, number, limits):
        """Return [(file, value, reader)] that set `limits` = (read, write), in bytes/s."""
        read, write = (limit or "max" for limit in limits)
        value = f"{number} rbps={read} wbps={write}"
        return [(folder / "io.max", value, _reader(_v2_limit, number))]

    def limits(self, folder, number):
        """Return the limits (read, write) that are set now, in bytes/s; None for no limit."""
        _, *pairs = _v2_limit((folder / "io.max").read_text(), number).split()
        values = [pair.split("=")[1] for pair in pairs]
        return tuple(None if value == "max" else int(value) for value in values)


def _reader(of_device, number):
    return lambda text: of_device(text, number)


def _v1_limit(text, number):
    for line in text.splitlines():
        if line.split()[:1] == [number]:
            return line.strip()
    return f"{number} 0"  # a limit of 0 is how v1 takes a limit away


def _v2_limit(text, number):
    values = {}
    for line in text.splitlines():
        device, *pairs = line.split()
        if device == number:
            values = dict(pair.split("=") for pair in pairs)
    return f"{number} rbps={values.get('rbps', 'max')} wbps={values.get('wbps', 'max')}"


def find(mountinfo="/proc/self/mountinfo"):
    """Return the hierarchy that limits I/O on this host.

    Raises
    ------
    Refused
        When there is none.
    """
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
    controllers = pathlib.Path(unified, "cgroup.controllers").read_text().split()
    if "io" not in controllers:
        raise Refused(
            f"expected the io controller in {unified}/cgroup.controllers; found "
            f"{' '.join(controllers) or 'no controller'}; boot a kernel with CONFIG_BLK_CGROUP "
            "and without cgroup_disable=io"
        )
    return V2(unified)
