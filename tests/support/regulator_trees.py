"""Small copies of procfs, sysfs and a cgroup hierarchy, written as the kernel writes them."""

from elevatorlab.agent.groups.hierarchies import V1, V2
from elevatorlab.agent.regulator.monitor import Monitor
from elevatorlab.agent.regulator.targets import Target
from elevatorlab.agent.regulator.topology import Topology


def counts_line(number, name, **counts):
    """Return a line of /proc/diskstats."""
    order = (
        "reads", "reads_merged", "read_sectors", "read_ms", "writes", "writes_merged",
        "write_sectors", "write_ms", "in_flight", "busy_ms", "weighted_ms",
    )  # fmt: skip
    major, minor = number.split(":")
    values = " ".join(str(counts.get(key, 0)) for key in order)
    return f"{major:>4} {minor:>7} {name} {values} 0 0 0 0 0 0\n"


class Tree:
    """A host in a folder, with a clock that tests turn."""

    def __init__(self, folder, version=1):
        self.folder = folder
        self.time_s = 100.0
        self.proc = folder / "proc"
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "self/mountinfo").write_text("")
        self.diskstats("")
        self.root = folder / "cgroup"
        self.root.mkdir()
        self.hierarchy = (V1 if version == 1 else V2)(self.root)
        self.topology = Topology(folder / "sys", self.proc)

    def device(self, name, number, backing=None):
        path = self.folder / "sys/class/block" / name
        path.mkdir(parents=True)
        (path / "dev").write_text(number + "\n")
        if backing:
            (path / "loop").mkdir()
            (path / "loop/backing_file").write_text(f"{backing}\n")
        links = self.folder / "sys/dev/block"
        links.mkdir(parents=True, exist_ok=True)
        (links / number).symlink_to(f"../../class/block/{name}")
        return name

    def partition(self, name, number, disk):
        """Make a partition of a device that is there."""
        path = self.folder / "sys/class/block" / disk / name
        path.mkdir()
        (path / "dev").write_text(number + "\n")
        (path / "partition").write_text("1\n")
        (self.folder / "sys/class/block" / name).symlink_to(f"{disk}/{name}")
        (self.folder / "sys/dev/block" / number).symlink_to(f"../../class/block/{disk}/{name}")
        return name

    def diskstats(self, *lines):
        (self.proc / "diskstats").write_text("".join(lines))

    def cgroup(self, name):
        folder = self.root / name
        folder.mkdir()
        if self.hierarchy.version == 1:
            self.v1(name, {})
            for direction in ("read", "write"):
                (folder / f"blkio.throttle.{direction}_bps_device").write_text("")
        else:
            (folder / "io.stat").write_text("")
            (folder / "io.max").write_text("")
        return folder

    def v1(self, name, counts):
        """Write number -> (reads, writes, bytes read, bytes written)."""
        for file, offset in (("io_serviced", 0), ("io_service_bytes", 2)):
            lines = [
                f"{number} Read {row[offset]}\n{number} Write {row[offset + 1]}\n"
                f"{number} Sync 0\n{number} Async 0\n{number} Discard 0\n{number} Total 0\n"
                for number, row in counts.items()
            ]
            text = "".join(lines) + "Total 0\n"
            (self.root / name / f"blkio.throttle.{file}").write_text(text)

    def target(self, name, *devices, own=True):
        return Target(name, name, "", self.root / name, devices, own)

    def monitor(self, disk=None):
        return Monitor(self.hierarchy, self.topology, disk, self.proc, lambda: self.time_s)
