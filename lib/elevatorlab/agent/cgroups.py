"""Control groups, version 1 and version 2, behind one small interface.

Version 2 has one tree with all controllers; version 1 has a tree for each, and the one that
matters here is ``blkio``. Version 1 neither attributes nor limits buffered writes: they reach
the device from a kernel thread that belongs to no group.
"""

import errno
import functools
import os
import pathlib
import signal
import time

from .errors import TrialFailed

TOP = pathlib.Path("/sys/fs/cgroup")
ROOT_NAME = "elevatorlab"

#: A trial's limits -> (key of version 2's ``io.max``, file of version 1).
LIMITS = {
    "read_bytes_s": ("rbps", "blkio.throttle.read_bps_device"),
    "write_bytes_s": ("wbps", "blkio.throttle.write_bps_device"),
    "read_iops": ("riops", "blkio.throttle.read_iops_device"),
    "write_iops": ("wiops", "blkio.throttle.write_iops_device"),
}

NOTHING_YET = {"rbytes": 0, "wbytes": 0, "rios": 0, "wios": 0}


def find(top=TOP):
    """Return the version that this machine has with I/O in it.

    Raises
    ------
    TrialFailed
        When neither is there.
    """
    for version in (Version2(top), Version1(top)):
        if version.has_io():
            return version
    raise TrialFailed(
        f"{top} has neither a cgroup v2 tree with the io controller nor a v1 tree blkio; "
        "expected one of them. Boot with systemd.unified_cgroup_hierarchy=1"
    )


def processes(path):
    """Return the process ids of a cgroup and of all below it."""
    found = []
    for folder, _, _ in os.walk(path):  # which says nothing of folders that are gone meanwhile
        try:
            found += map(int, pathlib.Path(folder, "cgroup.procs").read_text().split())
        except OSError:  # removed meanwhile
            continue
    return found


def kill(path):
    """End every process of a cgroup and below, and wait until none is left."""
    path = pathlib.Path(path)
    if (path / "cgroup.kill").exists():  # version 2: no process can be born meanwhile
        (path / "cgroup.kill").write_text("1")
    while path.exists() and (left := processes(path)):
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.01)  # what waits for the disk cannot be killed before it answers


def remove(path, times=100):
    """Remove a cgroup and all below it, and whatever process came in since it was emptied.

    For a moment the kernel calls a cgroup busy whose last process has just ended.
    """
    for left in reversed(range(times)):
        try:
            for folder, _, _ in os.walk(path, topdown=False):
                os.rmdir(folder)
            return
        except OSError as problem:
            if problem.errno != errno.EBUSY or not left:
                raise
        kill(path)
        time.sleep(0.05)


class Version2:
    """The unified tree."""

    number = 2

    def __init__(self, top=TOP):
        self.top = top
        self.root = top / ROOT_NAME

    def has_io(self):
        """Tell whether the tree is there, with the io controller."""
        file = self.top / "cgroup.controllers"
        return file.exists() and "io" in file.read_text().split()

    def prepare(self, journal):
        """Make the cgroup under which a trial's groups live, with the controllers they need."""
        missing = {"io", "memory"} - set((self.top / "cgroup.controllers").read_text().split())
        if missing:
            raise TrialFailed(
                f"this kernel's cgroup v2 lacks the controller(s) {', '.join(sorted(missing))}; "
                "expected io and memory"
            )
        switch = self.top / "cgroup.subtree_control"
        for controller in ("io", "memory"):
            if controller not in switch.read_text().split():
                journal.will("write", switch, f"-{controller}")
        journal.will("remove_cgroup", self.root)
        self.root.mkdir(exist_ok=True)
        for folder in (self.top, self.root):
            (folder / "cgroup.subtree_control").write_text("+io +memory")

    def of_process(self, process):
        """Return the cgroup of a process."""
        for line in _memberships(process):
            if line.startswith("0::"):
                return self.top / line[3:].lstrip("/")
        raise TrialFailed(f"process {process} is in no cgroup v2; expected one")

    def counters(self, path, number):
        """Return a cgroup's bytes and requests on the device `number` (``major:minor``)."""
        for line in (path / "io.stat").read_text().splitlines():
            device, *pairs = line.split()
            if device == number and pairs:
                values = {key: int(value) for key, value in (pair.split("=") for pair in pairs)}
                return {key: values.get(key, 0) for key in NOTHING_YET}
        return dict(NOTHING_YET)

    def limit(self, path, limits, number, proofs):
        """Set the limits of a cgroup on a device and prove each with the kernel's own answer."""
        wanted = {LIMITS[name][0]: limits[name] for name in LIMITS if limits.get(name)}
        if wanted:
            value = " ".join(f"{key}={limit}" for key, limit in wanted.items())
            proofs.set(
                path / "io.max",
                f"{number} {value}",
                read_as=lambda text: _only(text, number, wanted),
            )
        if limits.get("weight"):
            # bfq has a file of its own; io.weight is the cost controller's.
            for name in ("io.weight", "io.bfq.weight"):
                if (path / name).exists():
                    proofs.set(
                        path / name,
                        f"default {limits['weight']}",
                        read_as=lambda text: text.splitlines()[0].strip(),
                    )

    def account_cost(self, device, wanted, journal, proofs):
        """Switch the cost controller on for a device, with the trial's model of it."""
        number = pathlib.Path("/sys/class/block", device, "dev").read_text().strip()
        journal.will("write", self.top / "io.cost.qos", f"{number} enable=0")
        parts = {
            "io.cost.model": {"ctrl": "user", "model": "linear", **wanted["model"]},
            "io.cost.qos": {
                "enable": 1,
                "ctrl": "user",
                **{key: _as_qos(key, value) for key, value in wanted["qos"].items()},
            },
        }
        for file, values in parts.items():
            text = " ".join(f"{key}={value}" for key, value in values.items())
            proofs.set(
                self.top / file,
                f"{number} {text}",
                read_as=functools.partial(_only, number=number, wanted=values),
            )

    def prove(self, path, name, value, number, proofs):
        """Prove a limit that somebody else has set."""
        key = LIMITS[name][0]
        file = path / "io.max"
        read = _only(file.read_text(), number, {key: value})
        proofs.compare(file, f"{number} {key}={value}", read)


