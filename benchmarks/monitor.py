"""What the regulator costs: CPU time a control period, by the number of containers.

    .venv/bin/python benchmarks/monitor.py [--sizes 20,200,1000] [--no-docker]

First on synthetic trees of 20, 200 and 1,000 containers (monitor, policy and log; files are
in memory, in the kernel's formats). Then, as root, on as many real cgroups, found by a pattern,
that all write to one loop device in every period; and on the largest number of them with periods
of 250 ms, beside reading the same files alone: how many periods are missed? Last, as root on a
host with cgroup v1 and a Docker engine, on 20 real containers with a device each, beside the
baselines `docker stats` and `iostat -x 1`, measured in the same run. The bars: at most 0.2 % of
one core at 20 containers and a period of 1 s; growth no worse than linear.
"""

import argparse
import contextlib
import fcntl
import functools
import mmap
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from elevatorlab.agent.groups.hierarchies import V1, V2
from elevatorlab.agent.lifecycle.journal import Journal
from elevatorlab.agent.regulator.actuator import Actuator
from elevatorlab.agent.regulator.control import Settings
from elevatorlab.agent.regulator.event_log import JsonLines
from elevatorlab.agent.regulator.loop import Loop
from elevatorlab.agent.regulator.monitor import Monitor
from elevatorlab.agent.regulator.policies import Slae
from elevatorlab.agent.regulator.targets import NamedCgroups, Pattern, Target
from elevatorlab.agent.regulator.topology import Topology, find_cgroups
from elevatorlab.testbeds import agent_archive

SIZES = (20, 200, 1000)
PERIODS = 30
#: Fewer with real cgroups: a busy machine takes some milliseconds to move a process.
KERNEL_PERIODS = 10
#: The periods of the policies guard and share.
SHORT_PERIODS, SHORT_PERIOD_S = 120, 0.25
COUNTER_FILES = {1: (V1.byte_counts, V1.request_counts), 2: ("io.stat",)}
REAL_SECONDS = 20
REAL_CONTAINERS = 20
BLOCK_BYTES = 4096
IMAGE = "debian:bookworm-slim"
FIRST_LOOP, LOOP_CTL_ADD, LOOP_CTL_REMOVE = 500, 0x4C80, 0x4C81


class Tree:
    """`count` containers, each with a cgroup and a device of its own, as files."""

    def __init__(self, folder, version, count):
        self.folder = Path(folder)
        self.count = count
        self.hierarchy = (V1 if version == 1 else V2)(self.folder)
        self.found = []
        for index in range(count):
            name, number = f"container-{index}", f"7:{index}"
            group = self.folder / name
            group.mkdir()
            if version == 1:
                kinds = ("Read", "Write", "Sync", "Async", "Discard", "Total")
                text = "".join(f"{number} {kind} 123456789\n" for kind in kinds)
                for file in ("io_serviced", "io_service_bytes"):
                    (group / f"blkio.throttle.{file}").write_text(text + "Total 123456789\n")
            else:
                counts = "rbytes=123456789 wbytes=123456789 rios=123456 wios=123456"
                (group / "io.stat").write_text(f"{number} {counts} dbytes=0 dios=0\n")
            self.found.append(Target(name, name, "", group, (f"loop{index}",), True))
        self.writes = 0

    def go_on(self):
        """Let every container write."""
        self.writes += 300
        times = f"{self.writes} 0 {self.writes * 8} {self.writes * 2} 0 {self.writes} 0"
        line = f"0 0 0 0 {times} 0 0 0 0 0 0\n"
        lines = [f"   7 {index:7} loop{index} {line}" for index in range(self.count)]
        (self.folder / "diskstats").write_text("".join(lines))

    def targets(self):
        """Return the containers, as a source does."""
        return self.found, []


def synthetic_ms(version, count):
    """Return the median CPU time of a period in milliseconds."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, open(os.devnull, "w") as nowhere:
        tree = Tree(folder, version, count)
        topology = Topology(tree.folder / "sys")
        monitor = Monitor(tree.hierarchy, topology, disk="shared", proc=tree.folder)
        law = Slae({"": 5.0})
        loop = Loop(tree, monitor, law, Settings(), None, JsonLines(nowhere))
        return median_ms(loop, tree.go_on, count, PERIODS)


def median_ms(loop, go_on, count, periods):
    """Return the median CPU time of a period, in ms, with `go_on` called before each."""
    spent_s = []
    for _ in range(periods):
        go_on()
        start_s = time.process_time()
        loop.step()
        spent_s.append(time.process_time() - start_s)
    # The first period only begins to count.
    assert len(loop.observation.containers) == count
    assert all(usage.requests for usage in loop.observation.containers)
    return 1000 * statistics.median(spent_s[1:])


@contextlib.contextmanager
def over_cgroups(hierarchy, count):
    """Yield a loop over real cgroups, and a function that lets each of them write."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open(os.devnull, "w") as nowhere,
        loop_device(folder, 0) as device,
        real_cgroups(hierarchy, count) as above,
    ):
        topology = Topology()
        pattern = Pattern(f"{above.name}/*", (device,))
        source = NamedCgroups([pattern], [], hierarchy, topology)
        monitor = Monitor(hierarchy, topology)
        with Journal(Path(folder)) as journal, written(device, above) as go_on:
            actuator = Actuator(hierarchy, monitor.number, journal)
            # Nobody waits as long as this SLA: it decides nothing.
            law = Slae({"": 1e9})
            yield Loop(source, monitor, law, Settings(), actuator, JsonLines(nowhere)), go_on


