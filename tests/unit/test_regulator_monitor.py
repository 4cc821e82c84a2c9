"""The monitor: formulas by hand, recorded readings, and everything that counters can do."""

import json
import shutil

import pytest

from elevatorlab.agent.errors import Refused
from elevatorlab.agent.groups.hierarchies import V2
from elevatorlab.agent.operations.containers import EngineContainers
from elevatorlab.agent.regulator.decisions import decide
from elevatorlab.agent.regulator.monitor import growth, parse_diskstats, shared_utilization
from elevatorlab.agent.regulator.policies import Slae
from elevatorlab.agent.regulator.targets import NamedCgroups, Pattern
from helpers import FIXTURES
from regulator_trees import Tree, counts_line

RECORDED = FIXTURES / "regulator"


@pytest.fixture
def tree(tmp_path):
    tree = Tree(tmp_path)
    tree.device("loop4", "7:4")
    tree.cgroup("a")
    return tree


def second(tree, monitor, target, line, seconds=1.0):
    """Let time pass, show `line` and observe."""
    tree.time_s += seconds
    tree.diskstats(line)
    return monitor.observe([target])


def test_a_container_with_its_own_device_by_hand(tree):
    monitor, target = tree.monitor(), tree.target("a", "loop4")
    first = counts_line("7:4", "loop4", writes=100, write_ms=50)
    assert second(tree, monitor, target, first) is None
    # 300 writes of 4 KiB that took 600 ms in 2 s; io_ticks (busy_ms) is wrong, and not used.
    writes = {"writes": 400, "write_ms": 650, "write_sectors": 2400}
    line = counts_line("7:4", "loop4", **writes, busy_ms=10, reads=100, read_ms=200)
    observation = second(tree, monitor, target, line, 2.0)
    [usage] = observation.containers
    assert (usage.write_iops, usage.read_iops) == (150, 50)
    assert usage.write_bytes_s == 1200 * 1024 / 2
    assert usage.wait_ms == 2.0
    assert usage.queue_length == usage.utilization_ratio == 0.4
    assert (usage.requests, usage.own_device) == (400, True)


def test_utilisation_is_capped_and_queue_length_is_not(tree):
    monitor, target = tree.monitor(), tree.target("a", "loop4")
    second(tree, monitor, target, counts_line("7:4", "loop4"))
    seen = second(tree, monitor, target, counts_line("7:4", "loop4", writes=10, write_ms=3000))
    assert (seen.containers[0].utilization_ratio, seen.containers[0].queue_length) == (1.0, 3.0)


def test_an_idle_container_has_no_wait(tree):
    monitor, target = tree.monitor(), tree.target("a", "loop4")
    second(tree, monitor, target, counts_line("7:4", "loop4"))
    [usage] = second(tree, monitor, target, counts_line("7:4", "loop4")).containers
    assert (usage.wait_ms, usage.load, usage.requests) == (None, 0, 0)


def test_on_a_shared_device_rates_are_the_cgroups_and_the_wait_is_the_devices(tree):
    tree.cgroup("b")
    targets = [tree.target(name, "loop4", own=False) for name in "ab"]
    monitor = tree.monitor()
    tree.diskstats(counts_line("7:4", "loop4"))
    monitor.observe(targets)
    tree.time_s += 1
    tree.v1("a", {"7:4": (0, 100, 0, 100 * 4096)})
    tree.v1("b", {"7:4": (0, 300, 0, 300 * 4096)})
    writes = {"writes": 400, "write_sectors": 3200, "write_ms": 800}
    tree.diskstats(counts_line("7:4", "loop4", **writes, busy_ms=600))
    observation = monitor.observe(targets)
    first, other = observation.containers
    assert (first.iops, other.iops) == (100, 300)
    assert first.wait_ms == other.wait_ms == 2.0
    disk = observation.disks["loop4"]
    assert disk.utilization_ratio == 0.6 and disk.has_counters
    assert first.utilization_ratio == pytest.approx(0.15)
    assert other.utilization_ratio == pytest.approx(0.45)
    assert not first.own_device