def _as_qos(name, value):
    """Return a number as ``io.cost.qos`` takes and shows it: latencies whole, percents not."""
    return str(round(value)) if name in ("rlat", "wlat") else f"{value:.2f}"


class Version1:
    """The tree of the controller ``blkio``."""

    number = 1

    def __init__(self, top=TOP):
        self.top = top / "blkio"
        self.root = self.top / ROOT_NAME

    def has_io(self):
        """Tell whether the tree is there."""
        return (self.top / "blkio.throttle.io_service_bytes").exists()

    def prepare(self, journal):
        """Make the cgroup under which a trial's groups live."""
        journal.will("remove_cgroup", self.root)
        self.root.mkdir(exist_ok=True)

    def of_process(self, process):
        """Return the cgroup of a process."""
        for line in _memberships(process):
            _, controllers, path = line.split(":", 2)
            if "blkio" in controllers.split(","):
                return self.top / path.lstrip("/")
        raise TrialFailed(f"process {process} is in no blkio cgroup; expected one")

    def counters(self, path, number):
        """Return a cgroup's bytes and requests on the device `number`, and of all below it."""
        counted = {}
        for name, what in (("io_service_bytes", "bytes"), ("io_serviced", "ios")):
            file = path / f"blkio.throttle.{name}_recursive"
            for line in file.read_text().splitlines():
                device, *rest = line.split()
                if device == number and rest[0] in ("Read", "Write"):
                    counted[rest[0][0].lower() + what] = int(rest[1])
        return {**NOTHING_YET, **counted}

    def limit(self, path, limits, number, proofs):
        """Set the limits of a cgroup on a device and prove each with the kernel's own answer."""
        for name, (_, file) in LIMITS.items():
            if limits.get(name):
                value = f"{number} {limits[name]}"
                proofs.set(path / file, value, read_as=lambda text: _line(text, number))
        if limits.get("weight"):
            proofs.set(path / "blkio.bfq.weight", limits["weight"])

    def account_cost(self, device, wanted, journal, proofs):
        """Version 1 has no cost controller."""
        raise TrialFailed(
            f"io_cost on {device}: expected cgroup version 2; found version 1, which has no cost "
            "controller. Boot with systemd.unified_cgroup_hierarchy=1, or leave io_cost out"
        )

    def prove(self, path, name, value, number, proofs):
        """Prove a limit that somebody else has set."""
        file = path / LIMITS[name][1]
        proofs.compare(file, f"{number} {value}", _line(file.read_text(), number))


def _memberships(process):
    """Return the lines of ``/proc/PROCESS/cgroup``."""
    try:
        return pathlib.Path(f"/proc/{process}/cgroup").read_text().splitlines()
    except OSError:
        raise TrialFailed(
            f"process {process} has ended; expected it to run as long as the trial. Run it again"
        ) from None


def _line(text, number):
    """Return the device's line of a file of version 1, or all of it where there is none."""
    lines = [line for line in text.splitlines() if line.split()[:1] == [number]]
    return lines[0].strip() if lines else text.strip()


def _only(text, number, wanted):
    """Return the device's line of ``io.max``, reduced to the keys that were set."""
    for line in text.splitlines():
        device, *pairs = line.split()
        if device == number:
            values = dict(pair.split("=") for pair in pairs)
            return " ".join([number, *(f"{key}={values[key]}" for key in wanted)])
    return text.strip()
