"""The two versions of cgroups: where they are, what they count, how they limit.

Version 2 has one tree with all controllers; version 1 has a tree for each, and the one that
matters here is ``blkio``. Version 1 neither attributes nor limits buffered writes: they reach
the device from a kernel thread that belongs to no group.

Files: Documentation/admin-guide/cgroup-v1/blkio-controller.rst and cgroup-v2.rst (io.stat,
io.max) of the kernel. None of those that limit shows a device without a limit.
"""

from __future__ import annotations

import functools
import os
import pathlib
from typing import TYPE_CHECKING

from ..devices import schedulers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    #: Turns a knob's file into what it says of a device.
    Reader = Callable[[str], str]
    #: A file, what is written to it, and how to read that back.
    Knob = tuple[pathlib.Path, str, Reader]

#: A limit -> (file of version 1, key of version 2's ``io.max``).
LIMITS = {
    "read_bytes_s": ("blkio.throttle.read_bps_device", "rbps"),
    "write_bytes_s": ("blkio.throttle.write_bps_device", "wbps"),
    "read_iops": ("blkio.throttle.read_iops_device", "riops"),
    "write_iops": ("blkio.throttle.write_iops_device", "wiops"),
}

#: What is counted on each device, in this order, by version 2's names.
COUNTERS = ("rios", "wios", "rbytes", "wbytes")


class Hierarchy:
    """What both versions have."""

    #: 1 or 2.
    version: int
    #: The file that a cgroup has whose bytes/s can be limited.
    needed: str
    #: What is written to take a limit away.
    unlimited: str

    def __init__(self, root: str | pathlib.Path) -> None:
        self.root = pathlib.Path(root)

    def limits(
        self, folder: pathlib.Path, number: str, names: Iterable[str]
    ) -> dict[str, int | None]:
        """Return the limits that are set now: name -> limit, or None for no limit."""
        values = [
            word.rpartition("=")[2]
            for file, _, reader in self.knobs(folder, number, dict.fromkeys(names))
            for word in reader(file.read_text()).split()[1:]
        ]
        return {
            name: None if value == self.unlimited else int(value)
            for name, value in zip(names, values)
        }

    def has_io(self) -> bool:
        """Tell whether the tree is there, with I/O in it."""
        raise NotImplementedError

    def path(self, text: str) -> pathlib.Path | None:
        """Return the cgroup that a ``/proc/PID/cgroup`` text names, or None."""
        raise NotImplementedError

    def counters(
        self, folder: pathlib.Path, requests: bool = True, below: bool = False
    ) -> dict[str, list[int]]:
        """Return a cgroup's counters: number -> `COUNTERS`."""
        raise NotImplementedError

    def knobs(
        self, folder: pathlib.Path, number: str, limits: Mapping[str, int | None]
    ) -> list[Knob]:
        """Return what sets `limits`: name -> limit, or None for none."""
        raise NotImplementedError

    def weights(self, folder: pathlib.Path, weight: int) -> list[Knob]:
        """Return what sets a cgroup's weight."""
        raise NotImplementedError


class V1(Hierarchy):
    """The blkio controller of cgroup v1."""

    version = 1
    needed = LIMITS["write_bytes_s"][0]
    unlimited = "0"
    byte_counts = "blkio.throttle.io_service_bytes"
    request_counts = "blkio.throttle.io_serviced"

    def has_io(self) -> bool:
        """Tell whether the tree is there."""
        return (self.root / self.byte_counts).exists()

    def path(self, text: str) -> pathlib.Path | None:
        """Return the cgroup that a ``/proc/PID/cgroup`` text names, or None."""
        for line in text.splitlines():
            _, controllers, path = line.split(":", 2)
            if "blkio" in controllers.split(","):
                return self.root / path.lstrip("/")
        return None

    def counters(
        self, folder: pathlib.Path, requests: bool = True, below: bool = False
    ) -> dict[str, list[int]]:
        """Return a cgroup's counters since its devices' first limit: number -> `COUNTERS`.

        Kernels since 6.10 or so count only on devices that had a limit once: see
        `regulator.actuator.Actuator.start_counters`.

        Requests are in a file of their own; where they are not wanted they are 0. With `below`, the
        cgroups below it count, too. A limit does not hold for those.
        """
        counts: dict[str, list[int]] = {}
        files = [(self.byte_counts, 2)]
        if requests:
            files.append((self.request_counts, 0))
        for name, offset in files:
            for line in _read(f"{folder}/{name}{'_recursive' if below else ''}").splitlines():
                fields = line.split()
                if len(fields) == 3 and fields[1] in ("Read", "Write"):
                    row = counts.setdefault(fields[0], [0, 0, 0, 0])
                    row[offset + (fields[1] == "Write")] = int(fields[2])
        return counts

    def knobs(
        self, folder: pathlib.Path, number: str, limits: Mapping[str, int | None]
    ) -> list[Knob]:
        """Return [(file, value, reader)] that set `limits`: name -> limit, or None for none.

        A reader turns its file's text into what it says of these limits, as `value` is written.
        """
        return [
            (
                folder / LIMITS[name][0],
                f"{number} {limit or self.unlimited}",
                lambda text: line_of(text, number) or f"{number} {self.unlimited}",
            )
            for name, limit in limits.items()
        ]

    def weights(self, folder: pathlib.Path, weight: int) -> list[Knob]:
        """Return [(file, value, reader)] that set a cgroup's weight."""
        return [(folder / file, str(weight), str.strip) for file in schedulers.weight_files(1)]