@pytest.mark.parametrize(
    "busy, queue, expected",
    [(0.5, 0.7, 0.5), (0.9, 0.4, 0.4), (0.6, 9.0, 0.9), (1.0, 3.0, 1.0), (0.0, 0.0, 0.0)],
)
def test_the_kernels_busy_time_is_held_within_what_the_queue_allows(busy, queue, expected):
    assert shared_utilization(busy, queue) == pytest.approx(expected)


def test_the_same_in_cgroup_v2(tmp_path):
    tree = Tree(tmp_path, version=2)
    tree.device("sda", "8:0")
    tree.cgroup("a")
    target, monitor = tree.target("a", "sda", own=False), tree.monitor()
    stat = tree.root / "a/io.stat"
    stat.write_text("8:0 rbytes=0 wbytes=4096 rios=0 wios=1 dbytes=0 dios=0\n")
    second(tree, monitor, target, counts_line("8:0", "sda"))
    stat.write_text(
        "8:0 rbytes=8192 wbytes=12288 rios=2 wios=3 dbytes=0 dios=0 cost.usage=7\n7:0\n"
    )
    [usage] = second(tree, monitor, target, counts_line("8:0", "sda", writes=2)).containers
    assert (usage.read_iops, usage.write_iops) == (2, 2)
    assert (usage.read_bytes_s, usage.write_bytes_s) == (8192, 8192)


@pytest.mark.parametrize(
    "before, after, expected",
    [
        ((5,), (9,), (4,)),
        ((2**32 - 10,), (10,), (20,)),  # 32-bit milliseconds wrap after 49 days
        ((2**40,), (5,), None),  # counts have 64 bits: that is a reset
        ((3_000_000_000,), (5,), None),
        ((7, 100), (8, 3), None),
        (None, (1,), None),
        ((1,), None, None),
    ],
)
def test_wraps_are_told_from_resets(before, after, expected):
    assert growth(before, after) == expected


def test_after_a_reset_a_container_is_left_out_for_one_period(tree):
    monitor, target = tree.monitor(), tree.target("a", "loop4")
    second(tree, monitor, target, counts_line("7:4", "loop4", writes=1000))
    assert second(tree, monitor, target, counts_line("7:4", "loop4", writes=5)).containers == ()
    [usage] = second(tree, monitor, target, counts_line("7:4", "loop4", writes=25)).containers
    assert usage.iops == 20


def test_a_device_that_vanishes_and_returns_is_told_once_each(tree):
    monitor, target = tree.monitor(), tree.target("a", "loop4")
    line = counts_line("7:4", "loop4", writes=10)
    second(tree, monitor, target, line)
    assert second(tree, monitor, target, "").containers == ()
    second(tree, monitor, target, "")
    assert len(monitor.notes) == 1 and "loop4 has no counters now" in monitor.notes[0]
    second(tree, monitor, target, line)
    assert monitor.notes[1:] == ["device loop4 has counters again"]
    assert len(second(tree, monitor, target, line).containers) == 1


def test_containers_come_and_go(tree):
    monitor = tree.monitor()
    tree.device("loop5", "7:5")
    lines = counts_line("7:4", "loop4") + counts_line("7:5", "loop5")
    a, b = tree.target("a", "loop4"), tree.target("b", "loop5")
    tree.diskstats(lines)
    monitor.observe([a])
    tree.cgroup("b")
    tree.time_s += 1
    assert [usage.name for usage in monitor.observe([a, b]).containers] == ["a"]
    tree.time_s += 1
    assert [usage.name for usage in monitor.observe([a, b]).containers] == ["a", "b"]
    shutil.rmtree(tree.root / "a")
    tree.time_s += 1
    assert [usage.name for usage in monitor.observe([a, b]).containers] == ["b"]