def cgroups_ms(hierarchy, count):
    """Return the median CPU time of a period over real cgroups, in milliseconds."""
    with over_cgroups(hierarchy, count) as (loop, go_on):
        return median_ms(loop, go_on, count, KERNEL_PERIODS)


def short_periods(hierarchy, count):
    """Print what periods of 250 ms cost beside a baseline, and how many are missed.

    The baseline opens, reads and closes the same files of counters once, and does nothing else.
    """
    stop = threading.Event()
    with over_cgroups(hierarchy, count) as (loop, go_on):
        go_on()
        loop.step()
        files = [
            target.folder / name
            for target in loop.source.targets()[0]
            for name in COUNTER_FILES[hierarchy.version]
        ]
        threading.Timer(SHORT_PERIODS * SHORT_PERIOD_S, stop.set).start()
        start_s = time.process_time()
        loop.run(SHORT_PERIOD_S, stop)
        own_ms = 1000 * (time.process_time() - start_s) / (SHORT_PERIODS - loop.missed)
        baseline_ms = min(reading_ms(files) for _ in range(5))
    print(f"\n{count} cgroups, {SHORT_PERIODS} periods of {SHORT_PERIOD_S:g} s")
    share = own_ms / 1000 / SHORT_PERIOD_S
    print(f"{'the regulator':24} {own_ms:8.1f} ms/period, {share:.1%} of a core")
    print(f"{'reading the files alone':24} {baseline_ms:8.1f} ms, 1 : {own_ms / baseline_ms:.2f}")
    print(f"{'missed':24} {loop.missed:8} periods, {loop.missed / SHORT_PERIODS:.1%}")


def reading_ms(files):
    """Return the CPU time of reading files once, in milliseconds."""
    start_s = time.process_time()
    for path in files:
        file = os.open(path, os.O_RDONLY)
        os.read(file, 65536)
        os.close(file)
    return 1000 * (time.process_time() - start_s)


@contextlib.contextmanager
def real_cgroups(hierarchy, count):
    """Make `count` cgroups below one of ours, and yield that one."""
    above = hierarchy.root / f"elevatorlab-monitor-{os.getpid()}"
    with contextlib.ExitStack() as undo:
        for folder in [above, *(above / f"container-{index}" for index in range(count))]:
            folder.mkdir()
            undo.callback(folder.rmdir)
            if folder == above and hierarchy.version == 2:
                for parent in (hierarchy.root, above):
                    (parent / "cgroup.subtree_control").write_text("+io")
        yield above


@contextlib.contextmanager
def written(device, above):
    """Yield a function that writes a block to a device from within each cgroup below `above`."""
    disk = os.open(f"/dev/{device}", os.O_WRONLY | os.O_DIRECT)
    block = mmap.mmap(-1, BLOCK_BYTES)  # at the start of a page, as direct writes need it
    root = above.parent / "cgroup.procs"
    folders = sorted(above.glob("container-*"))

    def write():
        try:
            for folder in folders:
                (folder / "cgroup.procs").write_text(str(os.getpid()))
                os.pwrite(disk, block, 0)
        finally:
            root.write_text(str(os.getpid()))

    try:
        yield write
    finally:
        os.close(disk)


def cpu_ms(pids):
    """Return the CPU time that processes have used, in ms (the scheduler counts nanoseconds)."""
    tasks = [path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(path.read_text().split()[0]) for path in tasks) / 1e6