class V2(Hierarchy):
    """The io controller of cgroup v2."""

    version = 2
    needed = "io.max"
    unlimited = "max"

    def controllers(self) -> list[str]:
        """Return the names of the controllers that are there."""
        return (self.root / "cgroup.controllers").read_text().split()

    def has_io(self) -> bool:
        """Tell whether the tree is there, with the io controller."""
        try:
            return "io" in self.controllers()
        except FileNotFoundError:
            return False

    def path(self, text: str) -> pathlib.Path | None:
        """Return the cgroup that a ``/proc/PID/cgroup`` text names, or None."""
        for line in text.splitlines():
            if line.startswith("0::"):
                return self.root / line[3:].lstrip("/")
        return None

    def counters(
        self, folder: pathlib.Path, requests: bool = True, below: bool = True
    ) -> dict[str, list[int]]:
        """Return a cgroup's counters: number -> `COUNTERS`.

        One file has all, with what the cgroups below count: nothing is left out of it.
        """
        counts = {}
        for line in _read(f"{folder}/io.stat").splitlines():
            number, *pairs = line.split()
            values = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
            counts[number] = [int(values.get(name, 0)) for name in COUNTERS]
        return counts

    def knobs(
        self, folder: pathlib.Path, number: str, limits: Mapping[str, int | None]
    ) -> list[Knob]:
        """Return [(file, value, reader)] that set `limits`, as `V1.knobs` does."""
        if not limits:
            return []
        wanted = {LIMITS[name][1]: limit or self.unlimited for name, limit in limits.items()}
        value = " ".join([number, *(f"{key}={limit}" for key, limit in wanted.items())])
        reader = functools.partial(pairs_of, number=number, keys=wanted, missing=self.unlimited)
        return [(folder / "io.max", value, reader)]

    def weights(self, folder: pathlib.Path, weight: int) -> list[Knob]:
        """Return [(file, value, reader)] that set a cgroup's weight."""
        # A scheduler has a file of its own; io.weight is the cost controller's.
        files = [folder / name for name in ("io.weight", *schedulers.weight_files(2))]
        return [
            (file, f"default {weight}", lambda text: text.splitlines()[0].strip())
            for file in files
            if file.exists()
        ]


def line_of(text: str, number: str) -> str:
    """Return the device's line of a cgroup's file; nothing where it has none."""
    lines = [line for line in text.splitlines() if line.split()[:1] == [number]]
    return lines[0].strip() if lines else ""


def pairs_of(text: str, number: str, keys: Iterable[str], missing: str | None = None) -> str:
    """Return the device's line of a file of version 2, reduced to `keys`."""
    values = dict(pair.split("=") for pair in line_of(text, number).split()[1:])
    return " ".join([number, *(f"{key}={values.get(key, missing)}" for key in keys)])


def _read(path: str) -> str:
    """Return a small file's text; three system calls, for it is done thousands of times."""
    file = os.open(path, os.O_RDONLY)
    try:
        text = os.read(file, 65536)
        while len(text) % 65536 == 0 and (more := os.read(file, 65536)):
            text += more
        return text.decode()
    finally:
        os.close(file)