def test_a_clock_that_stands_still_or_jumps_gives_no_wrong_rate(tree):
    monitor, target = tree.monitor(), tree.target("a", "loop4")
    second(tree, monitor, target, counts_line("7:4", "loop4"))
    assert second(tree, monitor, target, counts_line("7:4", "loop4", writes=9), 0) is None
    assert second(tree, monitor, target, counts_line("7:4", "loop4", writes=9), -50) is None
    long_sleep = counts_line("7:4", "loop4", writes=3609)
    [usage] = second(tree, monitor, target, long_sleep, 3600).containers
    assert usage.iops == 1


def test_writes_on_nobodys_account_are_buffered_ones(tree):
    monitor, target = tree.monitor(), tree.target("a", "loop4")
    tree.v1("a", {"7:4": (0, 0, 0, 0)})
    second(tree, monitor, target, counts_line("7:4", "loop4"))
    tree.v1("a", {"7:4": (0, 1, 0, 4096)})
    line = counts_line("7:4", "loop4", writes=100, write_sectors=8008)
    [usage] = second(tree, monitor, target, line).containers
    assert usage.unlimited_bytes_s == 8000 * 512


def test_without_cgroup_counters_nothing_is_said_about_buffered_writes(tree):
    monitor, target = tree.monitor(), tree.target("a", "loop4")
    second(tree, monitor, target, counts_line("7:4", "loop4"))
    line = counts_line("7:4", "loop4", writes=100, write_sectors=8000)
    [usage] = second(tree, monitor, target, line).containers
    assert usage.unlimited_bytes_s == 0


def test_old_and_new_formats_of_diskstats():
    old = "   7       4 loop4 1 0 8 2 3 0 24 4 0 5 6\n"
    partition = "   8       1 sda1 1 2 3 4\n"  # Linux 2.6
    numbers, counts = parse_diskstats(old + partition, {"loop4", "sda1"})
    assert numbers == {"loop4": "7:4"}
    assert counts["loop4"] == (1, 8, 2, 3, 24, 4, 5)


def test_loop_devices_over_one_disk_are_one_pool(tree, tmp_path):
    for name, number in (("loop5", "7:5"), ("loop6", "7:6")):
        tree.device(name, number, backing=tmp_path / f"{name}.img")
        (tmp_path / f"{name}.img").touch()
    assert tree.topology.disk("loop5") == tree.topology.disk("loop6")
    assert tree.topology.disk("loop4") == "loop4"


def test_a_partition_has_its_own_counters_and_the_limits_of_its_disk(tmp_path):
    tree = Tree(tmp_path, version=2)
    tree.device("nullb0", "252:0")
    tree.partition("nullb0p1", "259:0", "nullb0")
    tree.cgroup("a")
    monitor, target = tree.monitor(), tree.target("a", "nullb0p1")
    second(tree, monitor, target, counts_line("252:0", "nullb0") + counts_line("259:0", "nullb0p1"))
    disk = counts_line("252:0", "nullb0", writes=90, write_ms=900, busy_ms=800)
    part = counts_line("259:0", "nullb0p1", writes=50, write_ms=100)
    observation = second(tree, monitor, target, disk + part)
    assert observation.containers[0].wait_ms == 2.0
    assert observation.disks["nullb0"].utilization_ratio == 0.8
    assert monitor.number("nullb0p1") == "252:0"


def test_a_partition_that_was_away_when_it_was_asked_for_has_the_limits_of_its_disk(tmp_path):
    tree = Tree(tmp_path, version=2)
    tree.device("nullb0", "252:0")
    tree.cgroup("a")
    monitor, target = tree.monitor(), tree.target("a", "nullb0p1")
    second(tree, monitor, target, counts_line("252:0", "nullb0"))
    with pytest.raises(Refused):
        monitor.number("nullb0p1")
    tree.partition("nullb0p1", "259:0", "nullb0")
    second(tree, monitor, target, counts_line("252:0", "nullb0") + counts_line("259:0", "nullb0p1"))
    assert monitor.number("nullb0p1") == "252:0"