def used_ms_s(command, engine):
    """Return the CPU, in ms a second, of `command` once it runs evenly, and of the engine."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        time.sleep(3)
        before_ms = cpu_ms([process.pid]), cpu_ms(engine)
        time.sleep(REAL_SECONDS)
        after_ms = cpu_ms([process.pid]), cpu_ms(engine)
    finally:
        process.kill()  # `docker stats` does not end otherwise
        process.wait()
    return [
        (after - start) / REAL_SECONDS for start, after in zip(before_ms, after_ms, strict=True)
    ]


@contextlib.contextmanager
def loop_device(folder, index):
    """Attach a new loop device to a new file, and yield the device's name."""
    number, image = FIRST_LOOP + index, Path(folder, f"{index}.img")
    with open(image, "wb") as file:
        file.truncate(1 << 20)
    with contextlib.ExitStack() as undo:
        control = undo.enter_context(open("/dev/loop-control"))
        fcntl.ioctl(control, LOOP_CTL_ADD, number)
        undo.callback(fcntl.ioctl, control, LOOP_CTL_REMOVE, number)
        subprocess.run(["losetup", f"/dev/loop{number}", image], check=True)
        undo.callback(time.sleep, 0.05)  # the kernel detaches later
        undo.callback(subprocess.run, ["losetup", "--detach", f"/dev/loop{number}"])
        yield f"loop{number}"


@contextlib.contextmanager
def containers(count, folder):
    """Run containers that write a block a second to a loop device of their own."""
    load = "while sleep 1; do dd if=/dev/zero of=/dev/disk bs=4k count=1 oflag=direct; done"
    names = []
    with contextlib.ExitStack() as undo:
        loops = [undo.enter_context(loop_device(folder, index)) for index in range(count)]
        undo.callback(lambda: subprocess.run(["docker", "rm", "-f", *names], capture_output=True))
        for index, loop in enumerate(loops):
            names.append(f"benchmark-monitor-{index}")
            run = ["docker", "run", "--detach", "--rm", "--init", "--network=none"]
            run += [
                f"--name={names[-1]}",
                f"--device=/dev/{loop}:/dev/disk",
                IMAGE,
                "sh",
                "-c",
                load,
            ]
            subprocess.run(run, check=True, capture_output=True)
        yield names


def engine_pids():
    """Return the process ids of the engine, which works for `docker stats`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if path.read_text().strip() in ("dockerd", "containerd"):
                found.append(int(path.parent.name))
    return found


def real():
    """Print what 20 real containers cost, and the baselines."""
    with tempfile.TemporaryDirectory() as folder, containers(REAL_CONTAINERS, folder) as names:
        archive = Path(folder, "agent.pyz")
        archive.write_bytes(agent_archive.operators_archive())
        chosen = [f"--container={name}" for name in names]
        regulate = [sys.executable, archive, "regulate", "--policy", "slae", "--sla-wait-ms", "5"]
        regulate += [*chosen, "--dry-run", "--log", os.devnull]
        commands = {
            "the regulator": regulate,
            "docker stats": ["docker", "stats", *names],
            "iostat -x 1": ["iostat", "-x", "1"],
        }
        print(f"\n{REAL_CONTAINERS} real containers, a period of 1 s; CPU in ms a second")
        print(f"{'':15} {'itself':>8} {'engine':>8} {'% of a core':>12} {'to ours':>8}")
        engine, ours_ms = engine_pids(), None
        for name, command in commands.items():
            own_ms, engine_ms = used_ms_s(command, engine)
            ours_ms = ours_ms or own_ms
            row = f"{name:15} {own_ms:8.2f} {engine_ms:8.2f} {own_ms / 10:12.3f}"
            print(f"{row} {own_ms / ours_ms:8.2f}")


def sizes(text):
    """Return the numbers of containers that ``20,1000`` asks for."""
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 2:
        raise argparse.ArgumentTypeError(f"expected whole numbers above 1, found {text!r}")
    return found


def table(measured, counts, name):
    """Print what a period costs by the number of containers; the growth is over the first."""
    first_ms = None
    for count in counts:
        spent_ms = measured(count)
        first_ms = first_ms or spent_ms
        growth = spent_ms / (first_ms * count / counts[0])
        print(f"{name:14} {count:10d} {spent_ms:10.2f} {spent_ms / 10:12.3f} {growth:10.2f}")


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="numbers of containers")
    parser.add_argument("--no-docker", action="store_true", help="no containers of Docker")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was made here is removed
    heads = ("cgroups", "containers", "ms/period", "% of a core", "to linear")
    print("{:14} {:>10} {:>10} {:>12} {:>10}".format(*heads))
    for version in (1, 2):
        measured = functools.partial(synthetic_ms, version)
        table(measured, options.sizes, f"v{version}, files")
    if os.geteuid() != 0:
        print("not root: real cgroups were not measured")
        return
    hierarchy = find_cgroups()
    measured = functools.partial(cgroups_ms, hierarchy)
    table(measured, options.sizes, f"v{hierarchy.version}, kernel")
    short_periods(hierarchy, options.sizes[-1])
    if not options.no_docker and shutil.which("docker") and shutil.which("iostat"):
        real()
    else:
        print("no docker or iostat, or not wanted: containers of Docker were not measured")


if __name__ == "__main__":
    main()