def test_the_disk_of_the_host_is_nobodys_own(tree):
    topology = tree.topology
    topology.device_of = lambda path: "loop4"
    patterns = [Pattern("a", ("loop4",))]
    source = NamedCgroups(patterns, [], tree.hierarchy, topology)
    assert [target.own for target in source.targets()[0]] == [False]
    topology.device_of = lambda path: None
    source = NamedCgroups(patterns, [], tree.hierarchy, topology)
    assert [target.own for target in source.targets()[0]] == [True]


def test_a_recorded_overload_is_throttled_on_sight(tmp_path):
    """The regulator's first decision on the readings of a real host (see the file's `about`)."""
    recorded = json.loads((RECORDED / "overload-v1.json").read_text())
    tree = Tree(tmp_path)
    for name, device in recorded["devices"].items():
        tree.device(device, f"7:{device[-1]}")
        tree.cgroup(name)
    monitor = tree.monitor(disk="shared")
    state, waits, actions = {}, [], []
    for reading in recorded["readings"]:
        tree.time_s = reading["time_s"]
        tree.diskstats(reading["diskstats"])
        for name, files in reading["groups"].items():
            for file, text in files.items():
                (tree.root / name / f"blkio.throttle.{file}").write_text(text)
        targets = [tree.target(name, recorded["devices"][name]) for name in reading["groups"]]
        observation = monitor.observe(targets)
        if observation:
            state, decisions = decide(Slae({"": 5.0}), state, observation)
            actions.append([(d.action, d.name) for d in decisions])
            waits.append({usage.name: usage.wait_ms for usage in observation.containers})
    assert max(max(period.values()) for period in waits[:4]) < 2
    assert min(waits[-1].values()) > 10
    first = next(made for made in actions if made)
    assert first == [("throttle", "reg-over")]


class Engine:
    """An engine of one container, which ended after the engine was asked."""

    devices = ("/dev/loop4",)

    def changed(self):
        return True

    def running(self):
        return ["c" * 64]

    def inspect(self, container):
        config = {"Labels": {"elevatorlab.class": "1"}}
        host = {"Devices": [{"PathOnHost": path} for path in self.devices]}
        return {
            **{"Id": container, "Name": "/c", "State": {"Pid": 7}},
            **{"Config": config, "HostConfig": host},
        }


@pytest.mark.parametrize("place, targets", [("/a", 1), ("/", 0)])
def test_a_container_that_ended_is_not_taken_for_the_whole_machine(tree, place, targets):
    """The kernel says of a process that nobody has waited for that it is in the root."""
    (tree.proc / "7").mkdir()
    (tree.proc / "7/cgroup").write_text(f"0::{place}\n")
    (tree.root / V2.needed).touch()
    (tree.root / "a" / V2.needed).touch()
    where = V2(tree.root), tree.topology, tree.proc
    containers = EngineContainers(Engine(), [], ["loop4"], (), *where)
    found, notes = containers.targets()
    assert (len(found), notes) == (targets, [])


def test_a_layer_of_which_the_engine_says_nothing_is_found_by_the_kernels_mounts(tree, monkeypatch):
    """Docker 29 keeps images in containerd, and names no folder of theirs."""
    (tree.proc / "7").mkdir()
    (tree.proc / "7/cgroup").write_text("0::/a\n")
    layer = "overlay overlay rw,lowerdir=/l,upperdir=/layers/9/fs,workdir=/w"
    (tree.proc / "7/mountinfo").write_text(f"9 1 0:60 / / rw,relatime - {layer}\n")
    (tree.root / "a" / V2.needed).touch()
    disks = {"/layers/9/fs": "sda"}
    monkeypatch.setattr(type(tree.topology), "device_of", lambda self, path: disks.get(path))
    engine = Engine()
    engine.devices = ()
    where = V2(tree.root), tree.topology, tree.proc
    ((target,), notes) = EngineContainers(engine, [], [], (), *where).targets()
    assert (target.devices, notes) == (("sda",), [])
